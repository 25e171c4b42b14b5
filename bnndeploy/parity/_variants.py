"""The ways in which this machine can run our operators: instruction sets and CUDA."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from onnx import ModelProto

from bnndeploy.parity._model import Array
from bnndeploy.runtime import InferenceSession
from bnndeploy.runtime.library import kernel_report
from bnndeploy.runtime.providers import CPU, CUDA, cuda_runs

_ISA = "BNNDEPLOY_ISA"


@dataclass(frozen=True)
class Variant:
    """One way to run: kernels capped at an instruction set, CUDA, or the functions."""

    name: str
    isa: str | None = None
    provider: str = CPU
    portable: bool = False

    def run(self, model: ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
        """Runs a model once."""
        return self.session(model.SerializeToString()).run(None, dict(feeds))  # type: ignore[no-any-return]

    def session(self, model: bytes) -> InferenceSession:
        """Opens a session; the kernels of a session are chosen while it is created."""
        with _capped_at(self.isa):
            return InferenceSession(
                model, providers=[self.provider], threads=1, portable=self.portable
            )


FUNCTIONS = Variant("functions", portable=True)


def kernel_variants() -> list[Variant]:
    """Returns a variant for each instruction set of the machine, weakest first, and CUDA."""
    variants = [Variant(isa, isa) for isa in kernel_report()["isa"]["supported"]]
    if cuda_runs():
        variants.append(Variant("cuda", None, CUDA))
    return variants


@contextmanager
def _capped_at(isa: str | None) -> Iterator[None]:
    before = os.environ.get(_ISA)
    if isa is not None:
        os.environ[_ISA] = isa
    try:
        yield
    finally:
        if isa is not None:
            os.environ.pop(_ISA)
            if before is not None:
                os.environ[_ISA] = before
