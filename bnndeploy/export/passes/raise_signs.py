"""Moves Sign up to where the sign is decided."""

from __future__ import annotations

import onnx_ir as ir

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    attribute,
    constant,
    insert,
    is_op,
    is_ours,
    rank,
    replace,
    static_dim,
)
from bnndeploy.ops.names import DOMAIN


class RaiseSigns:
    """Lets Sign read the value whose sign it takes.

    1. ``Sign(Clip(x, low, high))`` with ``low < 0 <= high``: a hardtanh keeps every sign, so
       Sign reads ``x``.
    2. ``Sign(Flatten(x))`` for a map ``x [N, C, H, W]``: Sign is element-wise, so it moves
       above, where the bits are packed by channel.
    """

    name = "raise-signs"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        for node in list(graph):
            if is_ours(node, "Sign"):
                while self._skip_clip(node, context) or self._skip_flatten(graph, node, context):
                    pass

    def _skip_clip(self, node: ir.Node, context: Context) -> bool:
        clip = node.inputs[0].producer() if node.inputs[0] is not None else None
        if clip is None or not is_op(clip, "Clip"):
            return False
        low, high = (constant(value) for value in [*clip.inputs[1:], None, None][:2])
        if (low is not None and not low.item() < 0) or (high is not None and not high.item() >= 0):
            context.declined(self.name, clip, "its bounds do not lie on both sides of 0")
            return False
        node.replace_input_with(0, clip.inputs[0])
        context.fired(self.name, clip, "dropped before sign")
        return True

    def _skip_flatten(self, graph: ir.Graph, node: ir.Node, context: Context) -> bool:
        flatten = node.inputs[0].producer() if node.inputs[0] is not None else None
        if flatten is None or not is_flatten_of_map(flatten):
            return False
        sign = insert(
            graph, flatten, "Sign", [flatten.inputs[0]], domain=DOMAIN, name=node.name,
            like=flatten.inputs[0],
        )  # fmt: skip
        moved = insert(
            graph, node, flatten.op_type, [sign.outputs[0], *flatten.inputs[1:]],
            {name: attribute(flatten, name) for name in flatten.attributes},
            name=flatten.name, like=node.outputs[0],
        )  # fmt: skip
        sign.outputs[0].metadata_props.update(node.outputs[0].metadata_props)
        replace(node.outputs[0], moved.outputs[0], keep_label=False)
        graph.remove(node, safe=True)
        context.fired(self.name, sign, "moved above the flatten")
        return True


def is_flatten_of_map(node: ir.Node) -> bool:
    """Says whether a node turns ``[N, C, H, W]`` into ``[N, C * H * W]``."""
    if not is_op(node, "Flatten", "Reshape"):
        return False
    data, result = node.inputs[0], node.outputs[0]
    sizes = [static_dim(data, axis) for axis in (1, 2, 3)]
    if rank(data) != 4 or rank(result) != 2 or None in sizes:
        return False
    channels, height, width = sizes
    return static_dim(result, 1) == channels * height * width  # type: ignore[operator]
