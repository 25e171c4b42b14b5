import asyncio
import threading

import numpy as np
import pytest

from bnndeploy.service.batcher import Batcher
from bnndeploy.service.request_error import RequestError
from bnndeploy.service.settings import Settings


class Runs:
    """Doubles x, notes the rows of each run, and waits for ``release`` before it."""

    def __init__(self):
        self.rows = []
        self.release = threading.Event()
        self.release.set()

    def __call__(self, feeds):
        assert self.release.wait(10)
        self.rows.append(len(feeds["x"]))
        if np.any(feeds["x"] == 13):
            raise ValueError("unlucky")
        return [feeds["x"] * 2]


def rows(*values):
    return {"x": np.array(values, np.float32)}


async def submit_all(batcher, feeds, key="k"):
    """Submits while a first request, which is not counted, holds the model."""
    return await asyncio.gather(
        *(batcher.submit(feed, key) for feed in feeds), return_exceptions=True
    )


def run_batcher(scenario, **settings):
    """Runs ``scenario(batcher, runs)`` with a batcher that is closed afterwards."""

    async def main():
        runs = Runs()
        batcher = Batcher(runs, Settings(**settings))
        try:
            return await asyncio.wait_for(scenario(batcher, runs), 20)
        finally:
            runs.release.set()
            await batcher.close()

    return asyncio.run(main())


def test_requests_of_one_moment_are_joined_up_to_the_limit():
    async def scenario(batcher, runs):
        answers = await submit_all(batcher, [rows(i) for i in range(5)])
        assert [answer[0].tolist() for answer in answers] == [[0], [2], [4], [6], [8]]
        assert runs.rows == [2, 2, 1]

    run_batcher(scenario, max_batch=2, max_delay=0.01)


def test_requests_that_arrive_during_a_run_share_the_next_one():
    async def scenario(batcher, runs):
        runs.release.clear()
        first = asyncio.create_task(batcher.submit(rows(1), "k"))
        await asyncio.sleep(0.02)
        others = [asyncio.create_task(batcher.submit(rows(i, i), "k")) for i in (2, 3)]
        await asyncio.sleep(0.02)
        runs.release.set()

        assert (await first)[0].tolist() == [2]
        assert [(await other)[0].tolist() for other in others] == [[4, 4], [6, 6]]
        assert runs.rows == [1, 4]

    run_batcher(scenario, max_batch=8, max_delay=0)


def test_only_requests_of_one_key_are_joined_and_none_runs_alone():
    async def scenario(batcher, runs):
        keys = ["k", "other", None, None, "k"]
        answers = await asyncio.gather(
            *(batcher.submit(rows(i), key) for i, key in enumerate(keys))
        )
        assert [answer[0].tolist() for answer in answers] == [[0], [2], [4], [6], [8]]
        assert runs.rows == [2, 1, 1, 1]

    run_batcher(scenario, max_batch=8, max_delay=0.01)


def test_a_request_larger_than_a_batch_runs_alone():
    async def scenario(batcher, runs):
        answers = await submit_all(batcher, [rows(1, 2, 3), rows(4)])
        assert [answer[0].tolist() for answer in answers] == [[2, 4, 6], [8]]
        assert runs.rows == [3, 1]

    run_batcher(scenario, max_batch=2)


def test_requests_without_rows_join_too():
    async def scenario(batcher, runs):
        empty = {"x": np.zeros(0, np.float32)}
        answers = await submit_all(batcher, [empty, rows(1), empty])
        assert [answer[0].tolist() for answer in answers] == [[], [2], []]

    run_batcher(scenario, max_batch=4, max_delay=0.01)


def test_one_failing_request_does_not_spoil_those_it_was_joined_with():
    async def scenario(batcher, runs):
        answers = await submit_all(batcher, [rows(1), rows(13), rows(3)])
        assert answers[0][0].tolist() == [2]
        assert isinstance(answers[1], ValueError)
        assert answers[2][0].tolist() == [6]

    run_batcher(scenario, max_batch=4, max_delay=0.01)


def test_outputs_that_do_not_follow_the_batch_are_not_split():
    async def main():
        batcher = Batcher(lambda feeds: [feeds["x"].sum(keepdims=True)], Settings(max_delay=0.01))
        answers = await submit_all(batcher, [rows(1), rows(2)])
        await batcher.close()
        return answers

    assert [answer[0].tolist() for answer in asyncio.run(main())] == [[1], [2]]


def test_a_full_queue_is_refused_with_the_time_to_wait():
    async def scenario(batcher, runs):
        runs.release.clear()
        running = asyncio.create_task(batcher.submit(rows(0), "k"))
        await asyncio.sleep(0.02)
        waiting = [asyncio.create_task(batcher.submit(rows(i), "k")) for i in (1, 2)]
        await asyncio.sleep(0)

        with pytest.raises(RequestError, match="2 requests wait already") as info:
            await batcher.submit(rows(3), "k")
        assert info.value.status == 503
        assert info.value.retry_after >= 1

        runs.release.set()
        assert [(await task)[0].tolist() for task in (running, *waiting)] == [[0], [2], [4]]

    run_batcher(scenario, queue_limit=2)


def test_a_cancelled_request_leaves_the_queue():
    async def scenario(batcher, runs):
        runs.release.clear()
        running = asyncio.create_task(batcher.submit(rows(0), "k"))
        await asyncio.sleep(0.02)
        gone = asyncio.create_task(batcher.submit(rows(13), "k"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        later = asyncio.create_task(batcher.submit(rows(2), "k"))  # the queue has its place
        await asyncio.sleep(0)
        runs.release.set()

        assert (await running)[0].tolist() == [0]
        assert (await later)[0].tolist() == [4]
        assert runs.rows == [1, 1]

    run_batcher(scenario, queue_limit=1)


def test_closing_answers_what_waits_and_refuses_what_comes():
    async def scenario(batcher, runs):
        runs.release.clear()
        tasks = [asyncio.create_task(batcher.submit(rows(i), "k")) for i in range(3)]
        await asyncio.sleep(0.02)
        closing = asyncio.create_task(batcher.close())
        await asyncio.sleep(0)

        with pytest.raises(RequestError, match="is being unloaded"):
            await batcher.submit(rows(9), "k")

        runs.release.set()
        await closing
        assert [(await task)[0].tolist() for task in tasks] == [[0], [2], [4]]

    run_batcher(scenario, max_batch=1)
