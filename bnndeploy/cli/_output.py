"""What the commands share: the --json option, one-object output and aligned tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

JSON_SCHEMA = 1

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def emit_json(report: Mapping[str, Any]) -> None:
    """Prints the report as the single JSON object of the command."""
    typer.echo(json.dumps({"schema": JSON_SCHEMA, **report}, indent=2, default=str))


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Lays out rows under a header; numbers are right-aligned."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [
        max(len(header[column]), *(len(row[column]) for row in cells), 0)
        for column in range(len(header))
    ]
    numeric = [
        all(isinstance(row[column], int | float) for row in rows) for column in range(len(header))
    ]

    def line(texts: Sequence[str]) -> str:
        return "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(texts, widths, numeric, strict=True)
        ).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def _cell(value: object) -> str:
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
