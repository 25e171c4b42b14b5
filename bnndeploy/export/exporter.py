"""From a trained module to a checked ONNX file."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from bnndeploy.export.compiler import check_form, compile_graph
from bnndeploy.export.emission import copy_for_export, emit, freeze
from bnndeploy.export.graph import static_dim
from bnndeploy.export.report import ExportReport
from bnndeploy.export.sample import take_sample
from bnndeploy.export.writing import refuse_existing


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
    calibration: Tensor | Sequence[Tensor] | None = None,
    int2: bool = False,
) -> ExportReport:
    """Exports a module that uses our layers or quantizers in any composition.

    The module is copied, put in eval mode and float32, and left as it was.

    Args:
        module: Any module that torch.export can trace.
        example_input: One tensor, or one for each input of ``forward``.
        path: The file to write; None only builds the model (``report.model``).
        form: "packed", "float" (Sign and Ternary, float weights), "standard" (ai.onnx only),
            "int8" (standard, quantised by onnxruntime) or "qonnx".
        force: Overwrite an existing file.
        metadata: More entries, written as ``bnndeploy.<key>`` (JSON values).
        dynamic_shapes: As in torch.export; by default axis 0 of every input is dynamic.
        input_names: Names of the inputs; by default those of ``forward``.
        output_names: Names of the outputs; by default "output" or "output_0", ….
        calibration: Inputs whose ranges set the scales of the int8 form; by default the example.
        int2: Stores binary and ternary weights of the standard form as INT2, which needs
            opset 25 (onnxruntime 1.24); other files are opset 21.

    Raises:
        ExportError: If the module cannot be traced, the form is unknown, or the file exists.
    """
    start = time.perf_counter()
    check_form(form, int2=int2)
    target = None if path is None else Path(path)
    if target is not None:
        refuse_existing(target, force)
    inputs = _tensors(example_input)
    traced = emit(
        freeze(copy_for_export(module)), inputs, input_names=input_names,
        output_names=output_names, dynamic_shapes=dynamic_shapes,
    )  # fmt: skip
    fixed = any(isinstance(static_dim(value, 0), int) for value in traced.graph.inputs)
    sample = take_sample(copy_for_export(module), inputs, fixed=fixed)
    entries = {**({} if sample is None else {"sample": sample}), **(metadata or {})}
    ranges = inputs if calibration is None else _tensors(calibration)
    report = compile_graph(
        traced, form, path=target, force=force, entries=entries,
        calibration=[x.numpy() for x in ranges], int2=int2,
    )  # fmt: skip
    report.seconds = time.perf_counter() - start
    return report


def export_run(
    run: Run,
    path: str | Path | None = None,
    *,
    form: str = "packed",
    force: bool = False,
    calibration: Tensor | None = None,
    int2: bool = False,
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
        calibration=calibration, int2=int2,
    )  # fmt: skip


def _tensors(inputs: Tensor | Sequence[Tensor]) -> list[Tensor]:
    tensors = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    return [x.detach().cpu().float() if x.is_floating_point() else x.cpu() for x in tensors]


def _plain(value: Any) -> Any:
    """Returns a recipe, a dataclass or plain data already, as plain data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value
