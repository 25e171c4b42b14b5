"""The QONNX form: quantizers as BipolarQuant and Quant nodes around float operators.

QONNX is what Brevitas writes and FINN and hls4ml read. Its semantics:
``BipolarQuant(x, s) = where(x / s >= 0, 1, -1) * s`` and
``Quant(x, s, z, bits) = (round(clip(x / s + z, low, high)) - z) * s``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from bnndeploy.export.graph import (
    add_constant,
    constant,
    insert,
    is_op,
    is_ours,
    rank,
    replace,
    shared_constant,
)
from bnndeploy.export.linear import Linear, read_linear
from bnndeploy.export.steps import Steps, read_steps, scalar_operand

QONNX_DOMAIN = "qonnx.custom_op.general"


@dataclass(frozen=True)
class _Width:
    """The levels of a Quant node."""

    bits: int
    signed: bool
    narrow: bool

    @property
    def levels(self) -> tuple[int, int]:
        """The least and the greatest."""
        if not self.signed:
            return 0, 2**self.bits - 1 - self.narrow
        return -(2 ** (self.bits - 1)) + self.narrow, 2 ** (self.bits - 1) - 1


_TERNARY = _Width(2, signed=True, narrow=True)


def write_quantizers(graph: ir.Graph) -> None:
    """Turns Sign, Ternary, k-bit steps and weights in {-1, 0, +1} into QONNX nodes, in place.

    A Ternary threshold t becomes the scale 2t, because ``round(x / 2t)`` flips at t; the levels
    are divided by 2t again. Activations of k bits, ``round(n clip(x, 0, 1)) / n``, become
    ``Quant(n x) / n`` of scale 1, which rounds the same numbers; a scale of 1/n would not.
    """
    for node in list(graph):
        if is_ours(node, "Sign"):
            quantized = _bipolar(graph, node, node.inputs[0], f"{node.name}", node.outputs[0])
            replace(node.outputs[0], quantized)
            graph.remove(node, safe=True)
        elif is_ours(node, "Ternary"):
            _write_ternary(graph, node)
        elif is_op(node, "Round"):
            _write_steps(graph, node)
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
    levels = _quant(graph, node, node.inputs[0], scale, str(node.name), node.outputs[0], _TERNARY)
    result = levels
    if np.any(twice != 1):
        divided = insert(
            graph, node, "Div", [levels, scale], name=f"{node.name}/Div", like=node.outputs[0]
        )
        result = divided.outputs[0]
    replace(node.outputs[0], result)
    graph.remove(node, safe=True)


def _write_steps(graph: ir.Graph, node: ir.Node) -> None:
    """Writes ``round(n clip(x, 0, 1))`` as ``Quant(n x)``, ``round(clip(z))`` as ``Quant(z)``."""
    like = node.outputs[0]
    steps = read_steps(like)
    width = None if steps is None else _width(steps)
    if steps is None or width is None:
        return
    multiplied = scalar_operand(steps.inner, "Mul")
    clip = (steps.inner if multiplied is None else multiplied[0]).producer()
    assert clip is not None  # read_steps found it
    x = clip.inputs[0]
    if multiplied is not None:
        number = add_constant(graph, np.array(multiplied[1], np.float32), f"{node.name}.steps")
        x = insert(
            graph, node, "Mul", [x, number], name=f"{node.name}/Mul", like=like
        ).outputs[0]  # fmt: skip
    one = shared_constant(graph, np.array(1, np.float32), "quant.one")
    replace(like, _quant(graph, node, x, one, str(node.name), like, width))
    graph.remove(node, safe=True)


def _width(steps: Steps) -> _Width | None:
    """Returns the width whose levels are those of ``steps``."""
    for signed, narrow in ((False, False), (True, False), (True, True)):
        width = _Width(steps.bits, signed, narrow)
        if width.levels == (steps.low, steps.high):
            return width
    return None


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
        quantized = _quant(graph, node, weight, one, name, weight, _TERNARY)
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
    width: _Width,
) -> ir.Value:
    zero, bits = (
        shared_constant(graph, np.array(number, np.float32), f"quant.{word}")
        for number, word in ((0, "zero"), (width.bits, f"bits_{width.bits}"))
    )
    attributes = {
        "signed": int(width.signed), "narrow": int(width.narrow), "rounding_mode": "ROUND",
    }  # fmt: skip
    return insert(
        graph, anchor, "Quant", [x, scale, zero, bits], attributes, domain=QONNX_DOMAIN,
        name=name, like=like,
    ).outputs[0]  # fmt: skip
