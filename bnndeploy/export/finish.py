"""Turns an onnx_ir model into the protobuf that is written."""

from __future__ import annotations

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from bnndeploy.ops.names import DOMAIN, IR_VERSION, OPSET, SIGNATURES, VERSION


def finish(model: ir.Model) -> onnx.ModelProto:
    """Returns the model as a protobuf without the tracer's notes."""
    graph = model.graph
    domains = {node.domain for node in graph} - {""}
    graph.opset_imports.clear()
    graph.opset_imports[""] = OPSET
    graph.opset_imports.update(dict.fromkeys(sorted(domains), VERSION))
    common.ClearMetadataAndDocStringPass()(model)
    _rename_batch(graph)
    graph.name = "bnndeploy"
    model.producer_name = "bnndeploy"
    model.producer_version = None
    model.ir_version = IR_VERSION
    model.functions.clear()
    proto: onnx.ModelProto = ir.to_proto(model)
    _drop_types_of_weights(proto.graph)
    for node in proto.graph.node:
        if node.domain == DOMAIN:  # onnx_ir leaves unwanted last outputs out
            missing = len(SIGNATURES[node.op_type].outputs) - len(node.output)
            node.output.extend([""] * missing)
    return proto


def _drop_types_of_weights(graph: onnx.GraphProto) -> None:
    """Drops what the initializers themselves say; in a deep network it outweighs the nodes."""
    weights = {tensor.name for tensor in graph.initializer}
    kept = [value for value in graph.value_info if value.name not in weights]
    del graph.value_info[:]
    graph.value_info.extend(kept)


def _rename_batch(graph: ir.Graph) -> None:
    """Calls the dynamic axis 0 of the first input "batch" wherever it occurs."""
    first = graph.inputs[0].shape if graph.inputs else None
    symbol = first[0] if first is not None and len(first) else None
    if not isinstance(symbol, ir.SymbolicDim):
        return
    values = [*graph.inputs, *(output for node in graph for output in node.outputs)]
    for value in values:
        if value.shape is not None:
            renamed = ["batch" if d == symbol else d for d in value.shape.dims]
            value.shape = ir.Shape(renamed)
