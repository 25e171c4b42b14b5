"""``bnndeploy export``: a run or zoo network to an ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from bnndeploy.cli._output import Json, emit_json, table

if TYPE_CHECKING:
    from bnndeploy.export import ExportReport


def export(
    source: Annotated[str, Argument(help="A run directory, a recipe, or a network of the zoo.")],
    output: Annotated[Path, Option("--output", "-o", help="The ONNX file to write.")],
    form: Annotated[
        str | None, Option(help="packed, float, standard, int8 or qonnx; default: the recipe's.")
    ] = None,
    weights: Annotated[str, Option(help="trained, or random (seeded).")] = "trained",
    explain: Annotated[bool, Option(help="Print what each pass did and why one declined.")] = False,
    force: Annotated[bool, Option(help="Overwrite an existing file.")] = False,
    json: Json = False,
) -> None:
    """Export a trained network to ONNX with bit-packed weights."""
    from bnndeploy.export import export_run  # torch loads here, not on --help
    from bnndeploy.export.writing import refuse_existing
    from bnndeploy.training import load_run

    refuse_existing(output, force)  # before the seconds that loading takes
    run = load_run(source, weights)
    report = export_run(run, output, form=form or run.recipe.export.form, force=force)
    if json:
        emit_json(report.to_json())
        return
    if explain:
        typer.echo(_explanation(report))
    typer.echo(_summary(report))


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
        f"{len(report.declined)} declined{'' if report.events else ' (none apply to this form)'}"
    )
