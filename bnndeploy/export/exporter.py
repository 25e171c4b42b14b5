"""From a trained module to a checked ONNX file."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import onnx
import onnx_ir as ir
import torch
from onnx_ir.passes import common
from torch import Tensor, nn

from bnndeploy.errors import ExportError
from bnndeploy.export.context import Context
from bnndeploy.export.emission import copy_for_export, emit, freeze
from bnndeploy.export.forms import inline_activations
from bnndeploy.export.functions import attach_functions
from bnndeploy.export.metadata import (
    FORMAT,
    find_probes,
    set_metadata,
    versions,
    weights_sha256,
)
from bnndeploy.export.passes.name_values import NameValues
from bnndeploy.export.pipeline import PACK, SIMPLIFY, run_passes
from bnndeploy.export.report import ExportReport, bytes_by_kind, count_nodes
from bnndeploy.export.sample import name_sample, take_sample
from bnndeploy.export.writing import check, refuse_existing, write_model
from bnndeploy.ops.names import DOMAIN, IR_VERSION, OPSET, SIGNATURES, VERSION

FORMS = ("packed", "float", "standard")


class Run(Protocol):
    """What :func:`export_run` needs of a trained run."""

    @property
    def name(self) -> str: ...
    @property
    def module(self) -> nn.Module: ...
    @property
    def recipe(self) -> Any: ...
    @property
    def classes(self) -> Sequence[str]: ...
    @property
    def input_spec(self) -> Mapping[str, Any]: ...
    @property
    def metrics(self) -> Mapping[str, Any]: ...


def export_model(
    module: nn.Module,
    example_input: Tensor | Sequence[Tensor],
    path: str | Path | None = None,
    *,
    form: str = "packed",
    force: bool = False,
    metadata: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> ExportReport:
    """Exports a module that uses our layers or quantizers in any composition.

    The module is copied, put in eval mode and float32, and left as it was.

    Args:
        module: Any module that torch.export can trace.
        example_input: One tensor, or one for each input of ``forward``.
        path: The file to write; None only builds the model (``report.model``).
        form: "packed", "float" (Sign and Ternary, float weights) or "standard" (ai.onnx only).
        force: Overwrite an existing file.
        metadata: More entries, written as ``bnndeploy.<key>`` (JSON values).
        dynamic_shapes: As in torch.export; by default axis 0 of every input is dynamic.
        input_names: Names of the inputs; by default those of ``forward``.
        output_names: Names of the outputs; by default "output" or "output_0", ….

    Raises:
        ExportError: If the module cannot be traced, the form is unknown, or the file exists.
    """
    start = time.perf_counter()
    if form not in FORMS:
        raise ExportError(f"export: got form {form!r}, expected one of {', '.join(FORMS)}")
    target = None if path is None else Path(path)
    if target is not None:
        refuse_existing(target, force)
    inputs = [example_input] if isinstance(example_input, Tensor) else list(example_input)
    inputs = [x.detach().cpu().float() if x.is_floating_point() else x.cpu() for x in inputs]
    copied = copy_for_export(module)
    sample = take_sample(copied, inputs)
    traced = emit(
        freeze(copied), inputs, input_names=input_names, output_names=output_names,
        dynamic_shapes=dynamic_shapes,
    )  # fmt: skip
    context = Context()
    run_passes(traced, SIMPLIFY, context)
    nodes_before = count_nodes(ir.to_proto(traced))
    if form == "packed":
        run_passes(traced, PACK, context)
    elif form == "standard":
        inline_activations(traced.graph)
    run_passes(traced, [NameValues()], context)
    context.forget_settled(traced.graph)
    probes = find_probes(traced.graph)
    model = finish(traced)
    entries = {
        "format": FORMAT,
        "versions": versions(),
        "probes": probes,
        "weights_sha256": weights_sha256(model),
        "sample": name_sample(sample, model),
        **(metadata or {}),
    }
    set_metadata(model, entries)
    attach_functions(model)
    report = ExportReport(form, model, target, nodes_before, count_nodes(model), context.events)
    if target is None:
        check(model, "model")
        report.size = model.ByteSize()
    else:
        report.size = write_model(model, target, force=force)
    report.bytes_by_kind = bytes_by_kind(model)
    report.seconds = time.perf_counter() - start
    return report


def export_run(
    run: Run, path: str | Path | None = None, *, form: str = "packed", force: bool = False
) -> ExportReport:
    """Exports a trained run with its classes, input description, recipe and metrics."""
    example = torch.zeros(2, *run.input_spec["shape"])
    metadata = {
        "classes": list(run.classes),
        "input": dict(run.input_spec),
        "recipe": _plain(run.recipe),
        "metrics": dict(run.metrics),
        "name": run.name,
    }
    return export_model(
        run.module, example, path, form=form, force=force, metadata=metadata,
        input_names=["input"], output_names=["logits"],
    )  # fmt: skip


def finish(model: ir.Model) -> onnx.ModelProto:
    """Returns the model as a protobuf without the tracer's notes."""
    graph = model.graph
    graph.opset_imports.clear()
    graph.opset_imports[""] = OPSET
    if any(node.domain == DOMAIN for node in graph):
        graph.opset_imports[DOMAIN] = VERSION
    common.ClearMetadataAndDocStringPass()(model)
    _rename_batch(graph)
    graph.name = "bnndeploy"
    model.producer_name = "bnndeploy"
    model.producer_version = None
    model.ir_version = IR_VERSION
    model.functions.clear()
    proto: onnx.ModelProto = ir.to_proto(model)
    for node in proto.graph.node:
        if node.domain == DOMAIN:  # onnx_ir leaves unwanted last outputs out
            missing = len(SIGNATURES[node.op_type].outputs) - len(node.output)
            node.output.extend([""] * missing)
    return proto


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


def _plain(value: Any) -> Any:
    """Returns a recipe, a dataclass or plain data already, as plain data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value
