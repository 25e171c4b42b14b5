"""Draws measured layers under the roofs of one core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

OURS = "#1b7f4b"
GREY = "#8a8f98"


def draw(rows: list[dict[str, Any]], limits: dict[str, float], path: Path) -> None:
    """Writes a PNG: multiply-accumulates a second over multiply-accumulates a packed byte.

    Args:
        rows: As kernels.py reports them; only our packed contender counts packed bytes.
        limits: "bits <instruction set>" in GMAC/s and "bytes" in GB/s.
        path: The PNG to write.
    """
    ours = [row for row in rows if row["share"] is not None]
    figure, axis = plt.subplots(figsize=(8, 5))
    intensity = np.geomspace(4, max(row["macs_per_byte"] for row in ours) * 2, 200)
    for name, gmacs in limits.items():
        if name.startswith("bits "):
            roof = np.minimum(gmacs, intensity * limits["bytes"])
            axis.loglog(intensity, roof, color=GREY, linewidth=1)
            axis.annotate(
                f"{name.removeprefix('bits ')} {gmacs:.0f}", (intensity[-1], gmacs),
                xytext=(-4, 3), textcoords="offset points", ha="right", fontsize=8, color=GREY,
            )  # fmt: skip
    for row in ours:
        axis.loglog(row["macs_per_byte"], row["gmacs"], "o", color=OURS)
        axis.annotate(
            row["subject"], (row["macs_per_byte"], row["gmacs"]), xytext=(5, -9),
            textcoords="offset points", fontsize=8, color=OURS,
        )  # fmt: skip
    axis.set_xlabel("multiply-accumulates per byte of packed input, weights and output")
    axis.set_ylabel("GMAC/s")
    axis.set_title(f"Packed layers under one core's limits; memory {limits['bytes']:.1f} GB/s")
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
