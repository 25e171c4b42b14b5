"""Runs binary weights on k-bit activations one bit plane at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    add_constant,
    insert,
    replace,
    shared_constant,
    static_dim,
)
from bnndeploy.export.linear import Linear, module_path, read_linear
from bnndeploy.export.passes.lower_levels import pad_signs
from bnndeploy.export.passes.pack_products import skip_pad
from bnndeploy.export.passes.pack_signs import packed_dims
from bnndeploy.export.steps import Gain, Steps, read_scaled_steps
from bnndeploy.ops.names import DOMAIN
from bnndeploy.ops.packing import WORD_BITS

MAX_BITS = 4
"""Above this many planes a float product is as fast."""


class SplitPlanes:
    """Writes ``product(a q)`` as a sum over the bits of q, whole numbers from low to high.

    With plane i of q - low as signs s_i, q = sum_i 2^(i-1) s_i + c for c = (2^k - 1) / 2 + low, so
    ``product(q) = sum_i 2^(i-1) product(s_i) + c * sum(codes)``, then ``* a``. Up to there all
    numbers are multiples of 1/2 and exact; torch sums the products a q, which are rounded.

    1. Weights in {-1, 0, +1}; up to four bits (DoReFa's activations, Brevitas's Quant).
    2. A border of zeros is the border of -low: in each plane -1 or +1.
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
            scaled = read_scaled_steps(data)
            if scaled is None:
                continue
            steps, gain = scaled
            reason = _refusal(linear, steps, border if any(pads) else None)
            if reason is not None:
                context.declined(self.name, node, reason)
                continue
            if steps.levels not in planes:
                planes[steps.levels] = _planes(graph, node, steps)
            _sum(graph, linear, planes[steps.levels], pads, steps, gain)
            context.fired(self.name, node, f"{steps.bits} planes")


def _refusal(linear: Linear, steps: Steps, border: float | None) -> str | None:
    if steps.bits > MAX_BITS:
        return f"its input has {steps.bits} bits, more than {MAX_BITS}"
    if border:
        return "its border is not 0"
    if border is not None and not steps.low <= 0 <= steps.high:
        return "its border of 0 is none of its levels"
    if static_dim(steps.levels, 1) is None:
        return "the size of its channel axis 1 is unknown"
    if linear.geometry.get("group", 1) > 1 and linear.weight.shape[1] % WORD_BITS:
        return f"its groups have {linear.weight.shape[1]} channels, not a multiple of {WORD_BITS}"
    return None


def _planes(graph: ir.Graph, node: ir.Node, steps: Steps) -> list[ir.Value]:
    """Returns the bits of ``levels - low`` as unpacked signs, the lowest first."""
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

    if steps.low:
        low = add_constant(graph, np.array(steps.low, np.float32), f"{stem}.low")
        rest = float_op("Sub", rest, low)
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


def _sum(
    graph: ir.Graph,
    linear: Linear,
    planes: list[ir.Value],
    pads: list[int],
    steps: Steps,
    gain: Gain,
) -> None:
    node, y = linear.node, linear.node.outputs[0]
    attributes: dict[str, Any] = {name: attr.value for name, attr in node.attributes.items()}
    if linear.is_conv:
        attributes["pads"] = [0, 0, 0, 0]
    middle = (2**steps.bits - 1) / 2 + steps.low

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
        border = 1 if -steps.low >> index & 1 else -1
        x = pad_signs(graph, node, signs, pads, border) if any(pads) else signs
        product = insert(
            graph, node, node.op_type, [x, node.inputs[1]], attributes,
            name=f"{linear.path}.plane{index}/{node.op_type}", like=y,
        ).outputs[0]  # fmt: skip
        product = product if index == 1 else apply("Mul", product, 2.0 ** (index - 1), index)
        if total is None:
            sums = linear.weight.reshape(len(linear.weight), -1).sum(axis=1)
            total = apply("Add", product, middle * sums, index)
        else:
            total = apply("Add", product, total, index)
    assert total is not None
    result = total if gain.number == 1 else apply(gain.op_type, total, gain.number, steps.bits)
    if linear.bias is not None:
        result = apply("Add", result, linear.bias, steps.bits)
    replace(y, result)
    graph.remove(node, safe=True)
