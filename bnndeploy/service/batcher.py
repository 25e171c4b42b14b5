"""Joins the requests of one model into batches and runs one batch at a time.

A request that finds the model idle waits ``max_delay`` for company; requests that arrive while a
batch runs have waited already, so the next batch takes them all at once. A batch holds requests
of one shape, in the order of their arrival, up to ``max_batch`` rows; a single larger request
runs alone. Rows are independent of each other, so a batch only changes how fast answers come
(float sums may round differently with the number of rows, as in any matrix library).
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from bnndeploy.service.datatypes import Array
from bnndeploy.service.request_error import RequestError
from bnndeploy.service.settings import Settings

Feeds = Mapping[str, Array]
Run = Callable[[Feeds], Sequence[Array]]


@dataclass(eq=False)
class _Waiting:
    """Holds one request; only requests with the same key (not None) can be joined."""

    feeds: Feeds
    key: Hashable | None
    rows: int
    answer: asyncio.Future[Sequence[Array]]
    arrived: float = field(default_factory=time.monotonic)


class Batcher:
    """Runs the requests of one model.

    Args:
        run: Computes all outputs for joined inputs; called in a thread of its own.
        settings: Gives ``max_batch``, ``max_delay`` and ``queue_limit``.
        observe: Is told the rows and seconds of each run.
    """

    def __init__(
        self, run: Run, settings: Settings, observe: Callable[[int, float], None] | None = None
    ) -> None:
        self._run = run
        self._settings = settings
        self._observe = observe or (lambda rows, seconds: None)
        self._queue: deque[_Waiting] = deque()
        self._changed = asyncio.Event()
        self._closing = False
        self._last_seconds = 0.0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bnndeploy-batch")
        self._task = asyncio.create_task(self._work())

    async def submit(self, feeds: Feeds, key: Hashable | None) -> Sequence[Array]:
        """Returns the outputs of one request; a key of None asks for a run of its own.

        Raises:
            RequestError: With status 503, if too many requests wait or the model is being closed.
        """
        if self._closing:
            raise RequestError(503, "model: is being unloaded", retry_after=1)
        if len(self._queue) >= self._settings.queue_limit:
            raise RequestError(
                503,
                f"model: {len(self._queue)} requests wait already, ask again later",
                retry_after=self._seconds_until_free(),
            )
        rows = 1 if key is None else len(next(iter(feeds.values())))
        waiting = _Waiting(feeds, key, rows, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._changed.set()
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            with contextlib.suppress(ValueError):  # it may be running
                self._queue.remove(waiting)
            raise

    async def close(self) -> None:
        """Refuses new requests, answers the waiting ones and stops."""
        self._closing = True
        self._changed.set()
        await self._task
        self._thread.shutdown(wait=False)

    async def _work(self) -> None:
        while True:
            batch = await self._gather()
            if batch:
                await self._answer(batch)
            elif self._closing:
                return

    async def _gather(self) -> list[_Waiting]:
        """Waits for the next batch; it is empty when closing, or after all were cancelled."""
        while not self._queue and not self._closing:
            await self._change()
        while self._queue and not self._closing and not self._is_full():
            left = self._queue[0].arrived + self._settings.max_delay - time.monotonic()
            if left <= 0 or not await self._change(left):
                break
        return self._take()

    async def _change(self, seconds: float | None = None) -> bool:
        """Waits for an arrival; returns False when the time is over."""
        self._changed.clear()
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _is_full(self) -> bool:
        key = self._queue[0].key
        rows = sum(waiting.rows for waiting in self._queue if waiting.key == key)
        return key is None or rows >= self._settings.max_batch

    def _take(self) -> list[_Waiting]:
        """Removes the oldest request and those that can join it."""
        if not self._queue:
            return []
        batch = [self._queue.popleft()]
        rows = batch[0].rows
        others: deque[_Waiting] = deque()
        for waiting in self._queue:
            fits = rows + waiting.rows <= self._settings.max_batch
            if fits and waiting.key is not None and waiting.key == batch[0].key:
                batch.append(waiting)
                rows += waiting.rows
            else:
                others.append(waiting)
        self._queue = others
        return batch

    async def _answer(self, batch: list[_Waiting]) -> None:
        loop = asyncio.get_running_loop()
        try:
            parts = await loop.run_in_executor(self._thread, self._run_joined, batch)
        except Exception as error:
            if len(batch) > 1:  # one of them may be at fault: the others get their answer
                for waiting in batch:
                    await self._answer([waiting])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(error)
            return
        for waiting, outputs in zip(batch, parts, strict=True):
            if not waiting.answer.done():  # the client may have gone
                waiting.answer.set_result(outputs)

    def _run_joined(self, batch: list[_Waiting]) -> list[Sequence[Array]]:
        """Runs in the thread: joins the inputs, runs, splits the outputs."""
        started = time.monotonic()
        outputs = self._run(_join([waiting.feeds for waiting in batch]))
        self._last_seconds = time.monotonic() - started
        rows = [waiting.rows for waiting in batch]
        self._observe(sum(rows), self._last_seconds)
        return [outputs] if len(batch) == 1 else _split(outputs, rows)

    def _seconds_until_free(self) -> int:
        runs = math.ceil(len(self._queue) / self._settings.max_batch)
        return max(1, math.ceil(runs * self._last_seconds))


def _join(feeds: Sequence[Feeds]) -> Feeds:
    if len(feeds) == 1:
        return feeds[0]
    return {name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]}


def _split(outputs: Sequence[Array], rows: Sequence[int]) -> list[Sequence[Array]]:
    for output in outputs:
        if len(output) != sum(rows):
            raise ValueError(f"an output has {len(output)} rows, expected {sum(rows)}")
    ends = np.cumsum(rows)
    return [
        [output[end - count : end] for output in outputs]
        for end, count in zip(ends.tolist(), rows, strict=True)
    ]
