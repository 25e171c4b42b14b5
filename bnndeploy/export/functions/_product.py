"""What the four products share: the input in either type, the clamp and the epilogue."""

from __future__ import annotations

from collections.abc import Callable

from bnndeploy.export.functions._bits import pack_mask, unpack_mask, unpack_signs
from bnndeploy.export.functions._body import (
    FLOAT,
    UINT32,
    Body,
    float_attribute,
    int_attribute,
    ints_attribute,
)

# A vector of one value per channel, seen along channel axis 1 of a matrix or of an image.
MATRIX_VECTOR = (1, -1)
IMAGE_VECTOR = (1, -1, 1, 1)


def gemm_input(op: Body, k: str) -> str:
    """Returns X as float32 ``(M, K)``."""
    return _either_type(op, lambda branch, bits: unpack_signs(branch, bits, k))


def conv_input(op: Body, channels: str) -> str:
    """Returns X as float32 ``(N, C, H, W)``, padded with ``pad_value``."""

    def unpack(branch: Body, bits: str) -> str:
        return branch.Transpose(unpack_signs(branch, bits, channels), perm=[0, 3, 1, 2])

    x = _either_type(op, unpack)
    pads = op.ints(ints_attribute("pads"))
    begin = op.Slice(pads, op.ints(0), op.ints(2))
    end = op.Slice(pads, op.ints(2), op.ints(4))
    none = op.ints(0, 0)
    every_axis = op.Concat(none, begin, none, end, axis=0)
    return op.Pad(x, every_axis, op.Cast(op.index(int_attribute("pad_value")), to=FLOAT))


def conv(op: Body, x: str, w: str) -> str:
    """Cross-correlates the padded x with w ``(O, kh, kw, C / group)``."""
    return op.Conv(
        x,
        op.Transpose(w, perm=[0, 3, 1, 2]),
        strides=ints_attribute("strides"),
        dilations=ints_attribute("dilations"),
        group=int_attribute("group"),
    )


def gemm(op: Body, x: str, w: str) -> str:
    """Multiplies x ``(M, K)`` with w ``(N, K)``."""
    return op.MatMul(x, op.Transpose(w, perm=[1, 0]))


def ternary_sum(
    op: Body, product: Callable[[str], str], length: str, vector: tuple[int, ...]
) -> str:
    """Returns ``P * w_pos - N * w_neg``, P and N the products with the planes of W."""
    planes = unpack_mask(op, "W", length)
    sums = []
    for plane, weight in enumerate(("w_pos", "w_neg")):
        codes = op.Gather(planes, op.index(plane), axis=0)
        # The clamp changes nothing; it keeps an optimiser from multiplying the weights instead.
        total = at_least(op, product(codes), op.scalar(float("-inf")))
        sums.append(op.Mul(total, op.Reshape(weight, op.ints(*vector))))
    return op.Sub(*sums)


def at_least(op: Body, value: str, low: str) -> str:
    """Returns ``max(value, low)``, NaN where the value is NaN."""
    return op.Where(op.Less(value, low), low, value)


def epilogue(op: Body, acc: str, vector: tuple[int, ...]) -> None:
    """Writes Y and Ybits: clamp, scale, bias, residual, slope, shift, then the threshold."""
    scale, bias, slope, shift, threshold = (
        op.Reshape(name, op.ints(*vector))
        for name in ("scale", "bias", "slope", "shift", "threshold")
    )
    v = at_least(op, acc, op.scalar(float_attribute("acc_min")))
    v = op.Mul(v, scale)
    v = op.Add(v, bias)
    v = op.Add(v, op.Cast("residual", to=FLOAT))
    v = op.Where(op.GreaterOrEqual(v, op.scalar(0.0)), v, op.Mul(v, slope))
    y = op.CastLike(op.Add(v, shift), "residual", out="Y")
    bits = op.GreaterOrEqual(op.Cast(y, to=FLOAT), threshold)
    if vector == IMAGE_VECTOR:
        bits = op.Transpose(bits, perm=[0, 2, 3, 1])
    op.Identity(pack_mask(op, bits), out="Ybits")


def _either_type(op: Body, unpack: Callable[[Body, str], str]) -> str:
    """Returns X as float32: a cast of float X, or what ``unpack`` makes of bits.

    One body serves both types: 0.5 cast to the type of X is 0 for words alone. The cast to
    uint32 only satisfies the type check of the branch that float X never takes.
    """
    is_float = op.Greater(op.Cast(op.CastLike(op.scalar(0.5), "X"), to=FLOAT), op.scalar(0.0))
    return op.choose(
        is_float,
        lambda branch: branch.Cast("X", to=FLOAT),
        lambda branch: unpack(branch, branch.Cast("X", to=UINT32)),
    )
