"""Reads Conv, Gemm and MatMul nodes with constant weights in one form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from bnndeploy.export.graph import Array, attribute, constant, is_op, rank


@dataclass(frozen=True)
class Linear:
    """One product of a value with constant weights.

    Attributes:
        node: Conv, Gemm or MatMul.
        data: What is multiplied.
        weight: ``[O, K]`` or ``[O, C / group, kh, kw]``.
        bias: ``[O]``, None where there is none or it is 0.
        geometry: strides, pads, dilations and group of a Conv.
    """

    node: ir.Node
    data: ir.Value
    weight: Array
    bias: Array | None = None
    geometry: dict[str, Any] = field(default_factory=dict)

    @property
    def is_conv(self) -> bool:
        return self.node.op_type == "Conv"

    @property
    def path(self) -> str:
        """Returns the module path of the layer."""
        return module_path(self.node)


def module_path(node: ir.Node) -> str:
    """Returns the module path in a node's name ``<path>/<op type>``."""
    name = node.name or node.op_type
    return name.rsplit("/", 1)[0] if "/" in name else name


def read_linear(node: ir.Node) -> Linear | str | None:
    """Returns the product; None for another kind of node, a reason where it is out of reach."""
    if is_op(node, "Conv"):
        return _read_conv(node)
    if is_op(node, "Gemm", "MatMul"):
        return _read_matrix(node)
    return None


def _read_conv(node: ir.Node) -> Linear | str:
    data, weight = node.inputs[0], constant(node.inputs[1])
    if data is None or weight is None:
        return "its weights are not constant"
    if weight.ndim != 4:
        return f"it is a convolution over {weight.ndim - 2} axes; only two are supported"
    if attribute(node, "auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return "it uses auto_pad"
    geometry = {
        "strides": attribute(node, "strides", [1, 1]),
        "pads": attribute(node, "pads", [0, 0, 0, 0]),
        "dilations": attribute(node, "dilations", [1, 1]),
        "group": attribute(node, "group", 1),
    }
    return Linear(node, data, weight, _bias(node), geometry)


def _read_matrix(node: ir.Node) -> Linear | str:
    data, weight = node.inputs[0], constant(node.inputs[1])
    if data is None or weight is None or weight.ndim != 2:
        return "it does not multiply by a constant matrix"
    if rank(data) != 2:
        return f"its input has rank {rank(data)}, expected 2"
    if is_op(node, "MatMul"):
        return Linear(node, data, weight.T)
    scales = (attribute(node, "alpha", 1.0), attribute(node, "beta", 1.0))
    if scales != (1.0, 1.0) or attribute(node, "transA", 0):
        return "it scales or transposes its operands"
    bias = _bias(node)
    if bias is not None and bias.size not in (1, weight.shape[0 if _transposed(node) else 1]):
        return "its bias is not one value a column"
    return Linear(node, data, weight if _transposed(node) else weight.T, bias)


def _transposed(node: ir.Node) -> bool:
    return bool(attribute(node, "transB", 0))


def _bias(node: ir.Node) -> Array | None:
    bias = constant(node.inputs[2]) if len(node.inputs) > 2 else None
    return None if bias is None or not np.any(bias) else bias.reshape(-1)
