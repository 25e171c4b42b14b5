"""The interleaved timer."""

import itertools

from bnndeploy.bench import interleave


def test_every_contender_is_called_and_its_percentiles_are_ordered():
    calls = dict.fromkeys(("a", "b"), 0)

    def count(name):
        calls[name] += 1

    timings = interleave({"a": lambda: count("a"), "b": lambda: count("b")}, seconds=0.05)

    assert set(timings) == {"a", "b"}
    for name, timing in timings.items():
        assert 0 < timing.calls < calls[name]  # the first call of a turn is not counted
        assert timing.p50 <= timing.p90 <= timing.p99


def test_contenders_take_turns_rather_than_running_one_after_the_other():
    order = []

    interleave({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, seconds=0.05)
    changes = sum(before != after for before, after in itertools.pairwise(order))

    assert changes >= 3
