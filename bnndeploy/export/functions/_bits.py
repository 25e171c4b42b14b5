"""Packing and unpacking of bits in standard operators; see ``docs/bit_layout.md``."""

from __future__ import annotations

from bnndeploy.export.functions._body import FLOAT, INT64, UINT32, Body
from bnndeploy.ops.packing import WORD_BITS


def unpack_mask(op: Body, words: str, length: str | None = None) -> str:
    """Returns the bits of the last axis as float32 0 and 1, the first ``length`` of them.

    Shape: ``(..., words)`` to ``(..., length)``; a length of None keeps the pad bits.
    """
    shifts = op.Cast(op.ints(*range(WORD_BITS)), to=UINT32)
    shifted = op.BitShift(op.Unsqueeze(words, op.ints(-1)), shifts, direction="RIGHT")
    bits = op.Cast(op.BitwiseAnd(shifted, op.Cast(op.ints(1), to=UINT32)), to=FLOAT)
    total = op.Mul(op.Shape(words, start=-1), op.ints(WORD_BITS))
    flat = op.Reshape(bits, op.Concat(op.Shape(words, end=-1), total, axis=0), allowzero=1)
    return flat if length is None else op.Slice(flat, op.ints(0), length, op.ints(-1))


def unpack_signs(op: Body, words: str, length: str) -> str:
    """Returns the bits of the last axis as float32 -1 and +1.

    Shape: ``(..., words)`` to ``(..., length)``.
    """
    return op.Sub(op.Mul(unpack_mask(op, words, length), op.scalar(2.0)), op.scalar(1.0))


def pack_mask(op: Body, mask: str) -> str:
    """Packs the last axis of a boolean value; pad bits are 0.

    Shape: ``(..., length)`` to ``(..., ceil(length / 32))``, uint32.
    """
    length = op.Shape(mask, start=-1)
    words = op.Div(op.Add(length, op.ints(WORD_BITS - 1)), op.ints(WORD_BITS))
    missing = op.Sub(op.Mul(words, op.ints(WORD_BITS)), length)
    bits = op.Cast(mask, to=INT64)
    padded = op.Pad(bits, op.Concat(op.ints(0), missing, axis=0), op.index(0), op.ints(-1))
    lead = op.Shape(mask, end=-1)
    rows = op.Reshape(padded, op.Concat(lead, words, op.ints(WORD_BITS), axis=0), allowzero=1)
    weighted = op.Mul(rows, op.ints(*(1 << bit for bit in range(WORD_BITS))))
    return op.Cast(op.ReduceSum(weighted, op.ints(-1), keepdims=0), to=UINT32)
