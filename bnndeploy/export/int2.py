"""Weights of the standard form in two bits: INT2 initializers behind DequantizeLinear."""

from __future__ import annotations

from importlib.metadata import version

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir

from bnndeploy.errors import ExportError
from bnndeploy.export.graph import Array, add_constant, constant, insert, shared_constant
from bnndeploy.export.linear import Linear, read_linear
from bnndeploy.export.passes.join_ternary_planes import read_planes

OPSET, IR_VERSION = 25, 13
"""The first that have INT2; onnx 1.20 and onnxruntime 1.24 read them."""

_SCALES = {1: "one", -1: "minus_one"}


def check_int2(form: str) -> None:
    """Raises unless INT2 weights can be written.

    Raises:
        ExportError: If the form is not "standard", or the installed onnx has no INT2.
    """
    if form != "standard":
        raise ExportError(
            f"export: got INT2 weights with form {form!r}, expected form 'standard'; "
            "a packed file has its weights in bits already"
        )
    if not hasattr(onnx.TensorProto, "INT2"):
        raise ExportError(
            f"export: got onnx {version('onnx')}, expected 1.20 or later for INT2 weights; "
            "install a later onnx"
        )


def store_two_bits(graph: ir.Graph) -> None:
    """Stores every weight in {-1, 0, +1} as INT2, in place; scales stay where they are.

    1. ``product(x, P) * w_pos - product(x, N) * w_neg``: both masks come from the one tensor
       ``P - N``, as ``Relu(DequantizeLinear(P - N, 1))`` and with the scale -1.
    2. Another weight: ``DequantizeLinear(codes, 1)``. All levels are whole numbers, so that
       nothing is rounded.
    """
    for node in list(graph):
        planes = read_planes(node)
        if planes is not None and not isinstance(planes, str):
            _store_planes(graph, planes[0][0], planes[1][0])
    for node in list(graph):
        linear = read_linear(node)
        if isinstance(linear, Linear) and np.isin(linear.weight, (-1, 0, 1)).all():
            codes = add_constant(
                graph, _stored(linear).astype(ml_dtypes.int2), f"{linear.path}.codes"
            )
            node.replace_input_with(1, _dequantize(graph, node, codes, 1, linear.path))


def _store_planes(graph: ir.Graph, positive: Linear, negative: Linear) -> None:
    codes = add_constant(
        graph, (_stored(positive) - _stored(negative)).astype(ml_dtypes.int2),
        f"{positive.path}.codes",
    )  # fmt: skip
    for linear, scale, name in ((positive, 1, "positive"), (negative, -1, "negative")):
        levels = _dequantize(graph, linear.node, codes, scale, f"{linear.path}.{name}")
        mask = insert(
            graph, linear.node, "Relu", [levels], name=f"{linear.path}.{name}/Relu", like=levels
        )
        linear.node.replace_input_with(1, mask.outputs[0])


def _dequantize(
    graph: ir.Graph, anchor: ir.Node, codes: ir.Value, scale: int, name: str
) -> ir.Value:
    factor = shared_constant(graph, np.array(scale, np.float32), f"int2.{_SCALES[scale]}")
    return insert(
        graph, anchor, "DequantizeLinear", [codes, factor], name=f"{name}/DequantizeLinear",
        like=codes, dtype=ir.DataType.FLOAT,
    ).outputs[0]  # fmt: skip


def _stored(linear: Linear) -> Array:
    """Returns the weight in the orientation of its node."""
    array = constant(linear.node.inputs[1])
    assert array is not None  # a Linear has constant weights
    return array


def raise_opset(model: onnx.ModelProto) -> None:
    """Declares the opset that has INT2; no operator of a standard file changed up to it."""
    model.ir_version = IR_VERSION
    (standard,) = (entry for entry in model.opset_import if not entry.domain)
    standard.version = OPSET
