"""The sample that travels in a file: a seed for inputs and the trained module's outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bnndeploy.errors import ModelFileError
from bnndeploy.export.metadata import weights_sha256
from bnndeploy.export.sample import decode, generate_inputs
from bnndeploy.parity._compare import numbers_differ
from bnndeploy.parity._end_to_end import Batch
from bnndeploy.parity._model import Array, Model
from bnndeploy.parity._report import Check, NodeStep
from bnndeploy.parity._reproducer import Reproducer
from bnndeploy.parity._tolerance import check_shapes, tolerance
from bnndeploy.parity._walk import NodeRun

ROWS_THAT_MAY_DIFFER = 1
"""A real-valued layer may turn one sign by rounding, which changes the whole row behind it."""


@dataclass(frozen=True)
class Sample:
    """Inputs by name and the outputs that the trained module gave for them."""

    inputs: dict[str, Array]
    outputs: list[Array]


class SampleReference:
    """Holds the file against the outputs that it carries; see ``Reference``."""

    def __init__(self, model: Model) -> None:
        self.name: str | None = None
        self.source = "embedded sample"
        self.real_values: dict[str, Array] = {}
        self.exact_values: dict[str, Array] = {}
        self.reproducer: Reproducer | None = None
        self._model = model
        self._sample = read_sample(model)
        self.feeds = self._sample.inputs

    def see(self, run: NodeRun) -> None:
        """Does nothing: the file carries no inner values."""

    def finish(self, outputs: dict[str, Array]) -> NodeStep:
        step = NodeStep(1, "trained module's embedded outputs ↔ graph run by the oracle")
        step.checks += check_outputs(self._model, outputs, self._sample)
        return step

    def batches(self) -> Iterator[Batch]:
        yield Batch(self._sample.inputs, self._sample.outputs[0], {}, {})


def read_sample(model: Model) -> Sample:
    """Returns the file's sample.

    Raises:
        ModelFileError: If the file has none, or it is damaged.
    """
    with _damage_named(model):
        entry = _entry(model)
        outputs = [decode(value) for value in entry["outputs"]]
        return Sample(_inputs(model, entry["seed"], entry["inputs"]), outputs)


def more_inputs(model: Model, rows: Callable[[int], int]) -> dict[str, Array]:
    """Returns inputs made like those of the sample, as many as ``rows(values of one row)``.

    Raises:
        ModelFileError: If the file has no sample, or it is damaged.
    """
    with _damage_named(model):
        entry = _entry(model)
        described = entry["inputs"]
        if model.batch is None:
            count = rows(sum(math.prod(value["shape"][1:]) for value in described))
            described = [{**v, "shape": [count, *v["shape"][1:]]} for v in described]
        return _inputs(model, entry["seed"], described)


def _entry(model: Model) -> Any:
    entry = model.metadata.values.get("sample")
    if entry is None:
        raise ModelFileError(
            f"{model.path}: got no metadata bnndeploy.sample, expected a seed and the trained "
            "module's outputs; export the model again, or give the run with --run"
        )
    return entry


@contextmanager
def _damage_named(model: Model) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{model.path}: metadata bnndeploy.sample is damaged ({error}); export the model again"
        ) from error


def _inputs(model: Model, seed: Any, described: Any) -> dict[str, Array]:
    names = [str(value["name"]) for value in described]
    if set(names) != set(model.inputs):
        raise ModelFileError(
            f"{model.path}: metadata bnndeploy.sample has inputs {names}, the graph "
            f"{model.inputs}; export the model again"
        )
    return dict(zip(names, generate_inputs(int(seed), described), strict=True))


def check_weights(model: Model) -> list[Check]:
    """Compares the initializers with the hash that the export wrote; nothing without one."""
    expected = model.metadata.values.get("weights_sha256")
    if expected is None:
        return []
    intact = weights_sha256(model.proto) == expected
    problem = "" if intact else "the weights were changed after the export"
    count = len(model.constants)
    return [Check("initializers", "bnndeploy.weights_sha256", True, count, problem=problem)]


def check_outputs(model: Model, outputs: dict[str, Array], sample: Sample) -> list[Check]:
    """Compares the outputs of the graph with the embedded ones, row by row."""
    check_shapes(model, sample.outputs, list(outputs.values()))
    checks = []
    for (name, got), want in zip(outputs.items(), sample.outputs, strict=True):
        found = numbers_differ(got, want, tolerance(want))
        beyond = [
            row for row in range(len(want))
            if numbers_differ(got[row], want[row], tolerance(want)).differing
        ]  # fmt: skip
        same_class = all(got[row].argmax() == want[row].argmax() for row in beyond)
        excused = len(beyond) <= ROWS_THAT_MAY_DIFFER and same_class
        checks.append(
            Check(name, "embedded outputs", False, found.compared,
                  0 if excused else found.differing,
                  found.explained + (found.differing if excused else 0), found.worst)
        )  # fmt: skip
    return checks
