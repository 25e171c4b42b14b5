"""From a traced or loaded graph to a checked file in one of the forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from bnndeploy.errors import ExportError
from bnndeploy.export.context import Context, Pass
from bnndeploy.export.forms import inline_activations
from bnndeploy.export.functions import attach_functions
from bnndeploy.export.int8 import Array, batches_of, quantize_int8
from bnndeploy.export.metadata import FORMAT, find_probes, set_metadata, versions, weights_sha256
from bnndeploy.export.passes.name_values import NameValues
from bnndeploy.export.pipeline import PACK, SIMPLIFY, run_passes
from bnndeploy.export.qonnx import write_quantizers
from bnndeploy.export.report import ExportReport, bytes_by_kind
from bnndeploy.export.sample import name_sample
from bnndeploy.export.writing import check, write_model
from bnndeploy.ops.names import DOMAIN, IR_VERSION, OPSET, SIGNATURES, VERSION

_FORMS: dict[str, Callable[[ir.Model, Context], None]] = {
    "packed": lambda model, context: _pack(model, context),
    "float": lambda model, context: None,
    "standard": lambda model, context: inline_activations(model.graph),
    "int8": lambda model, context: inline_activations(model.graph),
    "qonnx": lambda model, context: write_quantizers(model.graph),
}
FORMS = tuple(_FORMS)
"""What a file may be: packed bits, Sign and float weights, ai.onnx only, int8, QONNX."""


def check_form(form: str) -> None:
    """Raises unless the form is known.

    Raises:
        ExportError: If it is not.
    """
    if form not in FORMS:
        raise ExportError(f"export: got form {form!r}, expected one of {', '.join(FORMS)}")


def compile_graph(
    traced: ir.Model,
    form: str,
    *,
    path: Path | None,
    force: bool,
    entries: Mapping[str, Any],
    calibration: Sequence[Array] = (),
    read: Sequence[Pass] = (),
) -> ExportReport:
    """Runs the passes of a form and writes the file; ``path`` None builds the model only.

    Args:
        traced: The graph in Sign, Ternary and standard operators; changed in place.
        form: One of ``FORMS``.
        path: The file.
        force: Overwrite it.
        entries: Metadata; a "sample" is given the names of the inputs and outputs.
        calibration: For int8: one array for each input.
        read: Passes that first bring a foreign graph into our operators.
    """
    context = Context()
    run_passes(traced, [*SIMPLIFY, *read], context)
    before = _without_constants(traced)
    _FORMS[form](traced, context)
    run_passes(traced, [NameValues()], context)
    context.forget_settled(traced.graph)
    probes = find_probes(traced.graph)
    model = finish(traced)
    if form == "int8":
        model = quantize_int8(model, batches_of(model, calibration))
        probes = {}  # no inner value equals a quantizer's output any more
    entries = {
        "format": FORMAT,
        "versions": versions(),
        "probes": probes,
        "weights_sha256": weights_sha256(model),
        **entries,
    }
    if "sample" in entries:
        entries["sample"] = name_sample(entries["sample"], model)
    set_metadata(model, entries)
    attach_functions(model)
    report = ExportReport(form, model, before, path, context.events)
    if path is None:
        check(model, "model")
        report.size = model.ByteSize()
    else:
        report.size = write_model(model, path, force=force)
    report.bytes_by_kind = bytes_by_kind(model)
    return report


def _pack(model: ir.Model, context: Context) -> None:
    run_passes(model, PACK, context)
    # Bit planes read the same weights, channels the same neutral numbers: stored once.
    common.DeduplicateHashedInitializersPass()(model)


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


def _without_constants(model: ir.Model) -> onnx.ModelProto:
    """Returns the nodes alone, for the report."""
    bare = onnx.ModelProto()
    bare.graph.name = "traced"
    bare.graph.node.extend(ir.to_proto(node) for node in model.graph)
    bare.graph.input.extend(ir.to_proto(value) for value in model.graph.inputs)
    bare.graph.output.extend(ir.to_proto(value) for value in model.graph.outputs)
    return bare


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
