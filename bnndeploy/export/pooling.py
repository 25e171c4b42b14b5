"""Reads MaxPool nodes as the geometry that MaxPoolBits takes."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from bnndeploy.export.graph import attribute, rank, static_dim


def pooling_of(node: ir.Node) -> dict[str, Any] | str:
    """Returns kernel_shape, strides and pads of a two-dimensional MaxPool, or why it has none."""
    kernel = attribute(node, "kernel_shape")
    if rank(node.inputs[0]) != 4:
        return "it pools along other than two axes"
    if attribute(node, "dilations", [1, 1]) != [1, 1]:
        return "its window is dilated"
    if attribute(node, "auto_pad", "NOTSET") != "NOTSET" or len(node.outputs) > 1:
        return "it uses auto_pad or returns indices"
    strides = attribute(node, "strides", [1, 1])
    pads = attribute(node, "pads", [0, 0, 0, 0])
    if attribute(node, "ceil_mode", 0):
        for axis in (0, 1):
            size, pooled = (static_dim(v, axis + 2) for v in (node.inputs[0], node.outputs[0]))
            if size is None or pooled is None:
                return "ceil_mode with a dynamic height or width"
            needed = (pooled - 1) * strides[axis] + kernel[axis] - size - pads[axis]
            pads[axis + 2] = max(pads[axis + 2], needed)
    return {"kernel_shape": kernel, "strides": strides, "pads": pads}
