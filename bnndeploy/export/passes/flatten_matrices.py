"""Makes products of higher rank two-dimensional, as our operators are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    QUANTIZER_KEY,
    Array,
    add_constant,
    constant,
    dims,
    has_one_reader,
    insert,
    is_op,
    is_ours,
    rank,
    readers,
    replace,
)
from bnndeploy.ops.names import DOMAIN


class FlattenMatrices:
    """Reshapes ``[…, K]`` to ``[M, K]`` around products with binary or ternary weights.

    1. ``MatMul(x, W)`` of rank 3 and more: reshape, product, reshape back.
    2. A Sign of x moves behind the reshape, where K is its channel axis; products that share a
       sign share the reshaped one.
    3. Scales and biases along the last axis move before the reshape back, for the epilogue.

    It declines where more than one axis of the result is dynamic.
    """

    name = "flatten-matrices"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        rows: dict[ir.Value, ir.Value] = {}
        for node in list(graph):
            data, weight = node.inputs[0] if node.inputs else None, None
            if is_op(node, "MatMul"):
                weight = constant(node.inputs[1])
            if data is None or weight is None or weight.ndim != 2 or (rank(data) or 0) < 3:
                continue
            if not np.isin(weight, (-1, 0, 1)).all():
                continue
            shape = dims(node.outputs[0])
            if shape is None or sum(not isinstance(size, int) for size in shape) > 1:
                context.declined(self.name, node, "more than one of its axes is dynamic")
                continue
            if data not in rows:
                rows[data] = _as_rows(graph, node, data, weight.shape[0])
            self._flatten(graph, node, rows[data], weight, shape)
            context.fired(self.name, node, f"rank {len(shape)} to rows of {weight.shape[0]}")

    def _flatten(
        self, graph: ir.Graph, node: ir.Node, x: ir.Value, weight: Array, shape: list[Any]
    ) -> None:
        flat = [None, weight.shape[1]]
        value = insert(
            graph, node, "MatMul", [x, node.inputs[1]], name=node.name, shape=flat,
            dtype=node.outputs[0].dtype,
        ).outputs[0]  # fmt: skip
        result, anchor = node.outputs[0], node
        while (after := _along_last_axis(result, weight.shape[1])) is not None:
            inputs = [value if v is result else v for v in after.inputs]
            value = insert(
                graph, after, after.op_type, inputs, name=after.name, shape=flat,
                dtype=result.dtype,
            ).outputs[0]  # fmt: skip
            result, anchor = after.outputs[0], after
        back = _reshape(graph, anchor, value, shape, result, f"{node.name}.shape")
        replace(result, back)


def _as_rows(graph: ir.Graph, node: ir.Node, data: ir.Value, depth: int) -> ir.Value:
    sign = data.producer()
    if sign is None or not is_ours(sign, "Sign"):
        return _reshape(graph, node, data, [-1, depth], None, f"{node.name}.rows")
    source = sign.inputs[0]
    assert source is not None
    rows = _reshape(graph, sign, source, [-1, depth], None, f"{sign.name}.rows")
    signs = insert(graph, node, "Sign", [rows], domain=DOMAIN, name=sign.name, like=rows)
    label = data.metadata_props.get(QUANTIZER_KEY)
    if label is not None:
        signs.outputs[0].metadata_props[QUANTIZER_KEY] = label
    return signs.outputs[0]


def _reshape(
    graph: ir.Graph,
    anchor: ir.Node,
    value: ir.Value,
    shape: Sequence[Any],
    like: ir.Value | None,
    name: str,
) -> ir.Value:
    target = np.array([size if isinstance(size, int) else -1 for size in shape], np.int64)
    known = [size if size != -1 else None for size in target.tolist()]
    return insert(
        graph, anchor, "Reshape", [value, add_constant(graph, target, name)], {"allowzero": 0},
        name=f"{name}/Reshape", like=like, shape=None if like is not None else known,
        dtype=value.dtype,
    ).outputs[0]  # fmt: skip


def _along_last_axis(value: ir.Value, size: int) -> ir.Node | None:
    """Returns the only reader if it applies one constant or one a column."""
    if not has_one_reader(value):
        return None
    reader = readers(value)[0]
    if not is_op(reader, "Mul", "Add", "Sub", "Div"):
        return None
    left, right = reader.inputs
    operand = constant(right if left is value else left)
    fits = operand is not None and operand.ndim <= 1 and operand.size in (1, size)
    return reader if fits else None
