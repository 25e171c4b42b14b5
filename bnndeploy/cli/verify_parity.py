"""``bnndeploy verify-parity``: proves that a file computes what was trained."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from bnndeploy.cli._output import Json, emit_json, table

if TYPE_CHECKING:
    from bnndeploy.parity import EndToEndStep, NodeStep, ParityReport

_SHOWN_DISAGREEMENTS = 20


def verify_parity(
    model: Annotated[Path, Argument(help="The ONNX file.")],
    run: Annotated[
        str | None,
        Option(help="The run directory, recipe or zoo network it was exported from."),
    ] = None,
    weights: Annotated[str, Option(help="Of --run: trained, or random (seeded).")] = "trained",
    data: Annotated[
        Path | None, Option("--data", envvar="BNNDEPLOY_DATA", help="Folder of the data sets.")
    ] = None,
    limit: Annotated[int | None, Option(min=1, help="Test images to classify at most.")] = None,
    bisect: Annotated[
        Path | None, Option(help="New folder for a reproducer of the first difference.")
    ] = None,
    html: Annotated[Path | None, Option(help="Write the report as a web page.")] = None,
    force: Annotated[bool, Option(help="Overwrite the web page.")] = False,
    json: Json = False,
) -> None:
    """Prove in four steps that a file computes what was trained; exit code 1 if it does not."""
    from bnndeploy.export.writing import refuse_existing
    from bnndeploy.parity import verify, write_html

    if html is not None:
        refuse_existing(html, force)
    if run is None:
        report = verify(model, bisect=bisect)
    else:
        from bnndeploy.training import data as data_sets
        from bnndeploy.training import load_run

        trained = load_run(run, weights)
        splits = data_sets.load(trained.recipe.data, data)
        report = verify(model, trained, splits, limit, bisect)
    if html is not None:
        write_html(report, html)
    if json:
        emit_json(report.to_json())
    else:
        typer.echo(format_report(report))
        if report.reproducer:
            typer.echo(f"\nreproducer of {report.reproducer}: {bisect}")
    report.raise_if_failed()


def format_report(report: ParityReport) -> str:
    """Lays out every node of steps 1 to 3, one line for each step and the disagreements."""
    rows = [row for step in report.steps for row in _rows(step)]
    header = ["step", "node", "against", "rule", "compared", "differ", "rounding", "result"]
    lines = [table(header, rows), ""]
    for step in report.steps:
        lines.append(f"{step.number}. {step.title}: {_verdict(step.passed)}\n   {step.result}")
    lines += _disagreements(report)
    return "\n".join(lines)


def _rows(step: NodeStep | EndToEndStep) -> list[list[object]]:
    """One row for each node; its instruction sets share it."""
    rows: list[list[object]] = []
    for node, group in groupby(getattr(step, "checks", []), key=lambda check: check.node):
        checks = list(group)
        rows.append(
            [
                step.number,
                node,
                ", ".join(dict.fromkeys(check.against for check in checks)),
                "exact" if all(check.exact for check in checks) else "within rounding",
                sum(check.compared for check in checks),
                sum(check.differing for check in checks),
                sum(check.explained for check in checks),
                _verdict(all(check.passed for check in checks)),
            ]
        )
    return rows


def _disagreements(report: ParityReport) -> list[str]:
    found = [d for step in report.steps for d in getattr(step, "disagreements", [])]
    if not found:
        return []
    rows = [[d.index, d.label, d.trained, d.deployed, d.margin] for d in found]
    header = ["input", "label", "trained", "file", "margin"]
    more = len(rows) - _SHOWN_DISAGREEMENTS
    lines = ["", table(header, rows[:_SHOWN_DISAGREEMENTS])]
    return [*lines, f"and {more} more"] if more > 0 else lines


def _verdict(passed: bool) -> str:
    return "passed" if passed else "FAILED"
