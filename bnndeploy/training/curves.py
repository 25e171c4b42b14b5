"""Draws curves.png: loss and accuracy over the epochs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bnndeploy.training import _atomic


def draw_curves(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Plots the training and validation columns of metrics.csv."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    # Figure and Agg canvas by hand: pyplot would pick a backend and keep global state.
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    epochs = [row["epoch"] for row in rows]
    for place, (what, scale) in enumerate((("loss", 1.0), ("accuracy", 100.0)), start=1):
        axes = figure.add_subplot(1, 2, place)
        for split, style in (("train", "--"), ("validation", "-")):
            values = [scale * row[f"{split}_{what}"] for row in rows]
            axes.plot(epochs, values, style, label=split, marker="." if len(rows) < 40 else None)
        axes.set_xlabel("epoch")
        axes.set_ylabel("accuracy in %" if what == "accuracy" else what)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        axes.legend()
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=110)
    _atomic.write_bytes(path, image.getvalue())
