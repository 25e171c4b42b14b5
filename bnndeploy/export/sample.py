"""The embedded sample: a seed, and what the trained module answered to the inputs it makes."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SEED = 2016
_MANY_VALUES = 256


def sample_count(values_per_row: int) -> int:
    """Returns how many rows to embed: fewer where a row is long, to keep files small."""
    return 4 if values_per_row <= _MANY_VALUES else 2


def generate_inputs(seed: int, inputs: Sequence[Mapping[str, Any]]) -> list[Array]:
    """Makes the inputs of a sample from its seed, the same on every machine.

    One generator ``numpy.random.default_rng(seed)`` fills the inputs in their order: standard
    normal float32 numbers, or integers in [0, 10) for an integer dtype.

    Args:
        seed: The sample's seed.
        inputs: For each input its "dtype" and "shape".
    """
    generator = np.random.default_rng(seed)
    made: list[Array] = []
    for entry in inputs:
        dtype = np.dtype(entry["dtype"])
        shape = tuple(entry["shape"])
        if np.issubdtype(dtype, np.integer):
            made.append(generator.integers(0, 10, shape, dtype=np.int64).astype(dtype))
        else:
            made.append(generator.standard_normal(shape, dtype=np.float32).astype(dtype))
    return made


def encode(array: Array, name: str) -> dict[str, Any]:
    """Returns an output of a sample in the form that the metadata holds."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    data = base64.b64encode(little.tobytes()).decode("ascii")
    return {"name": name, "dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def decode(entry: Mapping[str, Any]) -> Array:
    """Inverts :func:`encode`."""
    dtype = np.dtype(entry["dtype"]).newbyteorder("<")
    flat = np.frombuffer(base64.b64decode(entry["data"]), dtype)
    return flat.reshape(entry["shape"]).astype(entry["dtype"])
