"""Checks that inputs and attributes fit an operator, before the oracle computes with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnndeploy.errors import OperatorError
from bnndeploy.ops.names import SIGNATURES
from bnndeploy.ops.packing import WORD_BITS, word_count

Array = NDArray[Any]

MAX_K = 1 << 24
"""Sums of this many +-1 values are exact in float32."""

_FLOATS = (np.dtype(np.float32), np.dtype(np.float16))
_FLOAT32 = (np.dtype(np.float32),)
_WORDS = (np.dtype(np.uint32),)


def check(op_type: str, inputs: Sequence[Array], attributes: Mapping[str, Any]) -> None:
    """Refuses what the operator does not accept.

    Raises:
        OperatorError: If the operator is unknown, or the number, type, rank or size of an input
            or the value of an attribute is wrong.
    """
    if op_type not in SIGNATURES:
        raise OperatorError(f"operator {op_type!r} is unknown; known: {', '.join(SIGNATURES)}")
    signature = SIGNATURES[op_type]
    if len(inputs) != len(signature.inputs) or set(attributes) != set(signature.attributes):
        raise OperatorError(
            f"{op_type}: got {len(inputs)} inputs and attributes {sorted(attributes)}, expected "
            f"inputs {signature.inputs} and attributes {sorted(signature.attributes)}"
        )
    named = dict(zip(signature.inputs, map(np.asarray, inputs), strict=True))
    _CHECKS[op_type](_Node(op_type, named, attributes))


class _Node:
    """One node under test; its methods refuse with the operator and the input in the message."""

    def __init__(self, op: str, inputs: dict[str, Array], attributes: Mapping[str, Any]) -> None:
        self.op, self.inputs, self.attributes = op, inputs, attributes

    def require(self, holds: bool, subject: str, got: object, expected: object) -> None:
        if not holds:
            raise OperatorError(f"{self.op}: {subject}: got {got}, expected {expected}")

    def array(self, name: str, types: Sequence[np.dtype[Any]], min_rank: int, max_rank: int) -> Any:
        """Returns the shape of an input after checking its type and rank."""
        value = self.inputs[name]
        known = " or ".join(map(str, types))
        self.require(value.dtype in types, f"type of {name}", value.dtype, known)
        ranks = f"{min_rank}" if min_rank == max_rank else f"at least {min_rank}"
        self.require(min_rank <= value.ndim <= max_rank, f"rank of {name}", value.ndim, ranks)
        return value.shape

    def vector(self, name: str, channels: int) -> None:
        (length,) = self.array(name, _FLOAT32, 1, 1)
        self.require(length in (1, channels), f"length of {name}", length, f"1 or {channels}")

    def words(self, name: str, got: int, bits: int) -> None:
        want = word_count(bits)
        self.require(got == want, f"words of {name}", got, f"{want} for {bits} bits")

    def numbers(self, name: str, count: int, low: int) -> list[int]:
        values = list(self.attributes[name])
        fits = len(values) == count and min(values) >= low
        self.require(fits, name, values, f"{count} integers of at least {low}")
        return values

    def number(self, name: str, low: int, high: int) -> int:
        value = int(self.attributes[name])
        self.require(low <= value <= high, name, value, f"{low} to {high}")
        return value

    def pad_bits(self, name: str, length: int) -> None:
        """Kernels rely on zero pad bits in constant weights."""
        used = length % WORD_BITS
        stray = used and np.any(self.inputs[name][..., -1] >> np.uint32(used))
        self.require(not stray, f"pad bits of {name}", "a bit that is set", "only zeros")


_ANY_RANK = 64


def _check_sign(node: _Node) -> None:
    node.array("X", _FLOATS, 0, _ANY_RANK)


def _check_channel_op(node: _Node, *vectors: str) -> None:
    shape = node.array("X", _FLOATS, 2, _ANY_RANK)
    for name in vectors:
        node.vector(name, shape[1])


def _check_unpack_bits(node: _Node) -> None:
    shape = node.array("B", _WORDS, 2, _ANY_RANK)
    node.words("B", shape[-1], node.number("channels", 1, MAX_K))


def _check_max_pool_bits(node: _Node) -> None:
    shape = node.array("B", _WORDS, 4, 4)
    (length,) = node.array("invert", _WORDS, 1, 1)
    node.require(length == shape[3], "length of invert", length, shape[3])
    kernel = node.numbers("kernel_shape", 2, 1)
    _output_size(node, shape[1:3], kernel, node.numbers("strides", 2, 1), (1, 1))


def _check_gemm(node: _Node, planes: int) -> None:
    k = node.number("k", 1, MAX_K)
    shape = node.array("X", (*_WORDS, *_FLOATS), 2, 2)
    if node.inputs["X"].dtype == np.uint32:
        node.words("X", shape[1], k)
    else:
        node.require(shape[1] == k, "columns of X", shape[1], f"k = {k}")
    rows = _weight(node, planes, 2, k)[0]
    _epilogue(node, planes, rows, (shape[0], rows))


def _check_conv(node: _Node, planes: int) -> None:
    channels = node.number("channels", 1, MAX_K)
    group = node.number("group", 1, channels)
    node.require(channels % group == 0, "group", group, f"a divisor of channels = {channels}")
    node.number("pad_value", -1, 1)
    shape = node.array("X", (*_WORDS, *_FLOATS), 4, 4)
    packed = node.inputs["X"].dtype == np.uint32
    image = shape[1:3] if packed else shape[2:4]
    if packed:
        node.words("X", shape[3], channels)
    else:
        node.require(shape[1] == channels, "channels of X", shape[1], f"channels = {channels}")
    filters, *kernel, _ = _weight(node, planes, 4, channels // group)
    node.require(filters % group == 0, "filters of W", filters, f"a multiple of group = {group}")
    depth = math.prod(kernel) * channels // group
    node.require(depth <= MAX_K, "depth of one sum", depth, f"at most {MAX_K}")
    strides, dilations = node.numbers("strides", 2, 1), node.numbers("dilations", 2, 1)
    size = _output_size(node, image, kernel, strides, dilations)
    _epilogue(node, planes, filters, (shape[0], filters, *size))


def _weight(node: _Node, planes: int, rank: int, length: int) -> tuple[int, ...]:
    """Returns the shape of W without its planes."""
    rank += planes > 1
    shape: tuple[int, ...] = node.array("W", _WORDS, rank, rank)
    if planes > 1:
        node.require(shape[0] == planes, "planes of W", shape[0], planes)
        shape = shape[1:]
    node.words("W", shape[-1], length)
    node.pad_bits("W", length)
    return shape


def _output_size(
    node: _Node,
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[int, ...]:
    pads = node.numbers("pads", 4, 0)
    result = []
    for axis, name in enumerate(("height", "width")):
        padded = size[axis] + pads[axis] + pads[axis + 2]
        extent = (kernel[axis] - 1) * dilations[axis] + 1
        node.require(extent <= padded, f"padded {name} of the input", padded, f">= {extent}")
        result.append((padded - extent) // strides[axis] + 1)
    return tuple(result)


def _epilogue(node: _Node, planes: int, channels: int, output: tuple[int, ...]) -> None:
    scales = ("w_pos", "w_neg") if planes > 1 else ()
    for name in (*scales, "scale", "bias", "slope", "shift", "threshold"):
        node.vector(name, channels)
    residual = node.inputs["residual"]
    node.require(
        residual.dtype in _FLOATS, "type of residual", residual.dtype, "float32 or float16"
    )
    fits = residual.size == 1 or residual.shape == output
    node.require(fits, "shape of residual", residual.shape, f"one element or {output}")
    x_type = node.inputs["X"].dtype
    same = x_type == np.uint32 or x_type == residual.dtype
    node.require(same, "type of residual", residual.dtype, f"that of X, {x_type}")


_CHECKS: dict[str, Callable[[_Node], None]] = {
    "Sign": _check_sign,
    "Ternary": lambda node: _check_channel_op(node, "threshold"),
    "PackBits": lambda node: _check_channel_op(node, "sign", "threshold"),
    "UnpackBits": _check_unpack_bits,
    "XnorGemm": lambda node: _check_gemm(node, 1),
    "XnorConv": lambda node: _check_conv(node, 1),
    "TernaryGemm": lambda node: _check_gemm(node, 2),
    "TernaryConv": lambda node: _check_conv(node, 2),
    "MaxPoolBits": _check_max_pool_bits,
}
