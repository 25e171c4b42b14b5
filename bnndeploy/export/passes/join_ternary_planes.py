"""Joins the two products of a layer whose positive and negative weights have own scales."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import Float, channel_vector, constant, has_one_reader, is_op, rank
from bnndeploy.export.linear import Linear, read_linear
from bnndeploy.export.passes.pack_products import lower


class JoinTernaryPlanes:
    """Replaces ``product(x, P) * w_pos - product(x, N) * w_neg`` by one Ternary product.

    1. Both products read the same input with the same geometry.
    2. P and N are disjoint masks of zeros and ones, so ``P - N`` is a ternary weight.
    """

    name = "join-ternary-planes"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            planes = read_planes(node)
            if planes is None:
                continue
            if isinstance(planes, str):
                context.declined(self.name, node, planes)
                continue
            (positive, w_pos), (negative, w_neg) = planes
            codes = positive.weight - negative.weight
            reason = lower(graph, positive, codes, (w_pos, w_neg), node.outputs[0])
            if reason is None:
                share = float(np.mean(codes == 0))
                context.fired(self.name, positive.node, f"two scales, {share:.0%} of weights 0")
            else:
                context.declined(self.name, node, reason)


Plane = tuple[Linear, Float]
"""A product with masks as weights, and its scale."""


def read_planes(node: ir.Node) -> tuple[Plane, Plane] | str | None:
    """Reads ``product(x, P) * w_pos - product(x, N) * w_neg``; a reason where P, N do not fit."""
    if not is_op(node, "Sub"):
        return None
    left, right = (_scaled_linear(value) for value in node.inputs)
    if left is None or right is None:
        return None
    return _mismatch(left[0], right[0]) or (left, right)


def _scaled_linear(value: ir.Value | None) -> Plane | None:
    """Reads ``linear * constant``."""
    node = value.producer() if value is not None else None
    if value is None or node is None or not is_op(node, "Mul") or not has_one_reader(value):
        return None
    for data, other in (node.inputs, reversed(node.inputs)):
        scale = constant(other)
        producer = data.producer() if data is not None else None
        linear = read_linear(producer) if producer is not None else None
        if scale is not None and isinstance(linear, Linear) and linear.bias is None:
            vector = channel_vector(scale, rank(data) or 0)
            return None if vector is None else (linear, vector)
    return None


def _mismatch(positive: Linear, negative: Linear) -> str | None:
    if positive.data is not negative.data or positive.geometry != negative.geometry:
        return "its two products differ in input or geometry"
    masks = (positive.weight, negative.weight)
    if masks[0].shape != masks[1].shape or not all(np.isin(m, (0, 1)).all() for m in masks):
        return "its weights are not masks"
    if np.any(masks[0] * masks[1]):
        return "its masks overlap"
    return None
