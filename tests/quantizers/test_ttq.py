import pytest
import torch

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers import Ttq, get

WEIGHT = torch.tensor([-0.9, -0.5, -0.04, 0.0, 0.03, 0.3, 1.0], dtype=torch.float64)
UPSTREAM = torch.tensor([0.2, -0.4, 0.1, 0.3, -0.2, 0.5, -0.1], dtype=torch.float64)
EFFECTIVE = [-0.9, -0.9, 0, 0, 0, 0.7, 0.7]
LATENT_GRADIENT = [0.18, -0.36, 0.1, 0.3, -0.2, 0.35, -0.07]


def quantizer_with(w_pos=0.7, w_neg=0.9, **options):
    quantizer = Ttq(**options).double()
    with torch.no_grad():
        quantizer.w_pos.fill_(w_pos)
        quantizer.w_neg.fill_(w_neg)
    return quantizer


def close(actual, expected):
    torch.testing.assert_close(
        actual, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-12
    )


def test_effective_weight_and_latent_gradient(forward_and_gradient):
    y, gradient = forward_and_gradient(quantizer_with(), WEIGHT, UPSTREAM)

    close(y, EFFECTIVE)
    close(gradient, LATENT_GRADIENT)


@pytest.mark.parametrize(
    ("scale_gradient", "factor"), [("sum", 1), ("mean", 1 / 7), ("1/sqrt(n)", 7**-0.5)]
)
def test_scale_gradients(forward_and_gradient, scale_gradient, factor):
    quantizer = quantizer_with(scale_gradient=scale_gradient)
    forward_and_gradient(quantizer, WEIGHT, UPSTREAM)

    close(quantizer.w_pos.grad, [0.4 * factor])
    close(quantizer.w_neg.grad, [0.2 * factor])


def test_scale_gradients_equal_finite_differences():
    def loss(w_pos, w_neg):
        with torch.no_grad():
            return (UPSTREAM * quantizer_with(w_pos, w_neg)(WEIGHT)).sum().item()

    step = 1e-6
    assert (loss(0.7 + step, 0.9) - loss(0.7 - step, 0.9)) / 2 / step == pytest.approx(0.4)
    assert (loss(0.7, 0.9 + step) - loss(0.7, 0.9 - step)) / 2 / step == pytest.approx(0.2)


def test_a_latent_crosses_over_to_the_level_that_it_wants():
    quantizer = quantizer_with(0.7, 0.7)
    # A second weight of 1 keeps the threshold at 0.05.
    latent = torch.tensor([-0.6, 1.0], dtype=torch.float64, requires_grad=True)
    for _ in range(60):
        effective = quantizer(latent)
        (gradient,) = torch.autograd.grad(effective, latent, effective.detach() - 0.5)
        with torch.no_grad():
            latent[0] -= 0.05 * gradient[0]

    assert quantizer(latent)[0].item() == 0.7


def test_a_negative_scale_never_flips_the_latent_gradient(forward_and_gradient):
    _, gradient = forward_and_gradient(quantizer_with(-0.7, -0.9), WEIGHT, UPSTREAM)

    close(gradient, LATENT_GRADIENT)


def test_a_weight_on_the_threshold_gives_zero():
    quantizer = Ttq(threshold=0.5)
    codes = quantizer.codes_and_scales(torch.tensor([[1.0, 0.5, -0.5, 0.50001, -0.50001]]))

    assert codes.codes.tolist() == [[1, 0, 0, 1, -1]]


@pytest.mark.parametrize("sparsity", [0.0, 0.3, 0.5, 0.99])
def test_sparsity_target_is_met(sparsity):
    torch.manual_seed(0)
    weight = torch.randn(40, 25)
    codes = Ttq(sparsity=sparsity).codes_and_scales(weight).codes

    assert (codes == 0).sum().item() == round(sparsity * 1000)


def test_scales_start_at_the_mean_magnitude_of_their_weights():
    quantizer = Ttq()
    quantizer.attach(WEIGHT.float())

    torch.testing.assert_close(quantizer.w_pos.data, torch.tensor([0.65]))
    torch.testing.assert_close(quantizer.w_neg.data, torch.tensor([0.7]))
    assert quantizer.w_pos.requires_grad


def test_scales_stay_positive():
    quantizer = quantizer_with(-0.71, 0.4)
    quantizer.constrain()

    assert quantizer.w_pos.item() == pytest.approx(1e-3)
    assert quantizer.w_neg.item() == 0.4


def test_all_zero_weights_give_zero_codes_and_finite_scales():
    quantizer = Ttq()
    quantizer.attach(torch.zeros(2, 3))

    assert not quantizer.codes_and_scales(torch.zeros(2, 3)).codes.any()
    assert quantizer.w_pos.item() == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.0}, r"threshold must lie in \[0, 1\), got 1.0"),
        ({"sparsity": 1.0}, r"sparsity must lie in \[0, 1\), got 1.0"),
        ({"scale_gradient": "max"}, r"got scale_gradient 'max', expected one of sum, mean, 1/sq"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(RecipeError, match=message):
        get("ttq", **options)
