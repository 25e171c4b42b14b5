"""``bnndeploy bench``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bnndeploy.cli._output import Json, emit_json, table

if TYPE_CHECKING:
    from bnndeploy.bench import BenchReport


def bench(
    model: Annotated[Path, typer.Argument(help="Packed model file.")],
    batch: Annotated[list[int], typer.Option(help="Batch size; repeat for several.")] = [1, 16],  # noqa: B006 (typer copies it)
    threads: Annotated[int, typer.Option(min=1, help="Threads of each session.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.05, help="Time for each form and batch.")] = 1.0,
    plot: Annotated[Path | None, typer.Option(help="PNG to draw.")] = None,
    as_json: Json = False,
) -> None:
    """Time a packed model against its float32 and int8 forms, side by side in one run."""
    from bnndeploy import bench as benchmarks

    report = benchmarks.bench(model, batches=batch, threads=threads, seconds=seconds)
    if plot is not None:
        from bnndeploy.bench.plot import plot as draw

        draw(report, plot)
    if as_json:
        emit_json(asdict(report))
        return
    typer.echo(format_report(report))


def format_report(report: BenchReport) -> str:
    """Lays out the rows: packed is the unit that the others are compared with."""
    rows = [
        [
            row.form,
            row.batch,
            row.timing.p50,
            row.timing.p90,
            row.timing.p99,
            f"{row.ratio:.2f}x",
            f"{report.bytes[row.form]:,}",
        ]
        for row in report.rows
    ]
    header = ["form", "batch", "p50 ms", "p90 ms", "p99 ms", "time / packed", "bytes"]
    return table(header, rows)
