"""Bit packing in NumPy; the convention is written down in ``docs/bit_layout.md``."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bnndeploy.errors import OperatorError

WORD_BITS = 32

Words = NDArray[np.uint32]


def word_count(length: int) -> int:
    """Returns how many words hold ``length`` bits."""
    return -(-length // WORD_BITS)


def pack_bits(values: ArrayLike) -> Words:
    """Packs the last axis: bit 1 where ``values >= 0`` (NaN gives 0), pad bits 0.

    Shape: ``(..., C)`` to ``(..., ceil(C / 32))``, uint32.
    """
    return pack_mask(np.asarray(values) >= 0)


def pack_mask(mask: ArrayLike) -> Words:
    """Packs the last axis of a boolean array, least significant bit first, pad bits 0.

    Shape: ``(..., C)`` to ``(..., ceil(C / 32))``, uint32.
    """
    bits = np.asarray(mask, dtype=np.bool_)
    if bits.ndim == 0:
        raise OperatorError("pack_mask: got a scalar, expected an array with at least one axis")
    lead, length = bits.shape[:-1], bits.shape[-1]
    words = word_count(length)
    padded = np.zeros((*lead, words * WORD_BITS), np.bool_)
    padded[..., :length] = bits
    # "<u4" fixes the byte order, so that the words are the same on every machine.
    packed_bytes = np.packbits(padded, axis=-1, bitorder="little")
    return packed_bytes.view("<u4").reshape(*lead, words).astype(np.uint32, copy=False)


def unpack_mask(words: ArrayLike, length: int) -> NDArray[np.bool_]:
    """Inverts :func:`pack_mask`: the first ``length`` bits of the last axis as booleans.

    Shape: ``(..., ceil(length / 32))`` to ``(..., length)``.

    Raises:
        OperatorError: If the word count does not fit ``length``.
    """
    packed = np.ascontiguousarray(words, dtype="<u4")
    if packed.ndim == 0 or packed.shape[-1] != word_count(length):
        raise OperatorError(
            f"unpack_mask: got shape {packed.shape}, expected a last axis of "
            f"{word_count(length)} words for {length} bits"
        )
    lead, words_per_row = packed.shape[:-1], packed.shape[-1]
    as_bytes = packed.view(np.uint8).reshape(*lead, words_per_row * 4)
    bits = np.unpackbits(as_bytes, axis=-1, bitorder="little")
    return bits[..., :length].astype(np.bool_)


def unpack_bits(words: ArrayLike, length: int) -> NDArray[np.float32]:
    """Returns the packed values as floats: +1 where a bit is set, else -1.

    Shape: ``(..., ceil(length / 32))`` to ``(..., length)``, float32.
    """
    values: NDArray[np.float32] = np.where(
        unpack_mask(words, length), np.float32(1), np.float32(-1)
    )
    return values


def pack_ternary(codes: ArrayLike) -> Words:
    """Packs codes in {-1, 0, +1} into two planes: plane 0 marks +1, plane 1 marks -1.

    Shape: ``(..., C)`` to ``(2, ..., ceil(C / 32))``, uint32.
    """
    array = np.asarray(codes)
    return np.stack([pack_mask(array == 1), pack_mask(array == -1)])


def unpack_ternary(planes: ArrayLike, length: int) -> NDArray[np.float32]:
    """Inverts :func:`pack_ternary`.

    Shape: ``(2, ..., ceil(length / 32))`` to ``(..., length)``, float32.

    Raises:
        OperatorError: If a bit is set in both planes.
    """
    positive, negative = unpack_mask(planes, length)
    if np.any(positive & negative):
        raise OperatorError("ternary weights: a bit is set in both planes; expected at most one")
    codes: NDArray[np.float32] = positive.astype(np.float32) - negative.astype(np.float32)
    return codes
