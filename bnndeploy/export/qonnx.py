"""The QONNX form: quantizers as BipolarQuant and Quant nodes around float operators.

QONNX is what Brevitas writes and FINN and hls4ml read. Its semantics:
``BipolarQuant(x, s) = where(x / s >= 0, 1, -1) * s`` and
``Quant(x, s, z, bits) = (round(clip(x / s + z, low, high)) - z) * s``.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from bnndeploy.export.graph import (
    add_constant,
    constant,
    insert,
    is_ours,
    rank,
    replace,
    shared_constant,
)
from bnndeploy.export.linear import Linear, read_linear

QONNX_DOMAIN = "qonnx.custom_op.general"

_TERNARY = {"signed": 1, "narrow": 1, "rounding_mode": "ROUND"}


def write_quantizers(graph: ir.Graph) -> None:
    """Turns Sign, Ternary and weights in {-1, 0, +1} into QONNX nodes, in place.

    A Ternary threshold t becomes the scale 2t, because ``round(x / 2t)`` flips at t; the levels
    are divided by 2t again.
    """
    for node in list(graph):
        if is_ours(node, "Sign"):
            quantized = _bipolar(graph, node, node.inputs[0], f"{node.name}", node.outputs[0])
            replace(node.outputs[0], quantized)
            graph.remove(node, safe=True)
        elif is_ours(node, "Ternary"):
            _write_ternary(graph, node)
        else:
            linear = read_linear(node)
            if isinstance(linear, Linear):
                _write_weight(graph, linear)


def _write_ternary(graph: ir.Graph, node: ir.Node) -> None:
    threshold = constant(node.inputs[1])
    assert threshold is not None  # quantizers freeze their thresholds
    shape = (1, -1, *(1,) * ((rank(node.inputs[0]) or 2) - 2))
    twice = (2 * threshold.astype(np.float32)).reshape(shape if threshold.size > 1 else ())
    scale = add_constant(graph, twice, f"{node.name}.scale")
    levels = _quant(graph, node, node.inputs[0], scale, str(node.name), node.outputs[0])
    result = levels
    if np.any(twice != 1):
        divided = insert(
            graph, node, "Div", [levels, scale], name=f"{node.name}/Div", like=node.outputs[0]
        )
        result = divided.outputs[0]
    replace(node.outputs[0], result)
    graph.remove(node, safe=True)


def _write_weight(graph: ir.Graph, linear: Linear) -> None:
    node, weight = linear.node, linear.node.inputs[1]
    assert weight is not None
    if not np.all(np.isin(linear.weight, (-1, 0, 1))):
        return
    name = f"{linear.path}.weight"
    if np.all(linear.weight != 0):
        quantized = _bipolar(graph, node, weight, name, weight)
    else:
        one = shared_constant(graph, np.array(1, np.float32), "quant.one")
        quantized = _quant(graph, node, weight, one, name, weight)
    node.replace_input_with(1, quantized)


def _bipolar(
    graph: ir.Graph, anchor: ir.Node, x: ir.Value | None, name: str, like: ir.Value
) -> ir.Value:
    one = shared_constant(graph, np.array(1, np.float32), "quant.one")
    return insert(
        graph, anchor, "BipolarQuant", [x, one], domain=QONNX_DOMAIN, name=name, like=like
    ).outputs[0]


def _quant(
    graph: ir.Graph,
    anchor: ir.Node,
    x: ir.Value | None,
    scale: ir.Value,
    name: str,
    like: ir.Value,
) -> ir.Value:
    zero, two = (
        shared_constant(graph, np.array(number, np.float32), f"quant.{word}")
        for number, word in ((0, "zero"), (2, "two_bits"))
    )
    return insert(
        graph, anchor, "Quant", [x, scale, zero, two], _TERNARY, domain=QONNX_DOMAIN, name=name,
        like=like,
    ).outputs[0]  # fmt: skip
