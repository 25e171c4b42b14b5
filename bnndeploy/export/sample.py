"""The embedded sample: a seed, and what the trained module answered to the inputs it makes."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor, nn

Array = NDArray[Any]

SEED = 2016
_LONG_ROW = 256

MOST_VALUES = 8192
"""A sample holds at most this many output values, so that it stays within 64 KB of text."""


def generate_inputs(seed: int, inputs: Sequence[Mapping[str, Any]]) -> list[Array]:
    """Makes the inputs of a sample from its seed, the same on every machine.

    One generator ``numpy.random.default_rng(seed)`` fills the inputs in their order: standard
    normal float32 numbers, or integers in [0, below) for an integer dtype.

    Args:
        seed: The sample's seed.
        inputs: For each input its "dtype" and "shape", and "below" of an integer one.
    """
    generator = np.random.default_rng(seed)
    made: list[Array] = []
    for entry in inputs:
        dtype = np.dtype(entry["dtype"])
        shape = tuple(entry["shape"])
        if np.issubdtype(dtype, np.integer):
            made.append(generator.integers(0, entry["below"], shape, dtype=np.int64).astype(dtype))
        else:
            made.append(generator.standard_normal(shape, dtype=np.float32).astype(dtype))
    return made


def take_sample(
    module: nn.Module, inputs: Sequence[Tensor], *, fixed: bool = False
) -> dict[str, Any] | None:
    """Runs the trained module on generated inputs shaped like ``inputs`` but for axis 0.

    Four rows, fewer where rows are long, those of ``inputs`` where the batch is ``fixed``; None
    where that is too long.
    """
    import torch  # here, because verify-parity reads a sample without it

    with torch.no_grad():
        first = _outputs(module(*inputs))
    row = sum(output[:1].numel() for output in first)
    most = MOST_VALUES // max(row, 1)
    count = min(4 if row <= _LONG_ROW else 2, most)
    if fixed:
        count = next((len(x) for x in inputs if x.ndim), 1)
    if not 0 < count <= most:
        return None
    described = [_describe(x, count) for x in inputs]
    made = [torch.from_numpy(array) for array in generate_inputs(SEED, described)]
    with torch.no_grad():
        outputs = _outputs(module(*made))
    return {"seed": SEED, "inputs": described, "outputs": [encode(y.numpy()) for y in outputs]}


def _describe(x: Tensor, count: int) -> dict[str, Any]:
    """Describes ``count`` rows like those of ``x``; indices stay within its range."""
    described: dict[str, Any] = {
        "dtype": str(x.dtype).removeprefix("torch."),
        "shape": [count, *x.shape[1:]] if x.ndim else [],
    }
    if not x.is_floating_point():
        described["below"] = int(x.max()) + 1 if x.numel() else 1
    return described


def name_sample(sample: Mapping[str, Any], model: onnx.ModelProto) -> dict[str, Any]:
    """Adds the names of the model's inputs and outputs."""
    ends = {"inputs": model.graph.input, "outputs": model.graph.output}
    named = {
        end: [
            {**entry, "name": value.name} for value, entry in zip(values, sample[end], strict=True)
        ]
        for end, values in ends.items()
    }
    return {"seed": sample["seed"], **named}


def _outputs(result: Any) -> list[Tensor]:
    """Flattens what a forward returned, as torch.export does."""
    import torch

    leaves = torch.utils._pytree.tree_leaves(result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def encode(array: Array) -> dict[str, Any]:
    """Returns an output of a sample in the form that the metadata holds."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    data = base64.b64encode(little.tobytes()).decode("ascii")
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def decode(entry: Mapping[str, Any]) -> Array:
    """Inverts :func:`encode`."""
    dtype = np.dtype(entry["dtype"]).newbyteorder("<")
    flat = np.frombuffer(base64.b64decode(entry["data"]), dtype)
    return flat.reshape(entry["shape"]).astype(entry["dtype"])
