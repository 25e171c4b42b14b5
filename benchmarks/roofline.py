"""Draws measured layers under the roofs of one core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

GREY = "#8a8f98"
SLOPES = {"cache": "-", "memory": ":"}  # where the operands come from


def draw(rows: list[dict[str, Any]], limits: dict[str, float], path: Path) -> None:
    """Writes a PNG: multiply-accumulates a second over multiply-accumulates a packed byte.

    Args:
        rows: As kernels.py reports them; only our packed contender counts packed bytes.
        limits: As the program limits prints them, in GMAC/s and GB/s.
        path: The PNG to write.
    """
    ours = [row for row in rows if row["share"] is not None]
    figure, axis = plt.subplots(figsize=(9, 5))
    intensity = np.geomspace(3, max(row["macs_per_byte"] for row in ours) * 2, 400)
    roofs = {k.removeprefix("bits "): v for k, v in limits.items() if k.startswith("bits ")}
    for name, gmacs in roofs.items():
        axis.loglog(
            intensity, np.minimum(gmacs, intensity * limits["bytes cache"]), color=GREY, lw=1
        )
        axis.annotate(
            f"{name} {gmacs:.0f}", (gmacs / limits["bytes cache"], gmacs), xytext=(4, 3),
            textcoords="offset points", fontsize=8, color=GREY,
        )  # fmt: skip
    best = max(roofs.values())
    for source, style in SLOPES.items():
        speed = limits[f"bytes {source}"]
        below = intensity[intensity * speed <= best]
        axis.loglog(below, below * speed, style, color=GREY, label=f"{source}: {speed:.0f} GB/s")
    colours = plt.get_cmap("tab10")
    for index, row in enumerate(ours):
        label = f"{row['subject']}: {row['gmacs']:.0f}"
        axis.loglog(row["macs_per_byte"], row["gmacs"], "o", color=colours(index % 10), label=label)
    axis.set_xlabel("multiply-accumulates per byte of packed input, weights and output")
    axis.set_ylabel("GMAC/s")
    axis.set_title("Packed layers, bits out, under the limits of one core")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
