"""``bnndeploy export``: a run, a zoo network or another tool's file to an ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from bnndeploy.cli._output import Json, emit_json, table

if TYPE_CHECKING:
    from torch import Tensor

    from bnndeploy.export import ExportReport
    from bnndeploy.training import TrainedRun

CALIBRATION_IMAGES = 64


def export(
    source: Annotated[
        str, Argument(help="A run directory, a recipe, a network of the zoo, or an .onnx file.")
    ],
    output: Annotated[Path, Option("--output", "-o", help="The ONNX file to write.")],
    form: Annotated[
        str | None, Option(help="packed, float, standard, int8 or qonnx; default: the recipe's.")
    ] = None,
    weights: Annotated[str, Option(help="trained, or random (seeded).")] = "trained",
    data: Annotated[
        Path | None,
        Option("--data", envvar="BNNDEPLOY_DATA", help="Folder of the data sets, for int8."),
    ] = None,
    int2: Annotated[
        bool, Option("--int2", help="Form standard with INT2 weights: opset 25, onnxruntime 1.24.")
    ] = False,
    explain: Annotated[bool, Option(help="Print what each pass did and why one declined.")] = False,
    draw: Annotated[
        Path | None, Option(help="Also write a picture of the graph before and after.")
    ] = None,
    force: Annotated[bool, Option(help="Overwrite existing files.")] = False,
    json: Json = False,
) -> None:
    """Export a trained network to ONNX with bit-packed weights."""
    from bnndeploy.export.writing import refuse_existing

    for path in (output, draw):
        if path is not None:
            refuse_existing(path, force)  # before the seconds that loading takes
    if source.endswith(".onnx"):
        report = _import(source, output, form or "packed", force, int2)
    else:
        report = _export(source, output, form, weights, data, force, int2)
    if draw is not None:
        from bnndeploy.export.draw import draw as draw_graphs

        draw_graphs(report.traced, report.model, draw, f"{source}, {report.form}")
    if json:
        emit_json(report.to_json())
        return
    if explain:
        typer.echo(_explanation(report))
    typer.echo(_summary(report))


def _import(source: str, output: Path, form: str, force: bool, int2: bool) -> ExportReport:
    from bnndeploy.export import import_model

    return import_model(source, output, form=form, force=force, int2=int2)


def _export(
    source: str,
    output: Path,
    form: str | None,
    weights: str,
    data: Path | None,
    force: bool,
    int2: bool,
) -> ExportReport:
    from bnndeploy.export import export_run  # torch loads here, not on --help
    from bnndeploy.training import load_run

    run = load_run(source, weights)
    form = form or run.recipe.export.form
    images = _calibration_images(run, data) if form == "int8" else None
    return export_run(run, output, form=form, force=force, calibration=images, int2=int2)


def _calibration_images(run: TrainedRun, data: Path | None) -> Tensor:
    import torch

    from bnndeploy.training import data as data_sets

    training = data_sets.load(run.recipe.data, data).train
    chosen = torch.linspace(0, len(training) - 1, CALIBRATION_IMAGES).long()
    return training.batch(chosen)


def _explanation(report: ExportReport) -> str:
    rows = [
        (event.pass_name, "did" if event.fired else "declined", event.subject, event.text)
        for event in report.events
    ]
    return table(["pass", "", "node", "what or why"], rows) + "\n"


def _summary(report: ExportReport) -> str:
    kinds = ", ".join(
        f"{name.replace('_', '-')} {size:,}" for name, size in report.bytes_by_kind.items() if size
    )
    before, after = (sum(counts.values()) for counts in (report.nodes_before, report.nodes_after))
    return (
        f"{report.path}: {report.form}, {report.size:,} bytes ({kinds})\n"
        f"{before} operators became {after}; {len(report.fired)} rewrites, "
        f"{len(report.declined)} declined"
    )
