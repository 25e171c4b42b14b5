"""Sign, Ternary, PackBits, UnpackBits and MaxPoolBits in standard operators."""

from __future__ import annotations

from bnndeploy.export.functions._bits import pack_mask, unpack_mask, unpack_signs
from bnndeploy.export.functions._body import FLOAT, Body, ints_attribute, size


def sign(op: Body) -> None:
    """Gives +1 where X >= 0, else -1."""
    positive = op.GreaterOrEqual(op.Cast("X", to=FLOAT), op.scalar(0.0))
    op.CastLike(op.Where(positive, op.scalar(1.0), op.scalar(-1.0)), "X", out="Y")


def ternary(op: Body) -> None:
    """Gives +1 where X > t, -1 where X < -t, else 0."""
    x, t = op.Cast("X", to=FLOAT), _along_channels(op, "threshold")
    above = op.Cast(op.Greater(x, t), to=FLOAT)
    below = op.Cast(op.Less(x, op.Neg(t)), to=FLOAT)
    op.CastLike(op.Sub(above, below), "X", out="Y")


def pack_bits(op: Body) -> None:
    """Packs X * sign >= threshold, channels last."""
    x = op.Mul(op.Cast("X", to=FLOAT), _along_channels(op, "sign"))
    bits = op.GreaterOrEqual(x, _along_channels(op, "threshold"))
    # (N, C, ...) to (N, ..., C) at any rank: everything behind C becomes one axis.
    batch, channels, rest = _batch_channels_rest(op, "X")
    words = pack_mask(op, op.Transpose(_as_cube(op, bits, batch, channels, rest), perm=[0, 2, 1]))
    shape = op.Concat(batch, rest, op.Shape(words, start=-1), axis=0)
    op.Reshape(words, shape, allowzero=1, out="B")


def unpack_bits(op: Body) -> None:
    """Gives the packed activations as +-1 floats, channel axis 1."""
    channels = size(op, "channels")
    batch, rest = op.Shape("B", end=1), op.Shape("B", start=1, end=-1)
    # (N, ..., C) to (N, C, ...) at any rank: everything in between becomes one axis.
    cube = _as_cube(op, unpack_signs(op, "B", channels), batch, rest, channels)
    shape = op.Concat(batch, channels, rest, axis=0)
    op.Reshape(op.Transpose(cube, perm=[0, 2, 1]), shape, allowzero=1, out="Y")


def max_pool_bits(op: Body) -> None:
    """Takes the OR of each window, then flips the bits of ``invert``; padding counts as 0."""
    pads = op.ints(ints_attribute("pads"))
    begin = op.Slice(pads, op.ints(0), op.ints(2))
    end = op.Slice(pads, op.ints(2), op.ints(4))
    bits = op.Transpose(unpack_mask(op, "B"), perm=[0, 3, 1, 2])
    # Padded here, because MaxPool itself refuses a window that lies in the padding alone.
    none = op.ints(0, 0)
    padded = op.Pad(bits, op.Concat(none, begin, none, end, axis=0))
    pooled = op.MaxPool(
        padded, kernel_shape=ints_attribute("kernel_shape"), strides=ints_attribute("strides")
    )
    mask = op.Greater(op.Transpose(pooled, perm=[0, 2, 3, 1]), op.scalar(0.5))
    op.BitwiseXor(pack_mask(op, mask), "invert", out="Y")


def _along_channels(op: Body, vector: str) -> str:
    """Views a [1] or [C] vector along channel axis 1 of X, whatever the rank of X."""
    behind = op.Sub(op.Shape(op.Shape("X")), op.ints(2))
    return op.Reshape(vector, op.Concat(op.ints(1, -1), op.Expand(op.ints(1), behind), axis=0))


def _batch_channels_rest(op: Body, value: str) -> tuple[str, str, str]:
    return op.Shape(value, end=1), op.Shape(value, start=1, end=2), op.Shape(value, start=2)


def _as_cube(op: Body, value: str, *sizes: str) -> str:
    """Merges each list of sizes into one axis; an empty list gives an axis of size 1."""
    merged = [op.ReduceProd(size, keepdims=1) for size in sizes]
    return op.Reshape(value, op.Concat(*merged, axis=0), allowzero=1)
