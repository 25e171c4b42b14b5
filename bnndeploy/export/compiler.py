"""From a traced or loaded graph to a checked file in one of the forms."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from bnndeploy.errors import ExportError
from bnndeploy.export.context import Context, Pass, run_passes
from bnndeploy.export.finish import finish
from bnndeploy.export.forms import inline_activations
from bnndeploy.export.functions import attach_functions
from bnndeploy.export.int2 import check_int2, raise_opset, store_two_bits
from bnndeploy.export.int8 import Array, batches_of, quantize_int8
from bnndeploy.export.metadata import FORMAT, find_probes, set_metadata, versions, weights_sha256
from bnndeploy.export.passes.name_values import NameValues
from bnndeploy.export.pipeline import PACK, SIMPLIFY
from bnndeploy.export.qonnx import write_quantizers
from bnndeploy.export.report import ExportReport, bytes_by_kind
from bnndeploy.export.sample import name_sample
from bnndeploy.export.writing import check, write_model

_FORMS: dict[str, Callable[[ir.Model, Context], None]] = {
    "packed": lambda model, context: _pack(model, context),
    "float": lambda model, context: None,
    "standard": lambda model, context: inline_activations(model.graph),
    "int8": lambda model, context: inline_activations(model.graph),
    "qonnx": lambda model, context: write_quantizers(model.graph),
}
FORMS = tuple(_FORMS)
"""What a file may be: packed bits, Sign and float weights, ai.onnx only, int8, QONNX."""


def check_form(form: str, *, int2: bool = False) -> None:
    """Raises unless the form is known and can be written, with INT2 weights if asked for.

    Raises:
        ExportError: If it is not.
    """
    if form not in FORMS:
        raise ExportError(f"export: got form {form!r}, expected one of {', '.join(FORMS)}")
    if int2:
        check_int2(form)


def compile_graph(
    traced: ir.Model,
    form: str,
    *,
    path: Path | None,
    force: bool,
    entries: Mapping[str, Any],
    calibration: Sequence[Array] = (),
    int2: bool = False,
    read: Sequence[Pass] = (),
) -> ExportReport:
    """Runs the passes of a form and writes the file; ``path`` None builds the model only.

    Args:
        traced: The graph in Sign, Ternary and standard operators; used up.
        form: One of ``FORMS``.
        path: The file.
        force: Overwrite it.
        entries: Metadata; a "sample" is given the names of the inputs and outputs.
        calibration: For int8: one array for each input.
        int2: For standard: weights in two bits, and the opset that has them.
        read: Passes that first bring a foreign graph into our operators.
    """
    context = Context()
    run_passes(traced, [*SIMPLIFY, *read], context)
    before = _without_constants(traced)
    _FORMS[form](traced, context)
    if int2:
        store_two_bits(traced.graph)
    run_passes(traced, [NameValues()], context)
    context.forget_settled(traced.graph)
    probes = find_probes(traced.graph)
    model = finish(traced)
    _release(traced)
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
    if int2:
        raise_opset(model)  # last: the functions are written for ours
    report = ExportReport(form, model, before, path, context.events)
    if path is None:
        check(model, "model")
        report.size = model.ByteSize()
    else:
        report.size = write_model(model, path, force=force)
    report.bytes_by_kind = bytes_by_kind(model)
    return report


def _release(traced: ir.Model) -> None:
    """Frees the weights of the trace, which torch keeps in cycles, before the checker copies."""
    for weight in traced.graph.initializers.values():
        weight.const_value = None
    gc.collect()


def _pack(model: ir.Model, context: Context) -> None:
    run_passes(model, PACK, context)
    # Bit planes read the same weights, channels the same neutral numbers: stored once.
    common.DeduplicateHashedInitializersPass()(model)


def _without_constants(model: ir.Model) -> onnx.ModelProto:
    """Returns the nodes alone, for the report."""
    bare = onnx.ModelProto()
    bare.graph.name = "traced"
    bare.graph.node.extend(ir.to_proto(node) for node in model.graph)
    bare.graph.input.extend(ir.to_proto(value) for value in model.graph.inputs)
    bare.graph.output.extend(ir.to_proto(value) for value in model.graph.outputs)
    return bare
