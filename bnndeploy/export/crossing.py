"""Finds where the sign of a per-channel function flips, by calling the function.

A formula of ours would round differently from torch's batch-norm (which is a fused
multiply-add on images and four separate steps on vectors), so thresholds are looked up in the
function's own values instead of being solved for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]
Bits = NDArray[np.bool_]

BitsOf = Callable[[Float], Bits]
"""Maps values ``[V, C]`` to bits ``[V, C]``, channel by channel."""

LARGEST = np.float32(2.0**100)
"""Float inputs beyond this magnitude are taken to behave as at it."""

_TABLE_CELLS = 1 << 22


@dataclass(frozen=True)
class Crossing:
    """Says when a bit is set: ``value * sign >= threshold``, channel by channel.

    Attributes:
        sign: ``[C]``, +1 or -1.
        threshold: ``[C]``; -inf for a bit that is always set, +inf for one that never is.
    """

    sign: Float
    threshold: Float


def cross_integers(bits_of: BitsOf, limit: int, channels: int) -> Crossing | None:
    """Tabulates the bits of every integer in ``[-limit, limit]`` and takes the flip.

    None if a channel flips more than once: then no threshold can stand for the function.
    """
    levels = np.arange(-limit, limit + 1, dtype=np.float32)
    sign = np.ones(channels, np.float32)
    threshold = np.empty(channels, np.float32)
    # A block of levels at a time, overlapping by one level so that no flip falls between.
    rows = max(2, _TABLE_CELLS // channels)
    flips = np.zeros(channels, np.int64)
    first = bits_of(np.broadcast_to(levels[:1, None], (1, channels)))[0]
    last = first
    for start in range(0, len(levels), rows - 1):
        block = levels[start : start + rows]
        bits = bits_of(np.broadcast_to(block[:, None], (len(block), channels)))
        changed = bits[1:] != bits[:-1]
        flips += changed.sum(axis=0)
        found = np.flatnonzero(changed.any(axis=0))
        at = changed[:, found].argmax(axis=0)
        rising = bits[-1, found]
        sign[found] = np.where(rising, 1, -1)
        threshold[found] = np.where(rising, block[at + 1], -block[at])
        last = bits[-1]
    if np.any(flips > 1):
        return None
    constant = flips == 0
    threshold[constant] = np.where(last[constant], -np.inf, np.inf)
    return Crossing(sign, threshold)


def cross_floats(bits_of: BitsOf, channels: int) -> Crossing:
    """Bisects over the float32 numbers; the function must be monotone in every channel."""
    low = np.full(channels, _order(-LARGEST), np.int64)
    high = np.full(channels, _order(LARGEST), np.int64)
    at_low, at_high = (bits_of(_number(end)[None])[0] for end in (low, high))
    while np.any(high - low > 1):
        middle = (low + high) // 2
        like_high = bits_of(_number(middle)[None])[0] == at_high
        high = np.where(like_high, middle, high)
        low = np.where(like_high, low, middle)
    # Rising: set from `high` on. Falling: set up to `low`.
    sign = np.where(at_high | (at_low == at_high), np.float32(1), np.float32(-1))
    threshold = np.where(at_high, _number(high), -_number(low))
    threshold = np.where(at_low & at_high, -np.inf, threshold)
    threshold = np.where(~at_low & ~at_high, np.inf, threshold)
    return Crossing(sign.astype(np.float32), threshold.astype(np.float32))


def _order(number: np.float32) -> int:
    """Maps a float to an integer that sorts the same way."""
    bits = int(np.float32(number).view(np.int32))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def _number(order: NDArray[np.int64]) -> Float:
    """Inverts :func:`_order`."""
    magnitude = np.abs(order).astype(np.int32).view(np.float32)
    return np.where(order < 0, -magnitude, magnitude).astype(np.float32)
