"""Forward and gradient of each element-wise quantizer, by hand, at its edges."""

import math

import numpy as np
import pytest
import torch

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers import get

NAN, INF = float("nan"), float("inf")
TINY = 1e-45  # the smallest positive float32


def after(x, towards=INF):
    return float(np.nextafter(np.float32(x), np.float32(towards)))


# name, options, then rows of (x, q(x), dq/dx).
RULES = [
    ("approx_sign", {}, [
        (-INF, -1, 0), (-1.0, -1, 0), (-0.75, -1, 0.5), (-0.25, -1, 1.5), (-0.0, 1, 2),
        (0.0, 1, 2), (TINY, 1, 2), (-TINY, -1, 2), (0.5, 1, 1), (1.0, 1, 0), (2.0, 1, 0),
        (INF, 1, 0), (NAN, -1, 0),
    ]),
    ("ste_heaviside", {}, [
        (-INF, 0, 0), (-after(1), 0, 0), (-1.0, 0, 1), (-TINY, 0, 1), (-0.0, 0, 1), (0.0, 0, 1),
        (TINY, 1, 1), (1.0, 1, 1), (after(1), 1, 0), (INF, 1, 0), (NAN, 1, 0),
    ]),
    ("ste_heaviside", {"clip": 0.5}, [(0.5, 1, 1), (after(0.5), 1, 0)]),
    ("dorefa_activation", {"bits": 2}, [
        (-INF, 0, 0), (-TINY, 0, 0), (-0.0, 0, 1), (0.0, 0, 1), (0.16, 0, 1), (0.17, 1 / 3, 1),
        (0.49, 1 / 3, 1), (0.51, 2 / 3, 1), (1.0, 1, 1), (after(1), 1, 0), (INF, 1, 0),
        (NAN, NAN, 0),
    ]),
    ("dorefa_activation", {"bits": 1}, [(0.49, 0, 1), (0.51, 1, 1), (0.5, 0, 1)]),
    ("half", {}, [
        (-INF, -65504, 0), (0.1, 0.0999755859375, 1), (65504.0, 65504, 1), (1e5, 65504, 0),
        (65519.0, 65504, 0), (1 + 2**-11, 1, 1), (INF, 65504, 0), (NAN, NAN, 0), (-0.0, 0, 1),
    ]),
    ("sparse", {"threshold": 0.5}, [
        (-INF, -INF, 1), (-0.5, -0.5, 1), (-after(0.5, 0), 0, 1), (0.0, 0, 1),
        (after(0.5, 0), 0, 1), (0.5, 0.5, 1), (3.0, 3, 1), (NAN, NAN, 1),
    ]),
    ("no_op", {}, [(-INF, -INF, 1), (-0.3, -0.3, 1), (0.0, 0, 1), (NAN, NAN, 1)]),
    ("logarithmic", {}, [
        (0.0, 0, 1), (1.0, 1, 1), (1.4, 1, 1), (1.42, 2, 1), (-3.0, -4, 1), (-2.8, -2, 1),
        (0.25, 0.25, 1), (TINY, TINY, 1), (3e38, 2.0**127, 1), (INF, INF, 1),
        (-INF, -INF, 1), (NAN, NAN, 1),
    ]),
    ("power_of_two", {"bits": 3, "max_exponent": 0}, [
        # exponents -2, -1, 0; zero below 2^-2.5 = 0.1768
        (0.0, 0, 1), (0.17, 0, 1), (0.18, 0.25, 1), (-0.36, -0.5, 1), (0.7, 0.5, 1), (0.71, 1, 1),
        (1.414, 1, 1), (1.415, 1, 0), (-5.0, -1, 0), (INF, 1, 0), (NAN, NAN, 0),
    ]),
    ("fixed_point", {"size": 4, "precision": 1, "rounding": "zero"}, [
        # codes -8..7 in steps of 0.5
        (1.3, 1, 1), (-1.3, -1, 1), (3.5, 3.5, 1), (3.6, 3.5, 0), (-4.0, -4, 1), (-4.1, -4, 0),
        (INF, 3.5, 0), (-INF, -4, 0), (NAN, NAN, 0), (-0.0, 0, 1),
    ]),
    ("fixed_point", {"size": 4, "precision": 1, "rounding": "down"}, [
        (1.3, 1, 1), (-1.3, -1.5, 1),
    ]),
    ("fixed_point", {"size": 4, "precision": 1, "rounding": "nearest"}, [
        (1.3, 1.5, 1), (-1.3, -1.5, 1), (0.25, 0, 1), (0.75, 1, 1), (-0.25, 0, 1),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options", "rows"), RULES, ids=[f"{name}-{options}" for name, options, _ in RULES]
)
def test_forward_and_gradient_at_the_edges(forward_and_gradient, name, options, rows):
    x, value, gradient = (np.array(column, np.float32) for column in zip(*rows, strict=True))
    actual_value, actual_gradient = forward_and_gradient(get(name, **options), x)

    np.testing.assert_array_equal(actual_value, value)
    np.testing.assert_array_equal(actual_gradient, gradient)


@pytest.mark.parametrize("name", ["approx_sign", "ste_heaviside", "swish_sign", "rsign"])
def test_a_closed_gate_blocks_infinite_gradients(forward_and_gradient, name):
    _, gradient = forward_and_gradient(get(name), [[100.0, -100.0, NAN]], [[INF, NAN, INF]])

    assert gradient.tolist() == [[0, 0, 0]]


def test_swish_sign_follows_its_formula(forward_and_gradient):
    x = [-2.0, -0.7, -0.1, 0.0, 0.3, 1.0]
    y, gradient = forward_and_gradient(get("swish_sign", beta=5.0), x)

    expected = [5 * (2 - 5 * v * math.tanh(2.5 * v)) / (1 + math.cosh(5 * v)) for v in x]
    assert y.tolist() == [-1, -1, -1, 1, 1, 1]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)


def test_swish_sign_is_finite_far_away(forward_and_gradient):
    y, gradient = forward_and_gradient(get("swish_sign"), [-INF, -1e30, 1e30, INF, NAN])

    assert y.tolist() == [-1, -1, 1, 1, -1]
    assert gradient.tolist() == [0, 0, 0, 0, 0]


def test_rsign_moves_each_channel_by_its_threshold():
    quantizer = get("rsign", channels=2)
    with torch.no_grad():
        quantizer.threshold.copy_(torch.tensor([0.5, -0.5]))
    x = torch.tensor([[0.5, -0.5], [0.4, -0.6], [0.75, 1.0]], requires_grad=True)
    y = quantizer(x)
    y.sum().backward()

    slope = torch.tensor([[2.0, 2.0], [1.8, 1.8], [1.5, 0.0]])
    assert y.tolist() == [[1, 1], [-1, -1], [1, 1]]
    torch.testing.assert_close(x.grad, slope)
    torch.testing.assert_close(quantizer.threshold.grad, -slope.sum(0))


def test_rsign_finds_the_channels_on_its_axis():
    quantizer = get("rsign", channels=3, axis=-1)
    with torch.no_grad():
        quantizer.threshold.copy_(torch.tensor([-1.0, 0.0, 1.0]))

    assert quantizer(torch.zeros(2, 5, 3))[1, 4].tolist() == [1, 1, -1]
    assert get("rsign", channels=3)(torch.ones(2, 3, 4, 4)).shape == (2, 3, 4, 4)


def test_ede_sign_sharpens_with_progress(forward_and_gradient):
    quantizer = get("ede_sign")
    for progress, t in ((0.0, 0.1), (0.5, 1.0), (1.0, 10.0)):
        quantizer.set_progress(progress)
        _, gradient = forward_and_gradient(quantizer, [0.0, 0.5, -INF, NAN])

        k = max(1 / t, 1)
        expected = [k * t, k * t * (1 - math.tanh(t * 0.5) ** 2), 0, 0]
        np.testing.assert_allclose(gradient, expected, rtol=1e-5)


def test_stochastic_rounding_is_unbiased_and_deterministic_in_eval():
    torch.manual_seed(0)
    quantizer = get("fixed_point", size=8, precision=2, rounding="stochastic")
    n = 40_000
    for value in (-1.3, -0.05, 0.2, 0.25, 3.9):
        drawn = quantizer(torch.full((n,), value))

        # One step is 0.25, so a draw deviates by at most 0.125 from its mean.
        assert drawn.mean().item() == pytest.approx(value, abs=5 * 0.125 / math.sqrt(n) + 1e-6)
        assert set(drawn.tolist()) <= {math.floor(value * 4) / 4, math.floor(value * 4) / 4 + 0.25}
    assert quantizer.eval()(torch.tensor([0.2, 0.1])).tolist() == [0.25, 0]


@pytest.mark.parametrize(
    ("size", "precision", "largest"),
    [(16, 8, 127.99609375), (12, 11, 0.99951171875), (8, 4, 7.9375)],
)
def test_fixed_point_reaches_its_whole_range(size, precision, largest):
    quantizer = get("fixed_point", size=size, precision=precision)

    assert quantizer(torch.tensor([1e6, -1e6])).tolist() == [largest, -largest - 2.0**-precision]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("swish_sign", {"beta": 0}, "beta must be positive, got 0"),
        ("ste_heaviside", {"clip": -1}, "clip must be positive, got -1"),
        ("rsign", {"channels": 0}, "channels must be at least 1, got 0"),
        ("dorefa_activation", {"bits": 0}, r"bits must lie in 1\.\.16, got 0"),
        ("dorefa_weight", {"bits": 9}, r"bits must lie in 1\.\.8, got 9"),
        ("lsq", {"bits": 1}, r"bits must lie in 2\.\.16, got 1"),
        ("ede_sign", {"t_min": 2, "t_max": 1}, "got t_min 2 and t_max 1, expected 0 < t_min"),
        ("fixed_point", {"size": 25}, r"size must lie in 2\.\.24 .*got 25"),
        ("fixed_point", {"precision": -1}, r"precision must lie in 0\.\.64, got -1"),
        ("fixed_point", {"rounding": "up"}, "got rounding 'up', expected one of zero, down"),
        ("power_of_two", {"bits": 1}, r"bits must lie in 2\.\.7, got 1"),
        ("power_of_two", {"max_exponent": 40}, r"max_exponent must lie in -32\.\.32, got 40"),
        ("sparse", {"threshold": -1}, "threshold must be at least 0, got -1"),
        ("magnitude_aware_sign", {"clip": 0}, "clip must be positive, got 0"),
    ],
)
def test_wrong_options_are_named(name, options, message):
    with pytest.raises(RecipeError, match=message):
        get(name, **options)
