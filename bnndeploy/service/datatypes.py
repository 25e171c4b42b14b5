"""The data types of the Open Inference Protocol v2 and their two encodings.

A tensor travels as a JSON list (flat or nested, row-major) or as raw little-endian bytes. FP16
has no JSON form. BYTES elements travel as JSON strings, or each as a 4-byte length and its bytes;
the model sees them as UTF-8 strings.

Reference: Open Inference Protocol v2, "Tensor Data Types" and the binary tensor data extension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnndeploy.service.request_error import bad_request

Array = NDArray[Any]

BYTES = "BYTES"
_LENGTH = 4  # bytes of the length before each BYTES element

_NUMPY: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype("?"),
    "UINT8": np.dtype("u1"),
    "UINT16": np.dtype("<u2"),
    "UINT32": np.dtype("<u4"),
    "UINT64": np.dtype("<u8"),
    "INT8": np.dtype("i1"),
    "INT16": np.dtype("<i2"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "FP16": np.dtype("<f2"),
    "FP32": np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
    BYTES: np.dtype("O"),
}


def check_datatype(datatype: object, subject: str) -> str:
    """Returns the data type if the service knows it, and raises a 400 otherwise."""
    if not isinstance(datatype, str) or datatype not in _NUMPY:
        raise bad_request(
            f"{subject}: got datatype {datatype!r}, expected one of {', '.join(_NUMPY)}"
        )
    return datatype


def from_json(data: object, datatype: str, shape: Sequence[int], subject: str) -> Array:
    """Converts a JSON list; a value that the type cannot hold is refused, never wrapped."""
    if datatype == "FP16":
        raise bad_request(f"{subject}: FP16 has no JSON form, send it as binary data")
    if not isinstance(data, list):
        raise bad_request(f"{subject}: got data {str(data)[:40]!r}, expected a list")
    dtype = _NUMPY[datatype]
    try:
        # numpy would make floats of a list that mixes small and very large integers.
        values = np.array(data, dtype=object if datatype in (BYTES, "UINT64") else None)
    except ValueError:
        raise bad_request(f"{subject}: data is ragged or nested too deeply") from None
    with np.errstate(over="ignore"):
        converted = values.astype(dtype) if _holds(dtype, values) else None
    if converted is None or (dtype.kind == "f" and np.any(np.isinf(converted) != np.isinf(values))):
        raise bad_request(f"{subject}: data has values that {datatype} cannot hold")
    return _reshape(converted, shape, subject)


def _holds(dtype: np.dtype[Any], values: Array) -> bool:
    """Tells whether what numpy made of a JSON list fits the kind and range of a type."""
    if values.size == 0:
        return True
    if dtype.kind == "O":
        return all(isinstance(element, str) for element in values.flat)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = values.dtype.kind in "iu" or all(type(element) is int for element in values.flat)
        return whole and bool(limits.min <= values.min() and values.max() <= limits.max)
    return values.dtype.kind in ("b" if dtype.kind == "b" else "iuf")


def from_binary(data: memoryview, datatype: str, shape: Sequence[int], subject: str) -> Array:
    """Views raw bytes as a tensor; BYTES elements are copied out."""
    if datatype == BYTES:
        return _reshape(_split_strings(data, subject), shape, subject)
    dtype = _NUMPY[datatype]
    expected = math.prod(shape) * dtype.itemsize
    if len(data) != expected:
        raise bad_request(
            f"{subject}: got {len(data)} bytes, expected {expected} for {datatype} of shape "
            f"{list(shape)}"
        )
    if datatype == "BOOL" and any(byte > 1 for byte in set(data)):
        raise bad_request(f"{subject}: BOOL data has bytes other than 0 and 1")
    # ONNX Runtime reads whole elements, so the copy out of the body must be aligned.
    return np.require(np.frombuffer(data, dtype=dtype), requirements="A").reshape(shape)


def to_json(array: Array, datatype: str, subject: str) -> list[Any]:
    """Returns the elements, row-major.

    Raises:
        RequestError: If JSON has no form for them (FP16, infinity, NaN).
    """
    if datatype == "FP16":
        raise bad_request(f"{subject}: FP16 has no JSON form, ask for binary_data")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise bad_request(f"{subject}: infinity and NaN have no JSON form, ask for binary_data")
    return array.ravel().tolist()


def to_binary(array: Array, datatype: str) -> bytes:
    """Returns the raw little-endian bytes, row-major."""
    if datatype != BYTES:
        return array.astype(_NUMPY[datatype], copy=False).tobytes()
    elements = [str(element).encode() for element in array.ravel()]
    return b"".join(len(e).to_bytes(_LENGTH, "little") + e for e in elements)


def _split_strings(data: memoryview, subject: str) -> Array:
    elements: list[str] = []
    position = 0
    while position < len(data):
        start = position + _LENGTH
        position = start + int.from_bytes(data[position:start], "little")
        if start > len(data) or position > len(data):
            raise bad_request(f"{subject}: BYTES element {len(elements)} is cut off")
        try:
            elements.append(str(data[start:position], "utf-8"))
        except UnicodeDecodeError:
            raise bad_request(
                f"{subject}: BYTES element {len(elements)} is not UTF-8 text"
            ) from None
    return np.array(elements, dtype=object)


def _reshape(values: Array, shape: Sequence[int], subject: str) -> Array:
    if values.size != math.prod(shape):
        raise bad_request(
            f"{subject}: got {values.size} elements, expected {math.prod(shape)} for shape "
            f"{list(shape)}"
        )
    return values.reshape(shape)
