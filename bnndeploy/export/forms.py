"""The forms of a file that are made from the traced graph by rewriting single nodes."""

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


def inline_activations(graph: ir.Graph) -> None:
    """Replaces Sign and Ternary by the standard operators that they stand for."""
    for node in list(graph):
        if is_ours(node, "Sign"):
            inline_sign(graph, node)
        elif is_ours(node, "Ternary"):
            inline_ternary(graph, node)


def inline_sign(graph: ir.Graph, node: ir.Node) -> None:
    """Writes ``Sign(x)`` as ``Where(x >= 0, 1, -1)``."""
    x = node.inputs[0]
    zero, one, minus_one = (
        shared_constant(graph, np.array(number, np.float32), f"level.{name}")
        for number, name in ((0, "zero"), (1, "one"), (-1, "minus_one"))
    )
    mask = insert(
        graph, node, "GreaterOrEqual", [x, zero], name=f"{node.name}/mask", like=node.outputs[0],
        dtype=ir.DataType.BOOL,
    )  # fmt: skip
    result = insert(
        graph, node, "Where", [mask.outputs[0], one, minus_one], name=node.name,
        like=node.outputs[0],
    )  # fmt: skip
    replace(node.outputs[0], result.outputs[0])
    graph.remove(node, safe=True)


def inline_ternary(graph: ir.Graph, node: ir.Node) -> None:
    """Writes ``Ternary(x, t)`` as ``Where(x > t, 1, Where(x < -t, -1, 0))``."""
    x = node.inputs[0]
    threshold = constant(node.inputs[1])
    assert threshold is not None  # quantizers freeze their thresholds
    shaped = threshold.astype(np.float32).reshape(1, -1, *(1,) * ((rank(x) or 2) - 2))
    upper, lower = (
        add_constant(graph, np.asarray(sign * shaped, np.float32), f"{node.name}.{side}")
        for sign, side in ((1, "upper"), (-1, "lower"))
    )
    levels = {
        number: shared_constant(graph, np.array(number, np.float32), f"level.{name}")
        for number, name in ((0, "zero"), (1, "one"), (-1, "minus_one"))
    }
    result = levels[0]
    for op_type, limit, level in (("Less", lower, -1), ("Greater", upper, 1)):
        mask = insert(
            graph, node, op_type, [x, limit], name=f"{node.name}/{op_type}",
            like=node.outputs[0], dtype=ir.DataType.BOOL,
        )  # fmt: skip
        result = insert(
            graph, node, "Where", [mask.outputs[0], levels[level], result],
            name=node.name if level == 1 else f"{node.name}/low", like=node.outputs[0],
        ).outputs[0]  # fmt: skip
    replace(node.outputs[0], result)
    graph.remove(node, safe=True)
