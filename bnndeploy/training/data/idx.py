"""Reads the IDX files of MNIST and its relatives, plain or gzipped."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from bnndeploy.errors import DataError

_UINT8 = 0x08


def read_idx(path: Path, dimensions: int) -> Tensor:
    """Reads an IDX file of bytes: two zero bytes, type, rank, big-endian sizes, then the data.

    Raises:
        DataError: the file cannot be read, is cut off, or holds something else.
    """
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}), get the file again") from None
    header = 4 + 4 * dimensions
    if len(content) < header or content[:4] != bytes((0, 0, _UINT8, dimensions)):
        raise DataError(
            f"{path}: got header {content[:4].hex()}, expected an IDX file of bytes of rank "
            f"{dimensions}; get the file again"
        )
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    expected = header + math.prod(shape)
    if len(content) != expected:
        raise DataError(
            f"{path}: got {len(content):,} bytes, expected {expected:,} for shape "
            f"{list(shape)}; the file is cut off or damaged, get it again"
        )
    values = np.frombuffer(content, np.uint8, offset=header).reshape(shape)
    return torch.from_numpy(values.copy())
