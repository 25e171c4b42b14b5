"""The parity report as one HTML page that needs nothing else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from bnndeploy.parity._report import Check, EndToEndStep, NodeStep, ParityReport

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Parity of {model}</title>
<style>
:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }}
body {{ max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }}
th, td {{ text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
.passed {{ color: #1a7f37; }} .failed {{ color: #cf222e; font-weight: 600; }}
</style>
<h1>Parity of {model}: {verdict}</h1>
<p>{about}</p>
{body}
</html>
"""


def write_html(report: ParityReport, path: Path) -> None:
    """Writes the page whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(to_html(report))
    Path(name).replace(path)


def to_html(report: ParityReport) -> str:
    """Returns the page."""
    against = f"run {report.run}" if report.run else "the sample embedded in the file"
    return _PAGE.format(
        model=escape(Path(report.model).name),
        verdict=_verdict(report.passed),
        about=escape(f"{report.model} against {against}; steps 1 to 3 on {report.samples} inputs."),
        body="\n".join(_section(step) for step in report.steps),
    )


def _section(step: NodeStep | EndToEndStep) -> str:
    head = (
        f"<h2>{step.number}. {escape(step.title)}: {_verdict(step.passed)}</h2>\n"
        f"<p>{escape(step.result)}</p>\n"
    )
    if isinstance(step, EndToEndStep):
        columns = ["input", "label", "trained", "file", "margin"]
        found = [[d.index, d.label, d.trained, d.deployed, d.margin] for d in step.disagreements]
        return head + (_table(columns, found) if found else "")
    columns = ["node", "against", "rule", "compared", "differ", "by rounding", "worst", "result"]
    return head + _table(columns, map(_row, step.checks))


def _row(check: Check) -> list[object]:
    return [
        check.node,
        check.against,
        "exact" if check.exact else "within rounding",
        check.compared,
        check.differing,
        check.explained,
        check.worst,
        check.problem or check.passed,
    ]


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    header = "".join(f"<th>{name}</th>" for name in columns)
    lines = ("".join(map(_cell, row)) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>\n<tr>{header}</tr>\n{body}\n</table>"


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return f"<td>{_verdict(value)}</td>"
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    if isinstance(value, float):
        return f'<td class="number">{value:.4g}</td>'
    return f"<td>{escape(str(value))}</td>"


def _verdict(passed: bool) -> str:
    word = "passed" if passed else "failed"
    return f'<span class="{word}">{word}</span>'
