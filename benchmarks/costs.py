"""Fits the cost model of the products to measured calls.

    python benchmarks/costs.py build/benchmarks/costs [--runs N] [--only TEXT]

Prints one line a variant: the members of Cost (custom_ops/kernels/product/cost.h) in nanoseconds,
and how far the model is from the measured times. The best of several runs is fitted, as a shared
machine slows any of them down.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

STRIP, WORD = 32, 32  # output channels of a strip, codes of a word
AMX_TILE = 16
Key = tuple[int, int, int, int]  # taps, channels, outputs, positions


def best_of(program: Path, runs: int, part: str) -> dict[str, dict[Key, float]]:
    """Returns the best nanoseconds of every size, by variant."""
    found: dict[str, dict[Key, float]] = defaultdict(dict)
    for _ in range(runs):
        printed = subprocess.run([program, "0.001", part], capture_output=True, check=True).stdout
        for row in map(json.loads, printed.splitlines()):
            if row["seconds"] <= 0:  # a call too short for the clock of the thread
                continue
            key = (row["taps"], row["channels"], row["outputs"], row["positions"])
            of_variant = found[row["variant"]]
            of_variant[key] = min(row["seconds"] * 1e9, of_variant.get(key, float("inf")))
    return found


def fit(times: dict[Key, float], tile: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the costs by least squares of relative errors, and modelled over measured times."""
    terms, measured = [], []
    for (taps, channels, outputs, positions), nanoseconds in times.items():
        strips, words = -(-outputs // STRIP), -(-channels // WORD)
        filters = strips * words * taps
        tiled = -(-positions // tile) * tile
        terms.append([1, filters, filters * tiled, words * positions, strips * positions])
        measured.append(nanoseconds)
    relative = np.asarray(terms) / np.asarray(measured)[:, None]
    costs, _ = nnls(relative, np.ones(len(measured)))
    return costs, relative @ costs


def line(variant: str, tile: int, costs: Any, ratios: Any) -> str:
    """Lays out one variant."""
    members = ", ".join(f"{cost:.3g}" for cost in costs)
    low, middle, high = np.percentile(ratios, [5, 50, 95])
    return f"{variant:<20} {{{tile}, {members}}}  model/measured {low:.2f} {middle:.2f} {high:.2f}"


def main() -> None:
    """Prints the costs of every variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help="the built program costs")
    parser.add_argument("--only", default="", help="variants whose name holds this text")
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    for variant, times in best_of(arguments.program, arguments.runs, arguments.only).items():
        tile = AMX_TILE if "amx" in variant else 1
        print(line(variant, tile, *fit(times, tile)))


if __name__ == "__main__":
    main()
