"""Gives lines a height of one, so that their convolutions become those of maps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    add_constant,
    attribute,
    constant,
    dims,
    insert,
    is_op,
    is_ours,
    rank,
    readers,
    set_attribute,
    shared_constant,
)

_LINE, _MAP = 3, 4  # axes of [N, C, L] and [N, C, 1, L]

_ELEMENTWISE = (
    "Abs", "Add", "And", "Cast", "Clip", "Div", "Equal", "Floor", "Greater", "GreaterOrEqual",
    "HardSwish", "Identity", "LeakyRelu", "Less", "LessOrEqual", "Max", "Min", "Mul", "Neg", "Not",
    "Or", "PRelu", "Relu", "Round", "Sigmoid", "Sqrt", "Sub", "Tanh", "Where",
)  # fmt: skip
_WINDOWS = ("AveragePool", "Conv", "MaxPool")


class WidenLines:
    """Turns values ``[N, C, L]`` into ``[N, C, 1, L]`` where a convolution has codes as weights.

    1. Convolutions and pools: kernel, strides, dilations of 1 and pads of 0 along the new axis.
    2. Elementwise operators, batch-norm, Pad and Concat between them: constants get the axis too.
    3. A Reshape to a matrix reads the map, which has the same order.
    4. Others read a Squeeze.

    Only what touches a convolution with codes is widened: other lines stay as they are.
    """

    name = "widen-lines"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        widened = _around_codes([node for node in graph if _can_widen(node)])
        maps = {value for node in widened for value in node.outputs}
        for node in widened:
            _widen_attributes(graph, node)
            for index, value in enumerate(node.inputs):
                if value is not None and value not in maps:
                    node.replace_input_with(index, _widen(graph, node, value))
            if is_op(node, "Conv"):
                context.fired(self.name, node, "one axis to two")
        for value in maps:
            shape = dims(value)
            assert shape is not None
            value.shape = ir.Shape([*shape[:2], 1, *shape[2:]])
        kept = {*widened, *(node for node in graph if _flattens(node))}
        for node in widened:
            _narrow(graph, node, kept)


def _has_codes(node: ir.Node) -> bool:
    weight = constant(node.inputs[1]) if is_op(node, "Conv") else None
    return weight is not None and weight.ndim == _LINE and bool(np.all(np.isin(weight, (-1, 0, 1))))


def _around_codes(nodes: list[ir.Node]) -> list[ir.Node]:
    """Keeps the convolutions with codes and what is joined to them by values of ``nodes``."""
    able, found = set(nodes), set[ir.Node]()
    pending = [node for node in nodes if _has_codes(node)]
    while pending:
        node = pending.pop()
        if node in found:
            continue
        found.add(node)
        before = (value.producer() for value in node.inputs if value is not None)
        behind = readers(node.outputs[0])
        pending.extend(other for other in (*before, *behind) if other in able)
    return [node for node in nodes if node in found]


def _can_widen(node: ir.Node) -> bool:
    if len(node.outputs) != 1 or rank(node.outputs[0]) != _LINE:
        return False
    if any(
        value is not None and constant(value) is None and rank(value) != _LINE
        for value in node.inputs
    ):
        return False
    if is_op(node, *_WINDOWS):
        return bool(attribute(node, "auto_pad", "NOTSET") == "NOTSET")
    if is_op(node, "Pad"):
        pads = constant(node.inputs[1])
        return len(node.inputs) <= 3 and pads is not None
    known = (*_ELEMENTWISE, "BatchNormalization", "Concat")
    return is_op(node, *known) or is_ours(node, "Sign", "Ternary")


def _flattens(node: ir.Node) -> bool:
    """Says whether a node reads values in order, whatever their axes behind the channels."""
    shape = constant(node.inputs[1]) if is_op(node, "Reshape") else None
    return shape is not None and shape.size <= 2


def _widen_attributes(graph: ir.Graph, node: ir.Node) -> None:
    if is_op(node, *_WINDOWS):
        for name, unit in (("kernel_shape", 1), ("strides", 1), ("dilations", 1)):
            if (value := attribute(node, name)) is not None:
                set_attribute(node, name, [unit, *value])
        if (pads := attribute(node, "pads")) is not None:
            set_attribute(node, "pads", [0, pads[0], 0, pads[1]])
    elif is_op(node, "Pad"):
        pads = constant(node.inputs[1])
        assert pads is not None
        wide = np.insert(pads.reshape(2, _LINE), 2, 0, axis=1).reshape(-1)
        node.replace_input_with(1, add_constant(graph, wide, f"{node.name}.pads"))
    elif is_op(node, "Concat"):
        axis = int(attribute(node, "axis"))
        moved = {2: 3, -2: -3, -3: -4}
        set_attribute(node, "axis", moved.get(axis, axis))


def _widen(graph: ir.Graph, node: ir.Node, value: ir.Value) -> ir.Value:
    """Returns a constant or a line with an axis before its last one."""
    array = constant(value)
    if array is None:
        return insert(
            graph, node, "Unsqueeze", [value, _height(graph)], name=f"{node.name}/Unsqueeze",
            shape=[*(dims(value) or [])[:2], 1, *(dims(value) or [])[2:]], dtype=value.dtype,
        ).outputs[0]  # fmt: skip
    if array.ndim < 2:
        return value
    return add_constant(graph, np.expand_dims(array, -2), f"{value.name}.wide")


def _narrow(graph: ir.Graph, node: ir.Node, kept: Iterable[ir.Node]) -> None:
    """Lets readers that know lines only, and the caller of the graph, read a line."""
    value = node.outputs[0]
    others = [reader for reader in readers(value) if reader not in kept]
    if not others and not value.is_graph_output():
        return
    shape = dims(value)
    assert shape is not None
    line = insert(
        graph, node, "Squeeze", [value, _height(graph)], name=f"{node.name}/Squeeze",
        shape=[*shape[:2], *shape[3:]], dtype=value.dtype, after=True,
    ).outputs[0]  # fmt: skip
    for reader in others:
        for index, read in enumerate(reader.inputs):
            if read is value:
                reader.replace_input_with(index, line)
    if value.is_graph_output():
        line.name, value.name = value.name, f"{value.name}.wide"
        graph.outputs[graph.outputs.index(value)] = line


def _height(graph: ir.Graph) -> ir.Value:
    return shared_constant(graph, np.array([2], np.int64), "height")
