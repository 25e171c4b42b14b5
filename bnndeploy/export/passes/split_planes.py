"""Runs binary weights on k-bit activations one bit plane at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    add_constant,
    constant,
    insert,
    is_op,
    replace,
    shared_constant,
    static_dim,
)
from bnndeploy.export.linear import Linear, module_path, read_linear
from bnndeploy.export.passes.lower_levels import pad_signs
from bnndeploy.export.passes.pack_products import skip_pad
from bnndeploy.export.passes.pack_signs import packed_dims
from bnndeploy.ops.names import DOMAIN
from bnndeploy.ops.packing import WORD_BITS

MAX_BITS = 4
"""Above this many planes a float product is as fast."""


@dataclass(frozen=True)
class _Steps:
    """Reads a value as ``levels / n``, the levels being whole numbers from 0 to n = 2^k - 1."""

    levels: ir.Value
    bits: int


class SplitPlanes:
    """Writes ``product(q / n)`` as a sum over the bits of q, for q = round(n clip(x, 0, 1)).

    With plane i as signs s_i, q = sum_i 2^(i-1) s_i + n / 2, so
    ``product(q) = sum_i 2^(i-1) product(s_i) + n / 2 * sum(codes)``, then ``/ n``. Up to the
    division all numbers are multiples of 1/2 and exact; torch sums q / n, which is rounded.

    1. Weights in {-1, 0, +1}; up to four bits (DoReFa's activations).
    2. A border of zeros is a border of -1 in each plane.
    3. Products of one value share its planes.
    """

    name = "split-planes"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        planes: dict[ir.Value, list[ir.Value]] = {}
        for node in list(graph):
            linear = read_linear(node)
            if not isinstance(linear, Linear) or not np.isin(linear.weight, (-1, 0, 1)).all():
                continue
            data, pads, border = linear.data, [0, 0, 0, 0], 0
            if linear.is_conv:
                data, pads, border = skip_pad(linear.data, linear.geometry["pads"])
            steps = _read_steps(data)
            if steps is None:
                continue
            reason = _refusal(linear, steps, any(pads) and border != 0)
            if reason is not None:
                context.declined(self.name, node, reason)
                continue
            if steps.levels not in planes:
                planes[steps.levels] = _planes(graph, node, steps)
            _sum(graph, linear, planes[steps.levels], pads)
            context.fired(self.name, node, f"{steps.bits} planes")


def _refusal(linear: Linear, steps: _Steps, odd_border: bool) -> str | None:
    if steps.bits > MAX_BITS:
        return f"its input has {steps.bits} bits, more than {MAX_BITS}"
    if odd_border:
        return "its border is not 0"
    if static_dim(steps.levels, 1) is None:
        return "the size of its channel axis 1 is unknown"
    if linear.geometry.get("group", 1) > 1 and linear.weight.shape[1] % WORD_BITS:
        return f"its groups have {linear.weight.shape[1]} channels, not a multiple of {WORD_BITS}"
    return None


def _read_steps(value: ir.Value) -> _Steps | None:
    """Reads ``round(n * clip(x, 0, 1)) / n``."""
    divided = _scalar_operand(value.producer(), "Div")
    rounded = divided[0].producer() if divided is not None else None
    if divided is None or rounded is None or not is_op(rounded, "Round"):
        return None
    scaled = rounded.inputs[0]
    multiplied = _scalar_operand(scaled.producer() if scaled is not None else None, "Mul")
    steps = divided[1]
    if multiplied is None or multiplied[1] != steps or not _in_unit_range(multiplied[0]):
        return None
    bits = int(steps + 1).bit_length() - 1
    return _Steps(divided[0], bits) if 2**bits - 1 == steps else None


def _scalar_operand(node: ir.Node | None, op_type: str) -> tuple[ir.Value, float] | None:
    if node is None or not is_op(node, op_type) or node.inputs[0] is None:
        return None
    number = constant(node.inputs[1])
    return None if number is None or number.size != 1 else (node.inputs[0], float(number.item()))


def _in_unit_range(value: ir.Value) -> bool:
    """Says whether a Clip keeps the value in [0, 1]."""
    node = value.producer()
    if node is None or not is_op(node, "Clip"):
        return False
    bounds = [constant(bound) for bound in node.inputs[1:]]
    return [None if b is None else b.item() for b in bounds] == [0, 1]


def _planes(graph: ir.Graph, node: ir.Node, steps: _Steps) -> list[ir.Value]:
    """Returns the bits of the levels as unpacked signs, the lowest first."""
    half, two = (
        shared_constant(graph, np.array(number, np.float32), f"plane.{name}")
        for number, name in ((0.5, "half"), (2, "two"))
    )
    one = shared_constant(graph, np.ones(1, np.float32), "neutral.one")
    limit = shared_constant(graph, np.array([0.5], np.float32), "plane.limit")
    stem = f"{module_path(node)}.plane"  # short: deep networks have hundreds of these names
    rest, channels = steps.levels, static_dim(steps.levels, 1)

    def float_op(op_type: str, *inputs: ir.Value) -> ir.Value:
        return insert(
            graph, node, op_type, inputs, name=f"{stem}/{op_type}", like=steps.levels
        ).outputs[0]

    planes = []
    for index in range(steps.bits):
        bit = rest
        if index < steps.bits - 1:
            above = float_op("Floor", float_op("Mul", rest, half))
            bit, rest = float_op("Sub", rest, float_op("Mul", above, two)), above
        bits = insert(
            graph, node, "PackBits", [bit, one, limit], domain=DOMAIN, name=f"{stem}.{index}",
            shape=packed_dims(steps.levels), dtype=ir.DataType.UINT32,
        ).outputs[0]  # fmt: skip
        signs = insert(
            graph, node, "UnpackBits", [bits], {"channels": channels}, domain=DOMAIN,
            name=f"{stem}{index}.floats", like=steps.levels,
        )  # fmt: skip
        planes.append(signs.outputs[0])
    return planes


def _sum(graph: ir.Graph, linear: Linear, planes: list[ir.Value], pads: list[int]) -> None:
    node, y = linear.node, linear.node.outputs[0]
    attributes: dict[str, Any] = {name: attr.value for name, attr in node.attributes.items()}
    if linear.is_conv:
        attributes["pads"] = [0, 0, 0, 0]
    steps = 2 ** len(planes) - 1

    def apply(op_type: str, value: ir.Value, other: Any, plane: int) -> ir.Value:
        if not isinstance(other, ir.Value):
            array = np.asarray(other, np.float32)
            shaped = array.reshape(-1, 1, 1) if linear.is_conv and array.ndim else array
            other = add_constant(graph, shaped, f"{linear.path}.plane{plane}")
        return insert(
            graph, node, op_type, [value, other], name=f"{linear.path}.plane{plane}/{op_type}",
            like=y,
        ).outputs[0]  # fmt: skip

    total: ir.Value | None = None
    for index, signs in enumerate(planes):
        x = pad_signs(graph, node, signs, pads, -1) if any(pads) else signs
        product = insert(
            graph, node, node.op_type, [x, node.inputs[1]], attributes,
            name=f"{linear.path}.plane{index}/{node.op_type}", like=y,
        ).outputs[0]  # fmt: skip
        product = product if index == 1 else apply("Mul", product, 2.0 ** (index - 1), index)
        if total is None:
            sums = linear.weight.reshape(len(linear.weight), -1).sum(axis=1)
            total = apply("Add", product, steps / 2 * sums, index)
        else:
            total = apply("Add", product, total, index)
    assert total is not None
    result = apply("Div", total, float(steps), len(planes))
    if linear.bias is not None:
        result = apply("Add", result, linear.bias, len(planes))
    replace(y, result)
    graph.remove(node, safe=True)
