"""Contenders that take turns, so that whatever else the machine does falls on all of them."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS_PER_ROUND = 5

Run = Callable[[], object]


@dataclass(frozen=True)
class Contender:
    """One way to compute a layer or a network."""

    name: str
    run: Run


class Peers:
    """Other engines in a Python of their own (peers.py); without a Python there are none."""

    def __init__(self, python: Path | None) -> None:
        self._process = None
        if python is not None:
            script = str(Path(__file__).with_name("peers.py"))
            self._process = subprocess.Popen(
                [str(python), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )

    def ask(self, request: dict[str, Any]) -> Any:
        """Sends one request of peers.py and returns its answer; {} without a process."""
        if self._process is None:
            return {}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("peers: the process ended, see its messages above")
        return json.loads(answer)


def take_turns(
    contenders: Sequence[Contender], rounds: int, peers: Peers, request: dict[str, Any]
) -> dict[str, list[float]]:
    """Returns the best milliseconds of every round for every contender, peers last."""
    for contender in contenders:
        contender.run()
    peers.ask(request)
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for contender in contenders:
            best = min(_milliseconds(contender.run) for _ in range(RUNS_PER_ROUND))
            times.setdefault(contender.name, []).append(best)
        for name, best in peers.ask({"round": RUNS_PER_ROUND}).items():
            times.setdefault(name, []).append(best)
    return times


def _milliseconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def rows(subject: str, times: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Summarises one layer or network; ratios are against the first contender, by medians."""
    first = statistics.median(next(iter(times.values())))
    return [
        {
            "subject": subject,
            "contender": name,
            "best_ms": min(values),
            "median_ms": statistics.median(values),
            "times_ours": statistics.median(values) / first,
        }
        for name, values in times.items()
    ]
