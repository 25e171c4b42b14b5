"""Finds signs that a foreign graph spells out in standard operators."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    Array,
    add_constant,
    channel_vector,
    constant,
    insert,
    is_op,
    rank,
    replace,
)
from bnndeploy.ops.names import DOMAIN


class RecogniseSigns:
    """Reads comparisons that choose between levels as Sign and Ternary.

    1. ``Where(x >= 0, 1, -1)``: Sign(x). ``Where(x >= 0, a, b)`` with other levels: the sign
       scaled and shifted.
    2. ``Where(x < 0, -1, 1)`` differs from Sign for NaN only and is read as it.
    3. ``Where(x > t, 1, Where(x < -t, -1, 0))``: Ternary(x, t).
    """

    name = "recognise-signs"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            if is_op(node, "Where"):
                if self._ternary(graph, node):
                    context.fired(self.name, node, "Ternary")
                elif self._sign(graph, node):
                    context.fired(self.name, node, "Sign")

    def _sign(self, graph: ir.Graph, node: ir.Node) -> bool:
        mask, high, low = node.inputs
        levels = [_scalar(value) for value in (high, low)]
        compared = _comparison(mask, ("GreaterOrEqual", "Less"))
        if compared is None or levels[0] is None or levels[1] is None:
            return False
        op_type, x, limit = compared
        if np.any(limit != 0):
            return False
        up, down = levels if op_type == "GreaterOrEqual" else reversed(levels)
        assert up is not None
        assert down is not None
        sign = insert(
            graph, node, "Sign", [x], domain=DOMAIN, name=f"{node.name}.sign",
            like=node.outputs[0],
        ).outputs[0]  # fmt: skip
        for operation, number, neutral in (
            ("Mul", (up - down) / 2, 1),
            ("Add", (up + down) / 2, 0),
        ):
            if number != neutral:
                operand = add_constant(graph, np.array(number, np.float32), f"{node.name}.level")
                sign = insert(
                    graph, node, operation, [sign, operand], name=f"{node.name}/{operation}",
                    like=node.outputs[0],
                ).outputs[0]  # fmt: skip
        replace(node.outputs[0], sign)
        return True

    def _ternary(self, graph: ir.Graph, node: ir.Node) -> bool:
        inner = node.inputs[2].producer() if node.inputs[2] is not None else None
        if not is_op(inner, "Where") or inner is None:
            return False
        levels = [_scalar(value) for value in (node.inputs[1], *inner.inputs[1:])]
        above = _comparison(node.inputs[0], ("Greater",))
        below = _comparison(inner.inputs[0], ("Less",))
        if levels != [1, -1, 0] or above is None or below is None or above[1] is not below[1]:
            return False
        threshold = channel_vector(above[2], rank(above[1]) or above[2].ndim)
        if threshold is None or not np.array_equal(above[2], -below[2]):
            return False
        limit = add_constant(graph, threshold, f"{node.name}.threshold")
        ternary = insert(
            graph, node, "Ternary", [above[1], limit], domain=DOMAIN, name=node.name,
            like=node.outputs[0],
        )  # fmt: skip
        replace(node.outputs[0], ternary.outputs[0])
        return True


def _comparison(
    mask: ir.Value | None, op_types: tuple[str, ...]
) -> tuple[str, ir.Value, Array] | None:
    """Reads ``compare(x, constant)``."""
    node = mask.producer() if mask is not None else None
    if node is None or not is_op(node, *op_types) or node.inputs[0] is None:
        return None
    limit = constant(node.inputs[1])
    return None if limit is None else (node.op_type, node.inputs[0], limit)


def _scalar(value: ir.Value | None) -> float | None:
    array = constant(value)
    return None if array is None or array.size != 1 else float(array.item())
