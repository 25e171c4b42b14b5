"""Undoes packing that no operator on bits took up."""

from __future__ import annotations

import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    QUANTIZER_KEY,
    constant,
    insert,
    is_ours,
    readers,
    replace,
)
from bnndeploy.ops.names import DOMAIN


class RestoreSigns:
    """Replaces ``UnpackBits(PackBits(x))`` by ``Sign(x)``.

    1. Only where the bits have no other reader and carry no threshold; else the floats are
       unpacked from the bits, which others need anyway.
    """

    name = "restore-signs"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            if not is_ours(node, "PackBits") or node.outputs[0].is_graph_output():
                continue
            users = readers(node.outputs[0])
            if not users or not all(is_ours(user, "UnpackBits") for user in users):
                continue
            sign, threshold = (constant(value) for value in node.inputs[1:])
            if sign is None or threshold is None or (sign != 1).any() or threshold.any():
                continue
            self._restore(graph, node, users)
            context.fired(self.name, node, "no operator on bits reads it")

    def _restore(self, graph: ir.Graph, node: ir.Node, users: list[ir.Node]) -> None:
        for user in users:
            sign = insert(
                graph, user, "Sign", [node.inputs[0]], domain=DOMAIN, name=user.name,
                like=user.outputs[0],
            )  # fmt: skip
            label = node.outputs[0].metadata_props.get(QUANTIZER_KEY)
            replace(user.outputs[0], sign.outputs[0])
            if label is not None:
                sign.outputs[0].metadata_props.setdefault(QUANTIZER_KEY, label)
            graph.remove(user, safe=True)
        graph.remove(node, safe=True)
