"""Times several contenders in one run, so that their ratios can be trusted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

# One turn lasts long enough for caches to settle and short enough that a slow moment of the
# machine falls on every contender alike.
TURN_SECONDS = 0.02


@dataclass(frozen=True)
class Timing:
    """Call times of one contender, in milliseconds."""

    calls: int
    p50: float
    p90: float
    p99: float


def interleave(contenders: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, Timing]:
    """Times the contenders in turns until each has had ``seconds``.

    A turn starts with one call that is not counted, since the contender before it has filled
    the caches with its own data.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    spent = dict.fromkeys(contenders, 0.0)
    while min(spent.values()) < seconds:
        for name, call in contenders.items():
            call()
            turn = _one_turn(call)
            samples[name] += turn
            spent[name] += sum(turn)
    return {name: _summarise(times) for name, times in samples.items()}


def _one_turn(call: Callable[[], object]) -> list[float]:
    times: list[float] = []
    begin = end = time.perf_counter()
    while end - begin < TURN_SECONDS:
        start = time.perf_counter()
        call()
        end = time.perf_counter()
        times.append(end - start)
    return times


def _summarise(seconds: list[float]) -> Timing:
    p50, p90, p99 = np.percentile(np.asarray(seconds) * 1e3, [50, 90, 99])
    return Timing(len(seconds), float(p50), float(p90), float(p99))
