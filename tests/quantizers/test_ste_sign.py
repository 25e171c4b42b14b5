import math

import numpy as np
import pytest
import torch

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers import SteSign, get

NAN = float("nan")
INF = float("inf")
BELOW_ONE = float(np.nextafter(np.float32(1), np.float32(0)))
ABOVE_ONE = float(np.nextafter(np.float32(1), np.float32(2)))
EDGES = [-INF, -2, -1, -BELOW_ONE, -0.5, -0.0, 0.0, 1e-45, 0.5, BELOW_ONE, 1, ABOVE_ONE, 2, INF]
STRICT = [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
INCLUSIVE = [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0]


def test_zero_and_minus_zero_are_positive_and_nan_is_negative(forward_and_gradient):
    y, _ = forward_and_gradient(SteSign(), [-2.0, -0.0, 0.0, 3.0, NAN, -1e-45])

    assert y.tolist() == [-1, 1, 1, 1, -1, -1]


@pytest.mark.parametrize(
    ("gate", "expected"),
    [("inclusive", INCLUSIVE), ("strict", STRICT), ("identity", [1] * len(EDGES))],
)
def test_gate_at_the_edges(forward_and_gradient, gate, expected):
    _, gradient = forward_and_gradient(SteSign(gate=gate), EDGES)

    assert gradient.tolist() == expected


@pytest.mark.parametrize("gate", ["inclusive", "strict"])
def test_nan_and_blocked_infinite_gradients_do_not_leak(forward_and_gradient, gate):
    _, gradient = forward_and_gradient(
        SteSign(gate=gate), [NAN, 2.0, 2.0, 0.5], [1.0, INF, NAN, 3.0]
    )

    assert gradient.tolist() == [0, 0, 0, 3]


def test_clip_moves_the_gate(forward_and_gradient):
    quantizer = SteSign(clip=2.0)
    _, gradient = forward_and_gradient(quantizer, [-2.5, -2.0, 1.5, 2.0, 2.0000002])

    assert gradient.tolist() == [0, 1, 1, 1, 0]
    assert quantizer.latent_clip == 2.0


# An input printed in a public thread about this estimator; only four values lie inside the gate.
THREAD_INPUT = """
    0.9794708 7.8065434 -3.2875454 -1.097891 -12.721996 16.402979 -0.5255345 -17.342981
    -8.2592535 4.5270705 -2.2045264 -6.380336 19.783878 -3.1297235 2.1022735 -3.7433875
    5.914869 -6.8573623 7.194282 12.00661 -8.9192095 -8.119039 -5.6874366 16.598093
    11.135046 4.029105 1.9707218 -14.666031 -1.1781573 -15.765383 -10.605588 -9.970756
    -6.453623 5.412363 -11.768549 6.1537633 -2.8233638 -11.992054 15.38794 -7.156569
    -11.156998 -17.290377 -8.680723 -13.315008 7.547665 -5.0133014 4.5976114 19.168005
    16.036833 -7.766696 -9.976102 -6.782584 -8.240993 2.4700897 2.6926963 0.5079334
    -16.131004 16.755043 2.1212428 6.922239 -3.4023576 0.32383335 -1.2782183 3.959227
"""


@pytest.mark.parametrize("gate", ["inclusive", "strict"])
def test_gradient_of_a_published_input(forward_and_gradient, gate):
    values = np.array(THREAD_INPUT.split(), np.float32).reshape(2, 4, 4, 2)
    expected = np.zeros((2, 4, 4, 2), np.float32)
    for index in [(0, 0, 0, 0), (0, 0, 3, 0), (1, 2, 3, 1), (1, 3, 2, 1)]:
        expected[index] = 1

    y, gradient = forward_and_gradient(SteSign(gate=gate), values)

    np.testing.assert_array_equal(gradient, expected)
    np.testing.assert_array_equal(y, np.where(values >= 0, 1, -1))


@pytest.mark.parametrize(
    ("gate", "clip_after", "expected"),
    [
        ("strict", True, 1.0),  # frozen at the bound for ever
        ("inclusive", True, -1.0),
        ("identity", True, -1.0),
        ("inclusive", False, 1.05),  # frozen outside the gate
        ("identity", False, -0.05),
    ],
)
def test_latent_weight_at_the_bound(gate, clip_after, expected):
    quantizer = SteSign(gate=gate)
    latent = torch.tensor(0.95, dtype=torch.float64, requires_grad=True)
    for step in range(30):
        (gradient,) = torch.autograd.grad(quantizer(latent), latent)
        with torch.no_grad():
            latent -= 0.1 * (-1.0 if step < 10 else 1.0) * gradient
            if clip_after:
                latent.clamp_(-1, 1)

    assert latent.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("other", "open_"),
    [(1.0, 1), (-1.0, 1), (ABOVE_ONE, 0), (-ABOVE_ONE, 0), (INF, 0), (-INF, 0), (NAN, 0)],
)
def test_the_gate_of_a_latent_is_that_of_any_tensor(other, open_):
    # A latent inside the gate as a whole goes another way than one that is not.
    latent = torch.nn.Parameter(torch.tensor([0.5, other, -0.5]))
    SteSign()(latent).sum().backward()

    assert latent.grad.tolist() == [1, open_, 1]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_changes_no_sign_of_a_latent_and_no_gradient(dtype):
    latent = torch.nn.Parameter(torch.tensor([-1e-30, -1e-9, 1e-9, -0.0, -1.0, ABOVE_ONE]))
    with torch.autocast("cpu", dtype):
        codes = SteSign()(latent)
    codes.float().sum().backward()

    assert codes.tolist() == [-1, -1, 1, 1, -1, 1]
    assert latent.grad.tolist() == [1, 1, 1, 1, 1, 0]
    assert latent.grad.dtype == torch.float32


def test_latents_without_values_are_taken_for_counting():
    latent = torch.nn.Parameter(torch.empty(3, device="meta"))

    assert SteSign()(latent).shape == (3,)


def test_strict_gate_is_refused_on_weights():
    with pytest.raises(RecipeError, match=r"gate 'strict' for weights.*use 'inclusive'"):
        SteSign(gate="strict").attach(torch.zeros(2, 2))


def test_stochastic_mode_draws_with_the_probability_of_the_paper():
    torch.manual_seed(0)
    quantizer = SteSign(mode="stochastic")
    n = 40_000
    for value in (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0):
        mean = quantizer(torch.full((n,), value)).mean().item()

        probability = min(max((value + 1) / 2, 0), 1)
        deviation = 2 * math.sqrt(probability * (1 - probability) / n)
        assert mean == pytest.approx(2 * probability - 1, abs=5 * deviation)


def test_stochastic_mode_is_deterministic_in_eval():
    quantizer = SteSign(mode="stochastic").eval()
    x = torch.linspace(-1, 1, 101)

    assert torch.equal(quantizer(x), torch.where(x >= 0, 1.0, -1.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_keeps_the_dtype_of_value_and_gradient(dtype):
    x = torch.tensor([-0.5, 2.0], dtype=dtype, requires_grad=True)
    y = SteSign()(x)
    y.sum().backward()

    assert y.dtype == dtype
    assert x.grad.dtype == dtype


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clip": 0.0}, "clip must be positive, got 0.0"),
        ({"clip": NAN}, "clip must be positive, got nan"),
        ({"gate": "open"}, "got gate 'open', expected one of inclusive, strict, identity"),
        ({"mode": "random"}, "got mode 'random', expected one of deterministic, stochastic"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(RecipeError, match=message):
        get("ste_sign", **options)
