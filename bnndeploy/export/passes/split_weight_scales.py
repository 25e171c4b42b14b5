"""Separates the scales of binary and ternary weights from their codes."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import Array, Float, add_constant, attribute, insert, replace
from bnndeploy.export.linear import Linear, read_linear
from bnndeploy.export.passes.pack_products import add_bias


class SplitWeightScales:
    """Writes ``product(x, s * codes)`` as ``product(x, codes) * s``, for imported graphs.

    1. Each output channel has weights of one magnitude s (and zeros).
    2. Magnitudes p of positive and n of negative weights differ:
       ``product(x, P) * p - product(x, N) * n``.

    Our own layers multiply in this order already. For others the result differs in rounding.
    It declines where each channel has one weight only: any real number is then a scale.
    """

    name = "split-weight-scales"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            linear = read_linear(node)
            if not isinstance(linear, Linear) or np.isin(linear.weight, (-1, 0, 1)).all():
                continue
            rows = linear.weight.reshape(len(linear.weight), -1)
            scales = [_magnitude(np.maximum(sign * rows, 0)) for sign in (1, -1)]
            if rows.shape[1] == 1 or scales[0] is None or scales[1] is None:
                context.declined(self.name, node, "its weights are real")
                continue
            _split(graph, linear, scales[0], scales[1])
            kind = "one scale" if _same(scales[0], scales[1]) else "two scales"
            context.fired(self.name, node, f"{kind} a channel")


def _magnitude(rows: Array) -> Float | None:
    """Returns the one positive value of each row (0 for a row of zeros), None if there are two."""
    highest = rows.max(axis=1)
    lowest = np.where(rows > 0, rows, highest[:, None]).min(axis=1)
    return highest.astype(np.float32) if np.array_equal(highest, lowest) else None


def _same(positive: Float, negative: Float) -> bool:
    """Says whether positive and negative weights share their scale wherever both occur."""
    return bool(np.all((positive == negative) | (positive == 0) | (negative == 0)))


def _split(graph: ir.Graph, linear: Linear, positive: Float, negative: Float) -> None:
    codes = np.sign(linear.weight).astype(np.float32)
    node, y = linear.node, linear.node.outputs[0]
    if _same(positive, negative):
        result = _scaled(graph, linear, codes, np.maximum(positive, negative), "codes")
    else:
        plus = _scaled(graph, linear, (codes > 0).astype(np.float32), positive, "positive")
        minus = _scaled(graph, linear, (codes < 0).astype(np.float32), negative, "negative")
        result = insert(
            graph, node, "Sub", [plus, minus], name=f"{linear.path}/Sub", like=y
        ).outputs[0]
    replace(y, add_bias(graph, linear, result, y))
    graph.remove(node, safe=True)


def _scaled(graph: ir.Graph, linear: Linear, codes: Array, scale: Float, name: str) -> ir.Value:
    node, y = linear.node, linear.node.outputs[0]
    weight = add_constant(graph, _as_stored(linear, codes), f"{linear.path}.{name}")
    product = insert(
        graph, node, node.op_type, [linear.data, weight],
        {key: attr.value for key, attr in node.attributes.items()},
        name=node.name, like=y,
    ).outputs[0]  # fmt: skip
    scale = scale[:1] if np.all(scale == scale[0]) else scale
    if np.all(scale == 1):
        return product
    shape = (-1, 1, 1) if linear.is_conv else (-1,)
    operand = add_constant(graph, scale.reshape(shape), f"{linear.path}.{name}.scale")
    return insert(
        graph, node, "Mul", [product, operand], name=f"{linear.path}/Mul", like=y
    ).outputs[0]


def _as_stored(linear: Linear, codes: Array) -> Array:
    """Returns ``[O, K]`` codes in the orientation of the node's own weight."""
    stored_as_rows = linear.is_conv or bool(attribute(linear.node, "transB", 0))
    return codes if stored_as_rows else np.ascontiguousarray(codes.T)
