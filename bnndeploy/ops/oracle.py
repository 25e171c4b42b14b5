"""What each operator computes, in NumPy.

This is the reference that kernels, portable functions and exported graphs are held against.
The formulas are written out in ``docs/operators.md``. Float arithmetic is float32 and every
step is rounded on its own; a float sum (float X) is taken in float64 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnndeploy.ops.checks import check
from bnndeploy.ops.packing import (
    Words,
    pack_mask,
    unpack_bits,
    unpack_mask,
    unpack_ternary,
)

Array = NDArray[Any]
Float = NDArray[np.float32]


def sign(x: Array) -> Array:
    """Returns +1 where ``x >= 0``, else -1 (-0.0 gives +1, NaN gives -1); the dtype is kept."""
    return np.where(x >= 0, 1, -1).astype(x.dtype)


def ternary(x: Array, threshold: Float) -> Array:
    """Returns +1 where ``x > t``, -1 where ``x < -t``, else 0; t is scalar or per channel."""
    t = _per_channel(threshold, x.ndim)
    values = x.astype(np.float32)
    return ((values > t).astype(np.int8) - (values < -t).astype(np.int8)).astype(x.dtype)


def pack_bits(x: Array, sign: Float, threshold: Float) -> Words:
    """Packs ``x * sign >= threshold``, channels last.

    Shape: ``(N, C, ...)`` to ``(N, ..., ceil(C / 32))``.
    """
    values = x.astype(np.float32) * _per_channel(sign, x.ndim)
    return pack_mask(np.moveaxis(values >= _per_channel(threshold, x.ndim), 1, -1))


def unpack_bits_op(bits: Words, *, channels: int) -> Float:
    """Returns the packed activations as +-1 floats.

    Shape: ``(N, ..., ceil(C / 32))`` to ``(N, C, ...)``.
    """
    return np.moveaxis(unpack_bits(bits, channels), -1, 1)


def max_pool_bits(
    bits: Words,
    invert: Words,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> Words:
    """ORs the bits of each window, then flips those set in ``invert``; padding counts as 0.

    Shape: ``(N, H, W, Cw)`` to ``(N, Ho, Wo, Cw)``.
    """
    top, left, bottom, right = pads
    padded = np.pad(bits, ((0, 0), (top, bottom), (left, right), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, tuple(kernel_shape), axis=(1, 2))
    chosen = windows[:, :: strides[0], :: strides[1]]
    pooled: Words = np.bitwise_or.reduce(np.bitwise_or.reduce(chosen, axis=-1), axis=-1)
    return pooled ^ invert


def xnor_gemm(x: Array, w: Words, *epilogue: Array, k: int, acc_min: float) -> tuple[Array, Words]:
    """Multiplies by binary weights, then applies the epilogue.

    Shape: x bits ``(M, Kw)`` or float ``(M, K)``, w ``(N, Kw)`` to ``(M, N)`` and ``(M, Nw)``.
    """
    acc = _gemm(_gemm_input(x, k), unpack_bits(w, k))
    return apply_epilogue(acc, acc_min, *epilogue)


def ternary_gemm(
    x: Array, w: Words, w_pos: Float, w_neg: Float, *epilogue: Array, k: int, acc_min: float
) -> tuple[Array, Words]:
    """Multiplies by ternary weights with two scales, then applies the epilogue.

    Shape: x bits ``(M, Kw)`` or float ``(M, K)``, w ``(2, N, Kw)`` to ``(M, N)``, ``(M, Nw)``.
    """
    unpack_ternary(w, k)  # refuses a bit that is set in both planes
    values = _gemm_input(x, k)
    positive, negative = (_gemm(values, plane) for plane in unpack_mask(w, k))
    acc = positive * _per_channel(w_pos, 2) - negative * _per_channel(w_neg, 2)
    return apply_epilogue(acc, acc_min, *epilogue)


def xnor_conv(
    x: Array, w: Words, *epilogue: Array, acc_min: float, **geometry: Any
) -> tuple[Array, Words]:
    """Convolves with binary weights, then applies the epilogue.

    Shape: x bits ``(N, H, W, Cw)`` or float ``(N, C, H, W)``, w ``(O, kh, kw, Gw)`` to
    ``(N, O, Ho, Wo)`` and ``(N, Ho, Wo, Ow)``.
    """
    group_channels = geometry["channels"] // geometry["group"]
    acc = _conv(_conv_input(x, geometry["channels"]), unpack_bits(w, group_channels), **geometry)
    return apply_epilogue(acc, acc_min, *epilogue)


def ternary_conv(
    x: Array,
    w: Words,
    w_pos: Float,
    w_neg: Float,
    *epilogue: Array,
    acc_min: float,
    **geometry: Any,
) -> tuple[Array, Words]:
    """Convolves with ternary weights with two scales, then applies the epilogue.

    Shape: as :func:`xnor_conv`, w ``(2, O, kh, kw, Gw)``.
    """
    group_channels = geometry["channels"] // geometry["group"]
    unpack_ternary(w, group_channels)  # refuses a bit that is set in both planes
    values = _conv_input(x, geometry["channels"])
    positive, negative = (_conv(values, p, **geometry) for p in unpack_mask(w, group_channels))
    acc = positive * _per_channel(w_pos, 4) - negative * _per_channel(w_neg, 4)
    return apply_epilogue(acc, acc_min, *epilogue)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Sign": sign,
    "Ternary": ternary,
    "PackBits": pack_bits,
    "UnpackBits": unpack_bits_op,
    "XnorGemm": xnor_gemm,
    "XnorConv": xnor_conv,
    "TernaryGemm": ternary_gemm,
    "TernaryConv": ternary_conv,
    "MaxPoolBits": max_pool_bits,
}


def run_op(
    op_type: str, inputs: Sequence[Array], attributes: Mapping[str, Any]
) -> tuple[Array, ...]:
    """Runs one operator by name, inputs in the order of its signature.

    Raises:
        OperatorError: If the operator is unknown or inputs or attributes do not fit it.
    """
    check(op_type, inputs, attributes)
    with np.errstate(all="ignore"):  # NaN, infinity and overflow are values like any other
        outputs = _FUNCTIONS[op_type](*inputs, **attributes)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _per_channel(vector: Array, ndim: int) -> Float:
    """Views a [1] or [C] vector so that it broadcasts along channel axis 1."""
    return vector.astype(np.float32).reshape(1, -1, *(1,) * (ndim - 2))


def _gemm_input(x: Array, k: int) -> Array:
    """Returns bits as float32, whose sums of +-1 are exact, and float X as float64."""
    return unpack_bits(x, k) if x.dtype == np.uint32 else x.astype(np.float64)


def _conv_input(x: Array, channels: int) -> Array:
    return unpack_bits_op(x, channels=channels) if x.dtype == np.uint32 else x.astype(np.float64)


def _gemm(x: Array, w: Array) -> Float:
    product: Float = (x @ w.astype(x.dtype).T).astype(np.float32)
    return product


def _conv(
    x: Array,
    w: Array,
    *,
    channels: int,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int,
    pad_value: int,
) -> Float:
    """Cross-correlates x [N, C, H, W] with w [O, kh, kw, C / group]."""
    top, left, bottom, right = pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=pad_value)
    out_channels, kh, kw, group_channels = w.shape
    extent = ((kh - 1) * dilations[0] + 1, (kw - 1) * dilations[1] + 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, extent, axis=(2, 3))
    taps = windows[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]
    batch, _, height, width = taps.shape[:4]
    # [group, N * Ho * Wo, kh * kw * C / group]: one matrix product per group
    columns = taps.reshape(batch, group, group_channels, height, width, kh, kw)
    columns = columns.transpose(1, 0, 3, 4, 5, 6, 2).reshape(group, -1, kh * kw * group_channels)
    filters = w.reshape(group, out_channels // group, -1)
    acc: Float = (columns @ filters.astype(x.dtype).transpose(0, 2, 1)).astype(np.float32)
    acc = acc.reshape(group, batch, height, width, out_channels // group)
    return acc.transpose(1, 0, 4, 2, 3).reshape(batch, out_channels, height, width)


def apply_epilogue(
    acc: Float,
    acc_min: float,
    scale: Float,
    bias: Float,
    residual: Array,
    slope: Float,
    shift: Float,
    threshold: Float,
) -> tuple[Array, Words]:
    """Applies clamp, scale, bias, residual, slope and shift in this order; then thresholds Y."""
    scale, bias, slope, shift, threshold = (
        _per_channel(v, acc.ndim) for v in (scale, bias, slope, shift, threshold)
    )
    low = np.float32(acc_min)
    v = np.where(acc < low, low, acc)  # keeps NaN
    v = v * scale
    v = v + bias
    v = v + (residual.astype(np.float32) if residual.size != 1 else np.float32(residual.item()))
    v = np.where(v >= 0, v, v * slope)
    y = (v + shift).astype(residual.dtype)
    return y, pack_mask(np.moveaxis(y.astype(np.float32) >= threshold, 1, -1))
