"""Draws a bench report."""

from __future__ import annotations

from pathlib import Path

from bnndeploy.bench.compare import BenchReport

COLOURS = {"packed": "#1b7f4b", "float32": "#8a8f98", "int8": "#c9822b"}


def plot(report: BenchReport, path: Path) -> None:
    """Writes a PNG: time per call with its p90 mark for each batch size, and file sizes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    batches = list(dict.fromkeys(row.batch for row in report.rows))
    figure, axes = plt.subplots(1, len(batches) + 1, figsize=(3.2 * (len(batches) + 1), 3.2))
    for axis, batch in zip(axes, batches, strict=False):
        rows = [row for row in report.rows if row.batch == batch]
        names = [row.form for row in rows]
        medians = [row.timing.p50 for row in rows]
        tails = [row.timing.p90 - row.timing.p50 for row in rows]
        bars = axis.bar(
            names, medians, yerr=[[0] * len(rows), tails], color=[COLOURS[n] for n in names]
        )
        axis.bar_label(bars, [f"{m:.3g}" for m in medians], padding=3)
        axis.set_title(f"batch {batch}: ms per call")
        axis.margins(y=0.15)
    names = list(report.bytes)
    sizes = [report.bytes[name] / 1024 for name in names]
    bars = axes[-1].bar(names, sizes, color=[COLOURS[n] for n in names])
    axes[-1].bar_label(bars, [f"{s:,.0f}" for s in sizes], padding=3)
    axes[-1].set_title("file: KiB")
    axes[-1].margins(y=0.15)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{report.model}, {report.threads} thread(s), median with p90")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
