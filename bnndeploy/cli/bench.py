"""``bnndeploy bench``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bnndeploy.cli._output import Json, emit_json, table

if TYPE_CHECKING:
    from bnndeploy.bench import BenchReport, NodeRow


def bench(
    model: Annotated[Path, typer.Argument(help="Packed model file.")],
    batch: Annotated[list[int], typer.Option(help="Batch size; repeat for several.")] = [1, 16],  # noqa: B006 (typer copies it)
    threads: Annotated[int, typer.Option(min=1, help="Threads of each session.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.05, help="Time for each form and batch.")] = 1.0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also list every node with its kernel variant.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="PNG to draw.")] = None,
    as_json: Json = False,
) -> None:
    """Time a packed model against its float32 and int8 forms, side by side in one run."""
    from bnndeploy import bench as benchmarks

    report = benchmarks.bench(model, batches=batch, threads=threads, seconds=seconds)
    if plot is not None:
        from bnndeploy.bench.plot import plot as draw

        draw(report, plot)
    nodes = {size: _explain(model, size, threads) for size in batch} if explain else {}
    if as_json:
        emit_json(
            {**asdict(report), "nodes": {b: [asdict(n) for n in ns] for b, ns in nodes.items()}}
        )
        return
    typer.echo(format_report(report))
    for size, rows in nodes.items():
        typer.echo(f"\nbatch {size}, node by node\n{format_nodes(rows)}")


def _explain(model: Path, batch: int, threads: int) -> tuple[NodeRow, ...]:
    import numpy as np

    from bnndeploy import bench as benchmarks
    from bnndeploy.runtime import InferenceSession

    inputs = benchmarks.random_inputs(InferenceSession(model), batch, np.random.default_rng(0))
    return benchmarks.explain(model, inputs, threads=threads)


def format_nodes(rows: Sequence[NodeRow]) -> str:
    """Lays out the nodes, slowest first; a dash is a kernel of ONNX Runtime's own."""
    header = ["node", "operator", "variant", "ms", "share", "GMAC/s"]
    return table(
        header,
        [
            [
                row.name,
                row.op,
                row.variant or "-",
                row.ms,
                f"{row.share:.1%}",
                "" if row.gmacs is None else f"{row.gmacs:.0f}",
            ]
            for row in rows
        ],
    )


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
