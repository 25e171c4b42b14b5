"""Turns products with binary or ternary weights into our operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    Array,
    Float,
    add_constant,
    attribute,
    constant,
    dims,
    insert,
    is_op,
    replace,
    static_dim,
)
from bnndeploy.export.linear import Linear, read_linear
from bnndeploy.export.passes.lower_unpacking import bits_of, is_unpacked
from bnndeploy.export.passes.raise_signs import is_flatten_of_map
from bnndeploy.export.product import insert_product
from bnndeploy.ops.packing import WORD_BITS

MAX_DEPTH = 1 << 24


class PackProducts:
    """Replaces Conv, Gemm and MatMul whose weights are codes by XnorConv, XnorGemm, Ternary….

    1. Weights all +1 or -1: Xnor…; with zeros: Ternary….
    2. An unpacked input is taken as bits, another one as floats.
    3. A Pad in front with a constant -1, 0 or +1 becomes pads and pad_value.
    4. Flatten + linear after a packed map: a convolution whose kernel is the map.
    5. A bias becomes an Add, for the epilogue.

    It declines real weights, and convolutions of bits whose groups do not fill words.
    """

    name = "pack-products"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            linear = read_linear(node)
            if linear is None:
                continue
            if isinstance(linear, str):
                context.declined(self.name, node, linear)
            elif not np.all(np.isin(linear.weight, (-1, 0, 1))):
                context.declined(self.name, node, "its weights are real")
            else:
                reason = lower(graph, linear, linear.weight)
                if reason is None:
                    context.fired(self.name, node, _describe(linear))
                else:
                    context.declined(self.name, node, reason)


def lower(
    graph: ir.Graph,
    linear: Linear,
    codes: Array,
    weight_scales: tuple[Float, Float] | None = None,
    result: ir.Value | None = None,
) -> str | None:
    """Replaces ``result`` (default: the node's output) by a product with ``codes``.

    Returns why it cannot, or None when done.
    """
    result = linear.node.outputs[0] if result is None else result
    if linear.is_conv:
        return _lower_conv(graph, linear, codes, weight_scales, result)
    if codes.shape[1] > MAX_DEPTH:
        return f"its depth {codes.shape[1]} is above 2^24"
    flatten = linear.data.producer()
    if flatten is not None and is_flatten_of_map(flatten) and is_unpacked(flatten.inputs[0]):
        return _lower_flattened(graph, linear, codes, weight_scales, result, flatten)
    x = bits_of(linear.data)[0] if is_unpacked(linear.data) else linear.data
    product = insert_product(
        graph, linear.node, "Gemm", x, codes, {"k": codes.shape[1]},
        name=linear.path, like=result, weight_scales=weight_scales,
    )  # fmt: skip
    replace(result, add_bias(graph, linear, product.y, result))
    return None


def _lower_conv(
    graph: ir.Graph,
    linear: Linear,
    codes: Array,
    weight_scales: tuple[Float, Float] | None,
    result: ir.Value,
) -> str | None:
    geometry = dict(linear.geometry)
    data, pads, pad_value = skip_pad(linear.data, geometry["pads"])
    channels = codes.shape[1] * geometry["group"]
    depth = int(np.prod(codes.shape[1:]))
    if depth > MAX_DEPTH:
        return f"its depth {depth} is above 2^24"
    x = bits_of(data)[0] if is_unpacked(data) else data
    if geometry["group"] > 1 and codes.shape[1] % WORD_BITS:
        return (
            f"its {geometry['group']} groups have {codes.shape[1]} channels each, "
            f"not a multiple of {WORD_BITS}"
        )
    product = insert_product(
        graph, linear.node, "Conv", x, codes.transpose(0, 2, 3, 1),
        {"channels": channels, **geometry, "pads": pads, "pad_value": pad_value},
        name=linear.path, like=result, weight_scales=weight_scales,
    )  # fmt: skip
    replace(result, add_bias(graph, linear, product.y, result))
    return None


def _lower_flattened(
    graph: ir.Graph,
    linear: Linear,
    codes: Array,
    weight_scales: tuple[Float, Float] | None,
    result: ir.Value,
    flatten: ir.Node,
) -> str | None:
    bits, channels = bits_of(flatten.inputs[0])
    height, width = (static_dim(flatten.inputs[0], axis) for axis in (2, 3))
    assert height is not None
    assert width is not None
    kernel = codes.reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
    shape = dims(result)
    assert shape is not None
    like = ir.Value(shape=ir.Shape([*shape, 1, 1]), type=result.type)
    attributes: dict[str, Any] = {
        "channels": channels, "strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1],
        "group": 1, "pad_value": -1,
    }  # fmt: skip
    product = insert_product(
        graph, linear.node, "Conv", bits, kernel, attributes,
        name=linear.path, like=like, weight_scales=weight_scales,
    )  # fmt: skip
    target = np.array([-1, codes.shape[0]], np.int64)
    rows = insert(
        graph, linear.node, "Reshape",
        [product.y, add_constant(graph, target, f"{linear.path}.shape")], {"allowzero": 0},
        name=f"{linear.path}/rows", like=result,
    )  # fmt: skip
    replace(result, add_bias(graph, linear, rows.outputs[0], result))
    return None


def skip_pad(data: ir.Value, pads: list[int]) -> tuple[ir.Value, list[int], int]:
    """Returns the value under a constant Pad, the pads of both, and the pad value."""
    pad = data.producer()
    unpadded = (data, pads, 0 if any(pads) else -1)
    if pad is None or not is_op(pad, "Pad") or attribute(pad, "mode", "constant") != "constant":
        return unpadded
    amounts = constant(pad.inputs[1])
    level = constant(pad.inputs[2]) if len(pad.inputs) > 2 else np.zeros(1)
    if amounts is None or level is None or amounts.size != 8 or len(pad.inputs) > 3:
        return unpadded
    spatial = amounts.reshape(2, 4)[:, 2:].reshape(-1).tolist()
    value = float(level.item())
    only_spatial = not amounts.reshape(2, 4)[:, :2].any() and min(spatial) >= 0
    if not only_spatial or value not in (-1, 0, 1) or (any(pads) and value != 0):
        return unpadded
    assert pad.inputs[0] is not None
    total = [a + b for a, b in zip(spatial, pads, strict=True)]
    return pad.inputs[0], total, int(value)


def add_bias(graph: ir.Graph, linear: Linear, y: ir.Value, like: ir.Value) -> ir.Value:
    """Adds the bias of a product as a node of its own, where it has one."""
    if linear.bias is None:
        return y
    bias = linear.bias.reshape(-1, 1, 1) if linear.is_conv else linear.bias
    operand = add_constant(graph, bias.astype(np.float32), f"{linear.path}.bias")
    added = insert(graph, linear.node, "Add", [y, operand], name=f"{linear.path}/Add", like=like)
    return added.outputs[0]


def _describe(linear: Linear) -> str:
    kind = "ternary" if np.any(linear.weight == 0) else "binary"
    return f"{kind} weights {list(linear.weight.shape)}"
