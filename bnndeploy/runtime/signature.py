"""The inputs and outputs of a model, in the words of serving protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bnndeploy.errors import ModelFileError

if TYPE_CHECKING:
    from bnndeploy.runtime.session import InferenceSession

# ONNX Runtime's names of types and those of the Open Inference Protocol v2 and of Triton.
_DATATYPES = {
    "tensor(bool)": "BOOL",
    "tensor(float16)": "FP16",
    "tensor(float)": "FP32",
    "tensor(double)": "FP64",
    "tensor(string)": "BYTES",
} | {
    f"tensor({sign}int{bits})": f"{sign.upper()}INT{bits}"
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}


@dataclass(frozen=True)
class TensorSpec:
    """Describes one input or output; a size that is a name or None is free."""

    name: str
    datatype: str
    shape: tuple[int | str | None, ...]

    @property
    def sizes(self) -> list[int]:
        """Returns the shape with -1 for every free size."""
        return [size if isinstance(size, int) else -1 for size in self.shape]

    @property
    def triton_type(self) -> str:
        """Returns the type as Triton's configuration names it."""
        return f"TYPE_{'STRING' if self.datatype == 'BYTES' else self.datatype}"

    def accepts(self, datatype: str, shape: Sequence[int]) -> bool:
        """Tells whether a tensor of this type and shape fits."""
        return (
            datatype == self.datatype
            and len(shape) == len(self.shape)
            and all(
                not isinstance(size, int) or size == got
                for size, got in zip(self.shape, shape, strict=True)
            )
        )


@dataclass(frozen=True)
class Signature:
    """Lists the inputs and outputs of a model by name, in order."""

    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]

    @property
    def batched(self) -> bool:
        """Tells whether all values share one free, named first size: the batch."""
        specs = [*self.inputs.values(), *self.outputs.values()]
        first = {spec.shape[0] if spec.shape else None for spec in specs}
        return len(first) == 1 and isinstance(first.pop(), str)


def read_signature(session: InferenceSession) -> Signature:
    """Returns the inputs and outputs of a session's model.

    Raises:
        ModelFileError: If one has a type that the protocols have no name for.
    """
    return Signature(_specs(session.get_inputs()), _specs(session.get_outputs()))


def _specs(values: Sequence[Any]) -> dict[str, TensorSpec]:
    specs = {}
    for value in values:
        if value.type not in _DATATYPES:
            raise ModelFileError(
                f"value {value.name}: got type {value.type}, expected a tensor type of the Open "
                "Inference Protocol; serve a model with numeric or string tensors"
            )
        specs[value.name] = TensorSpec(value.name, _DATATYPES[value.type], tuple(value.shape))
    return specs
