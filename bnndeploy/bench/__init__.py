"""Measuring a packed file against the float32 and int8 form of the same network."""

from bnndeploy.bench.compare import BenchReport, BenchRow, bench, random_inputs
from bnndeploy.bench.explain import NodeRow, explain
from bnndeploy.bench.measure import Timing, interleave

__all__ = [
    "BenchReport",
    "BenchRow",
    "NodeRow",
    "Timing",
    "bench",
    "explain",
    "interleave",
    "random_inputs",
]
