"""Turns a packed file back into standard float operators, to measure the two against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from bnndeploy.export.context import Context, run_passes
from bnndeploy.export.finish import finish
from bnndeploy.export.forms import inline_activations
from bnndeploy.export.graph import (
    Array,
    add_constant,
    attribute,
    constant,
    insert,
    is_dead,
    is_op,
    is_ours,
    rank,
    replace,
    shared_constant,
)
from bnndeploy.export.passes.name_values import NameValues
from bnndeploy.export.product import PRODUCTS, Product, bit_channels
from bnndeploy.export.reading import load_model
from bnndeploy.ops.packing import WORD_BITS, unpack_bits, unpack_mask


def expand(model: onnx.ModelProto | str | Path) -> onnx.ModelProto:
    """Returns the same network in ai.onnx operators with float32 weights.

    Bits become floats +1 and -1 in channels-first maps, products Conv and Gemm, epilogues
    Mul, Add, PRelu and Where. The outputs differ from the packed file's in float rounding only.

    Raises:
        ModelFileError: If the file cannot be read.
    """
    loaded = ir.from_proto(load_model(model))
    loaded.functions.clear()
    graph = loaded.graph
    # Asked before anything is replaced: what makes the bits tells how many there are.
    channels = {
        output: bit_channels(output)
        for node in graph
        for output in node.outputs
        if output.dtype == ir.DataType.UINT32
    }
    for node in list(graph):
        if node.outputs[0] in channels:
            if is_op(node, "Reshape"):
                _reshape(graph, node, channels[node.outputs[0]])
            elif is_op(node, "Concat"):
                node.attributes["axis"] = ir.AttrInt64("axis", 1)
            elif is_op(node, "Slice"):
                _slice(graph, node)
        if is_ours(node, "PackBits"):
            _pack(graph, node)
        elif is_ours(node, "MaxPoolBits"):
            _pool(graph, node, channels[node.outputs[0]])
        elif is_ours(node, *PRODUCTS):
            _product(graph, Product(node))
    for node in list(graph):
        if is_ours(node, "UnpackBits"):
            assert node.inputs[0] is not None
            replace(node.outputs[0], node.inputs[0])
            graph.remove(node, safe=True)
    inline_activations(graph)
    for value in (output for node in graph for output in node.outputs):
        if value.dtype == ir.DataType.UINT32:  # words then, floats now
            value.shape, value.type = None, ir.TensorType(ir.DataType.FLOAT)
    run_passes(loaded, [NameValues()], Context())
    return finish(loaded)


def _reshape(graph: ir.Graph, node: ir.Node, channels: int) -> None:
    """Reshapes words between ``[N, 1, 1, Cw]`` and ``[N, Cw]``: the floats have their channels."""
    target = [-1, channels, 1, 1] if rank(node.outputs[0]) == 4 else [-1, channels]
    shape = add_constant(graph, np.array(target, np.int64), f"{node.name}.floats")
    node.replace_input_with(1, shape)


def _slice(graph: ir.Graph, node: ir.Node) -> None:
    """Slices floats where words were sliced: axes by channel, channels in whole words."""
    starts, ends, axes, steps = (np.array(constant(value)) for value in node.inputs[1:])
    last = (rank(node.outputs[0]) or 0) - 1
    words = axes == last
    starts, ends = (np.where(words, n * WORD_BITS, n) for n in (starts, ends))
    moved = np.where(words, 1, np.where(axes > 0, axes + 1, 0))
    for index, numbers in enumerate((starts, ends, moved, steps)):
        operand = add_constant(graph, numbers.astype(np.int64), f"{node.name}.{index}")
        node.replace_input_with(index + 1, operand)


def _pack(graph: ir.Graph, node: ir.Node) -> None:
    x = node.inputs[0]
    sign, threshold = (constant(value) for value in node.inputs[1:])
    assert x is not None
    assert sign is not None
    assert threshold is not None
    axes = rank(x) or 2
    if np.any(sign < 0):
        x = _apply(graph, node, "Mul", x, sign, axes, "sign")
    _replace_bits(graph, node, node.outputs[0], x, threshold, axes)


def _replace_bits(
    graph: ir.Graph, node: ir.Node, bits: ir.Value, x: ir.Value, threshold: Array, axes: int
) -> None:
    """Puts ``Where(x >= threshold, 1, -1)`` in the place of bits."""
    limit = add_constant(graph, _along_channels(threshold, axes), f"{node.name}.limit")
    one, minus_one = (
        shared_constant(graph, np.array(number, np.float32), f"level.{name}")
        for number, name in ((1, "one"), (-1, "minus_one"))
    )
    mask = insert(
        graph, node, "GreaterOrEqual", [x, limit], name=f"{node.name}/mask",
        dtype=ir.DataType.BOOL,
    )  # fmt: skip
    signs = insert(
        graph, node, "Where", [mask.outputs[0], one, minus_one], name=f"{node.name}/signs",
        dtype=ir.DataType.FLOAT,
    )  # fmt: skip
    replace(bits, signs.outputs[0])


def _pool(graph: ir.Graph, node: ir.Node, channels: int) -> None:
    invert = constant(node.inputs[1])
    assert invert is not None
    geometry = {name: attribute(node, name) for name in ("kernel_shape", "strides", "pads")}
    pooled = insert(
        graph, node, "MaxPool", [node.inputs[0]], geometry, name=f"{node.name}/pool",
        dtype=ir.DataType.FLOAT,
    ).outputs[0]  # fmt: skip
    if invert.any():
        flips = np.where(unpack_mask(invert, channels), -1, 1)
        pooled = _apply(graph, node, "Mul", pooled, flips, 4, "invert")
    replace(node.outputs[0], pooled)


def _product(graph: ir.Graph, product: Product) -> None:
    node, axes = product.node, 4 if product.is_conv else 2
    v = _multiply(graph, product)
    if not product.is_neutral("acc_min"):
        v = insert(graph, node, "Relu", [v], name=f"{node.name}/acc", like=product.y).outputs[0]
    for name, op_type in (
        ("scale", "Mul"),
        ("bias", "Add"),
        ("residual", "Add"),
        ("slope", "PRelu"),
        ("shift", "Add"),
    ):
        if product.is_neutral(name):
            continue
        operand = product.operand(name)
        if name == "slope" and not product.vector(name).any():
            v = insert(graph, node, "Relu", [v], name=f"{node.name}/slope", like=v).outputs[0]
        elif constant(operand) is not None:
            v = _apply(graph, node, op_type, v, product.vector(name), axes, name)
        else:
            added = insert(
                graph, node, op_type, [v, operand], name=f"{node.name}/{name}", like=product.y
            )
            v = added.outputs[0]
    if not is_dead(product.y_bits):
        _replace_bits(graph, node, product.y_bits, v, product.vector("threshold"), axes)
    if not is_dead(product.y):
        replace(product.y, v)


def _multiply(graph: ir.Graph, product: Product) -> ir.Value:
    """Adds the Conv or Gemm with float weights, the border before it."""
    node, x = product.node, product.operand("X")
    weight = add_constant(graph, _float_weight(product), f"{node.name}.weight")
    if not product.is_conv:
        return insert(
            graph, node, "Gemm", [x, weight], {"transB": 1}, name=f"{node.name}/Gemm",
            like=product.y,
        ).outputs[0]  # fmt: skip
    geometry: dict[str, Any] = {
        name: attribute(node, name) for name in ("strides", "pads", "dilations", "group")
    }
    level = attribute(node, "pad_value")
    if level != 0 and any(geometry["pads"]):
        top, left, bottom, right = geometry["pads"]
        pads = np.array([0, 0, top, left, 0, 0, bottom, right], np.int64)
        border = [
            add_constant(graph, pads, f"{node.name}.pads"),
            add_constant(graph, np.array(level, np.float32), f"{node.name}.pad_value"),
        ]
        padded = insert(
            graph, node, "Pad", [x, *border], {"mode": "constant"}, name=f"{node.name}/Pad",
            dtype=ir.DataType.FLOAT,
        )  # fmt: skip
        x = padded.outputs[0]
        geometry["pads"] = [0, 0, 0, 0]
    return insert(
        graph, node, "Conv", [x, weight], geometry, name=f"{node.name}/Conv", like=product.y
    ).outputs[0]


def _float_weight(product: Product) -> Array:
    """Returns the weights as floats, ternary ones with their scales: ``[O, K]`` or OIHW."""
    words = constant(product.operand("W"))
    assert words is not None
    kernel = words.shape[-3:-1]
    depth = product.depth // (int(np.prod(kernel)) if product.is_conv else 1)
    if product.node.op_type.startswith("Ternary"):
        positive, negative = unpack_mask(words, depth).astype(np.float32)
        w_pos, w_neg = (
            product.vector(name).reshape(-1, *(1,) * (positive.ndim - 1))
            for name in ("w_pos", "w_neg")
        )
        weight = positive * w_pos - negative * w_neg
    else:
        weight = unpack_bits(words, depth)
    return np.moveaxis(weight, -1, 1) if product.is_conv else weight


def _apply(
    graph: ir.Graph,
    node: ir.Node,
    op_type: str,
    x: ir.Value,
    vector: Array,
    axes: int,
    name: str,
) -> ir.Value:
    operand = add_constant(graph, _along_channels(vector, axes), f"{node.name}.{name}")
    return insert(
        graph, node, op_type, [x, operand], name=f"{node.name}/{name}", dtype=ir.DataType.FLOAT
    ).outputs[0]


def _along_channels(vector: Array, axes: int) -> Array:
    return np.asarray(vector, np.float32).reshape(-1, *(1,) * (axes - 2))
