"""Measuring a packed file against the float32 and int8 form of the same network."""

from bnndeploy.bench.compare import BenchReport, BenchRow, bench
from bnndeploy.bench.measure import Timing, interleave

__all__ = ["BenchReport", "BenchRow", "Timing", "bench", "interleave"]
