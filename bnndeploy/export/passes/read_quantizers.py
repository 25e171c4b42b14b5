"""Reads the quantizer nodes of QONNX and Brevitas files."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from bnndeploy.errors import ExportError
from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    Array,
    add_constant,
    attribute,
    channel_vector,
    constant,
    insert,
    is_op,
    rank,
    replace,
)
from bnndeploy.ops.names import DOMAIN

DOMAINS = (
    "qonnx.custom_op.general",
    "onnx.brevitas",
    "finn.custom_op.general",
    "qonnx.custom_op.qonnx",
)


class ReadQuantizers:
    """Replaces BipolarQuant, Quant and IntQuant by our operators and constants.

    1. Of a constant: computed.
    2. BipolarQuant, and signed Quant of one bit: Sign, times the scale.
    3. Signed narrow Quant of two bits: Ternary with half the scale as threshold, times the scale.
    4. Unsigned Quant of one bit: levels 0 and 1 from a Sign, times the scale.
    5. Other widths: Div, Clip, Round, Mul.
    6. DequantizeLinear of a constant, and a Relu of that (see int2.py): computed.

    Raises:
        ExportError: For a zero point, a rounding mode or a quantizer that none of these is.
    """

    name = "read-quantizers"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            if is_op(node, "DequantizeLinear", "Relu"):
                if _fold(graph, node):
                    context.fired(self.name, node, "weights computed")
                continue
            if node.domain not in DOMAINS:
                continue
            reader = _READERS.get(node.op_type)
            if reader is None:
                raise ExportError(
                    f"{node.name}: got operator {node.domain}.{node.op_type}, expected "
                    f"{', '.join(_READERS)}; export the model without it"
                )
            reader(graph, node)
            context.fired(self.name, node, node.op_type)


def _fold(graph: ir.Graph, node: ir.Node) -> bool:
    """Computes ``(x - zero) * scale``, or a Relu, where its inputs are constants."""
    arrays = [constant(value) for value in node.inputs]
    if any(array is None for array in arrays) or attribute(node, "block_size", 0):
        return False
    x, *rest = (np.asarray(array, np.float32) for array in arrays)
    if is_op(node, "Relu"):
        _finish_constant(graph, node, np.maximum(x, 0))
        return True
    along = [1] * x.ndim
    if x.ndim:
        along[attribute(node, "axis", 1)] = -1
    scale, *zero = (a if a.ndim == 0 else a.reshape(along) for a in rest)
    _finish_constant(graph, node, (x - zero[0] if zero else x) * scale)
    return True


def _bipolar(graph: ir.Graph, node: ir.Node) -> None:
    x, scale = node.inputs[0], _scale(node)
    array = constant(x)
    if array is not None:
        _finish_constant(graph, node, np.where(array / scale >= 0, 1, -1) * scale)
        return
    _finish(graph, node, _add(graph, node, "Sign", [x], domain=DOMAIN), scale)


def _quant(graph: ir.Graph, node: ir.Node) -> None:
    scale = _scale(node)
    zero, bits = (constant(value) for value in node.inputs[2:4])
    rounding = str(attribute(node, "rounding_mode", "ROUND")).upper()
    if zero is None or bits is None or np.any(zero != 0) or rounding not in ("ROUND", "HALF_EVEN"):
        raise ExportError(
            f"{node.name}: got a zero point {zero}, bit width {bits} and rounding {rounding}, "
            "expected zero point 0, a constant width and ROUND; quantise without an offset"
        )
    width = int(bits.item())
    signed, narrow = bool(attribute(node, "signed", 1)), bool(attribute(node, "narrow", 0))
    if width == 1 and signed:
        _bipolar(graph, node)
        return
    high = 2 ** (width - 1) - 1 if signed else 2**width - 1 - narrow
    low = -(2 ** (width - 1)) + narrow if signed else 0
    array = constant(node.inputs[0])
    if array is not None:
        levels = np.round(np.clip((array / scale).astype(np.float32), low, high))
        _finish_constant(graph, node, levels * scale)
    elif (low, high) == (-1, 1):
        _ternary(graph, node, scale)
    elif (low, high) == (0, 1):
        _step(graph, node, scale)
    else:
        _levels(graph, node, scale, low, high)


def _ternary(graph: ir.Graph, node: ir.Node, scale: Array) -> None:
    vector = channel_vector(scale / 2, rank(node.inputs[0]) or scale.ndim)
    if vector is None:
        _levels(graph, node, scale, -1, 1)
        return
    threshold = add_constant(graph, vector, f"{node.name}.threshold")
    ternary = _add(graph, node, "Ternary", [node.inputs[0], threshold], domain=DOMAIN)
    _finish(graph, node, ternary, scale)


def _step(graph: ir.Graph, node: ir.Node, scale: Array) -> None:
    """Writes 1 where ``x / scale > 1/2`` as ``(1 - Sign(1/2 - x / scale)) / 2``."""
    half = add_constant(graph, np.array(0.5, np.float32), f"{node.name}.half")
    ratio = _divide(graph, node, scale)
    sign = _add(graph, node, "Sign", [_add(graph, node, "Sub", [half, ratio])], domain=DOMAIN)
    halved = _add(graph, node, "Mul", [sign, half])
    _finish(graph, node, _add(graph, node, "Sub", [half, halved]), scale)


def _levels(graph: ir.Graph, node: ir.Node, scale: Array, low: int, high: int) -> None:
    bounds = [
        add_constant(graph, np.array(bound, np.float32), f"{node.name}.{name}")
        for name, bound in (("low", low), ("high", high))
    ]
    clipped = _add(graph, node, "Clip", [_divide(graph, node, scale), *bounds])
    _finish(graph, node, _add(graph, node, "Round", [clipped]), scale)


def _divide(graph: ir.Graph, node: ir.Node, scale: Array) -> ir.Value:
    x = node.inputs[0]
    assert x is not None
    if np.all(scale == 1):
        return x
    return _add(graph, node, "Div", [x, add_constant(graph, scale, f"{node.name}.scale")])


def _scale(node: ir.Node) -> Array:
    scale = constant(node.inputs[1])
    if scale is None or not np.all(scale > 0):
        raise ExportError(
            f"{node.name}: got scale {scale}, expected positive constants; fold the scale first"
        )
    return scale.astype(np.float32)


def _add(
    graph: ir.Graph,
    node: ir.Node,
    op_type: str,
    inputs: list[ir.Value | None] | list[ir.Value],
    domain: str = "",
) -> ir.Value:
    return insert(
        graph, node, op_type, list(inputs), domain=domain, name=f"{node.name}/{op_type}",
        like=node.outputs[0],
    ).outputs[0]  # fmt: skip


def _finish(graph: ir.Graph, node: ir.Node, levels: ir.Value, scale: Array) -> None:
    if np.any(scale != 1):
        operand = add_constant(graph, scale, f"{node.name}.scale")
        levels = _add(graph, node, "Mul", [levels, operand])
    replace(node.outputs[0], levels)
    graph.remove(node, safe=True)


def _finish_constant(graph: ir.Graph, node: ir.Node, array: Array) -> None:
    replace(node.outputs[0], add_constant(graph, array.astype(np.float32), str(node.name)))
    graph.remove(node, safe=True)


_READERS: dict[str, Callable[[ir.Graph, ir.Node], None]] = {
    "BipolarQuant": _bipolar,
    "Quant": _quant,
    "IntQuant": _quant,
}
