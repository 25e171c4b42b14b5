"""Lets products read signs where the graph feeds them other two-level values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import Array, add_constant, constant, insert, is_op, replace
from bnndeploy.export.linear import Linear, read_linear
from bnndeploy.export.passes.lower_unpacking import is_unpacked
from bnndeploy.export.passes.pack_products import skip_pad


@dataclass(frozen=True)
class Levels:
    """Reads a value as ``gain * signs + offset``."""

    signs: ir.Value
    gain: float
    offset: float


class LowerLevels:
    """Writes ``product(a * s + b)`` as ``product(s) * a + b * sum(weights)``, s being signs.

    1. Levels 0 and 1 (a step function: a and b are 1/2 up to sign): every number is a multiple
       of 1/2, so nothing is rounded.
    2. Scaled signs (b = 0): the scale moves behind the product, which rounds differently.

    The border of a convolution moves too: a border of p is one of ``(p - b) / a`` signs, which
    must be -1, 0 or +1. It declines where it is not.
    """

    name = "lower-levels"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            linear = read_linear(node)
            if not isinstance(linear, Linear) or not np.isin(linear.weight, (-1, 0, 1)).all():
                continue
            data, pads, border = linear.data, [0, 0, 0, 0], 0
            if linear.is_conv:
                data, pads, border = skip_pad(linear.data, linear.geometry["pads"])
            levels = read_levels(data)
            if levels is None:
                continue
            level = (border - levels.offset) / levels.gain
            if any(pads) and level not in (-1, 0, 1):
                reason = f"its border of {border} is none of its levels"
                context.declined(self.name, node, reason)
                continue
            self._lower(graph, linear, levels, pads, int(level))
            text = f"levels {levels.offset - levels.gain:g} and {levels.offset + levels.gain:g}"
            context.fired(self.name, node, text)

    def _lower(
        self, graph: ir.Graph, linear: Linear, levels: Levels, pads: list[int], level: int
    ) -> None:
        node, y = linear.node, linear.node.outputs[0]
        x = levels.signs
        attributes = {name: attr.value for name, attr in node.attributes.items()}
        if linear.is_conv:
            attributes["pads"] = [0, 0, 0, 0]
            if any(pads):
                x = pad_signs(graph, node, x, pads, level)
        product = insert(
            graph, node, node.op_type, [x, node.inputs[1]], attributes, name=node.name, like=y
        ).outputs[0]
        product = _apply(graph, linear, "Mul", product, np.array(levels.gain))
        total = levels.offset * linear.weight.reshape(len(linear.weight), -1).sum(axis=1)
        if linear.bias is not None:
            total = total + linear.bias
        if total.any():
            product = _apply(graph, linear, "Add", product, total)
        replace(y, product)
        graph.remove(node, safe=True)


def read_levels(value: ir.Value) -> Levels | None:
    """Reads scalar Mul, Div, Add and Sub above an unpacked value; None for a bare one too."""
    node = value.producer()
    if node is None or not is_op(node, "Mul", "Div", "Add", "Sub"):
        return None
    left, right = node.inputs
    number, inner, swapped = constant(right), left, False
    if number is None:
        number, inner, swapped = constant(left), right, True
    if number is None or number.size != 1 or inner is None:
        return None
    base = Levels(inner, 1.0, 0.0) if is_unpacked(inner) else read_levels(inner)
    if base is None or (swapped and node.op_type == "Div"):
        return None
    c, a, b = float(number.item()), base.gain, base.offset
    gain, offset = {
        "Mul": (a * c, b * c),
        "Div": (a / c if c else 0.0, b / c if c else 0.0),
        "Add": (a, b + c),
        "Sub": (-a, c - b) if swapped else (a, b - c),
    }[node.op_type]
    return Levels(base.signs, gain, offset) if gain else None


def pad_signs(graph: ir.Graph, node: ir.Node, x: ir.Value, pads: list[int], level: int) -> ir.Value:
    """Surrounds a map of signs with a border."""
    top, left, bottom, right = pads
    amounts = np.array([0, 0, top, left, 0, 0, bottom, right], np.int64)
    operands = [
        add_constant(graph, amounts, f"{node.name}.pads"),
        add_constant(graph, np.array(level, np.float32), f"{node.name}.border"),
    ]
    return insert(
        graph, node, "Pad", [x, *operands], {"mode": "constant"}, name=f"{node.name}/Pad",
        dtype=ir.DataType.FLOAT,
    ).outputs[0]  # fmt: skip


def _apply(graph: ir.Graph, linear: Linear, op_type: str, x: ir.Value, numbers: Array) -> ir.Value:
    vector = numbers.astype(np.float32)
    shaped = vector.reshape(-1, 1, 1) if linear.is_conv and vector.ndim else vector
    operand = add_constant(graph, shaped, f"{linear.path}.{op_type.lower()}")
    return insert(
        graph, linear.node, op_type, [x, operand], name=f"{linear.path}/{op_type}",
        like=linear.node.outputs[0],
    ).outputs[0]  # fmt: skip
