"""Turns signs into packed bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    QUANTIZER_KEY,
    dims,
    insert,
    is_ours,
    replace,
    shared_constant,
    static_dim,
)
from bnndeploy.export.linear import module_path
from bnndeploy.ops.names import DOMAIN
from bnndeploy.ops.packing import word_count


class PackSigns:
    """Replaces ``Sign(x)`` by ``UnpackBits(PackBits(x))``; later passes move the UnpackBits down.

    1. Signs of one value share one PackBits.
    """

    name = "pack-signs"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        packed: dict[ir.Value, ir.Node] = {}
        for node in list(graph):
            if not is_ours(node, "Sign"):
                continue
            x = node.inputs[0]
            channels = static_dim(x, 1)
            if x is None or channels is None:
                context.declined(self.name, node, "the size of its channel axis 1 is unknown")
                continue
            if x not in packed:
                packed[x] = self._pack(graph, node, x, channels)
                context.fired(
                    self.name, node, f"{channels} channels to {word_count(channels)} words"
                )
            else:
                context.fired(self.name, node, "shares the bits of another sign")
            bits = packed[x].outputs[0]
            label = node.outputs[0].metadata_props.get(QUANTIZER_KEY)
            if label is not None:
                bits.metadata_props.setdefault(QUANTIZER_KEY, label)
            unpack = insert(
                graph, node, "UnpackBits", [bits], {"channels": channels},
                domain=DOMAIN, name=f"{module_path(node)}.floats", like=node.outputs[0],
            )  # fmt: skip
            replace(node.outputs[0], unpack.outputs[0], keep_label=False)
            graph.remove(node, safe=True)

    def _pack(self, graph: ir.Graph, node: ir.Node, x: ir.Value, channels: int) -> ir.Node:
        one = shared_constant(graph, np.ones(1, np.float32), "neutral.one")
        zero = shared_constant(graph, np.zeros(1, np.float32), "neutral.zero")
        return insert(
            graph, node, "PackBits", [x, one, zero], domain=DOMAIN,
            name=f"{module_path(node)}.bits", shape=packed_dims(x), dtype=ir.DataType.UINT32,
        )  # fmt: skip


def packed_dims(x: ir.Value) -> list[Any]:
    """Returns the shape of the packed ``x [N, C, …]``: channels last, in words."""
    shape = dims(x)
    assert shape is not None
    return [shape[0], *shape[2:], word_count(int(shape[1]))]
