"""XnorGemm, XnorConv, TernaryGemm and TernaryConv in standard operators."""

from __future__ import annotations

from bnndeploy.export.functions._bits import unpack_signs
from bnndeploy.export.functions._body import Body, size
from bnndeploy.export.functions._product import (
    IMAGE_VECTOR,
    MATRIX_VECTOR,
    conv,
    conv_input,
    epilogue,
    gemm,
    gemm_input,
    ternary_sum,
)


def xnor_gemm(op: Body) -> None:
    """Multiplies by binary weights."""
    k = size(op, "k")
    acc = gemm(op, gemm_input(op, k), unpack_signs(op, "W", k))
    epilogue(op, acc, MATRIX_VECTOR)


def ternary_gemm(op: Body) -> None:
    """Multiplies by ternary weights with two scales."""
    k = size(op, "k")
    x = gemm_input(op, k)
    acc = ternary_sum(op, lambda codes: gemm(op, x, codes), k, MATRIX_VECTOR)
    epilogue(op, acc, MATRIX_VECTOR)


def xnor_conv(op: Body) -> None:
    """Convolves with binary weights."""
    channels, group_channels = _channels(op)
    x = conv_input(op, channels)
    acc = conv(op, x, unpack_signs(op, "W", group_channels))
    epilogue(op, acc, IMAGE_VECTOR)


def ternary_conv(op: Body) -> None:
    """Convolves with ternary weights with two scales."""
    channels, group_channels = _channels(op)
    x = conv_input(op, channels)
    acc = ternary_sum(op, lambda codes: conv(op, x, codes), group_channels, IMAGE_VECTOR)
    epilogue(op, acc, IMAGE_VECTOR)


def _channels(op: Body) -> tuple[str, str]:
    """Returns the channels of X and those of one group, as vectors of one element."""
    channels = size(op, "channels")
    return channels, op.Div(channels, size(op, "group"))
