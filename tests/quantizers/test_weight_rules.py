"""Codes, scales and gradients of each weight quantizer, by hand."""

import math

import pytest
import torch

from bnndeploy.quantizers import WeightQuantizer, get, names

WEIGHT = torch.tensor([[0.5, -1.5, 0.0, 1.0], [-0.25, -0.75, 0.25, -0.0]])
UPSTREAM = torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
SIGNS = [[1, -1, 1, 1], [-1, -1, 1, 1]]


def gradient_of(quantizer, weight=WEIGHT, upstream=UPSTREAM):
    """Gradient of the latent weight when ``upstream`` is that of the effective weight."""
    latent = weight.clone().requires_grad_()
    quantizer(latent).backward(upstream)
    return latent.grad


WEIGHT_QUANTIZERS = [n for n in names() if isinstance(get(n), WeightQuantizer)]


@pytest.mark.parametrize("name", WEIGHT_QUANTIZERS)
def test_the_effective_weight_is_codes_times_scales(name):
    torch.manual_seed(0)
    weight = torch.randn(6, 5, 3, 3)
    quantizer = get(name)
    quantizer.attach(weight)
    quantized = quantizer.codes_and_scales(weight)
    if quantizer.two_scales:
        positive, negative = quantized.split()
        expected = positive * quantized.w_pos - negative * quantized.w_neg
    else:
        scale = torch.ones(1) if quantized.scale is None else quantized.scale
        expected = quantized.codes * scale.reshape(-1, 1, 1, 1)

    assert torch.equal(quantizer(weight), expected)
    assert quantized.codes.shape == weight.shape


@pytest.mark.parametrize("name", WEIGHT_QUANTIZERS)
def test_codes_of_one_and_two_bits_are_binary_and_ternary(name):
    torch.manual_seed(0)
    weight = torch.randn(6, 40)
    quantizer = get(name)
    quantizer.attach(weight)
    levels = quantizer.codes_and_scales(weight).codes.unique().tolist()

    assert levels == {1: [-1, 1], 2: [-1, 0, 1]}[quantizer.bits]


def test_magnitude_aware_sign_scales_each_filter_by_its_mean_magnitude():
    quantized = get("magnitude_aware_sign").codes_and_scales(WEIGHT)

    assert quantized.codes.tolist() == SIGNS
    assert quantized.scale.tolist() == [0.75, 0.3125]


def test_xnor_scale_of_the_whole_tensor():
    quantized = get("xnor_scale", granularity="tensor").codes_and_scales(WEIGHT)

    assert quantized.scale.tolist() == [0.53125]


def test_magnitude_aware_sign_takes_its_scale_for_a_constant():
    gradient = gradient_of(get("magnitude_aware_sign"))

    scale = torch.tensor([[0.75], [0.3125]])
    inside = torch.tensor([[1, 0, 1, 1], [1, 1, 1, 1]])
    assert torch.equal(gradient, UPSTREAM * scale * inside)


def test_xnor_rule_adds_the_gradient_of_the_scale():
    gradient = gradient_of(get("xnor_scale", scale_gradient=True))

    codes = torch.tensor(SIGNS, dtype=torch.float32)
    scale = torch.tensor([[0.75], [0.3125]])
    inside = torch.tensor([[1, 0, 1, 1], [1, 1, 1, 1]])
    through_scale = (UPSTREAM * codes).sum(1, keepdim=True) * WEIGHT.sign() / 4
    torch.testing.assert_close(gradient, UPSTREAM * scale * inside + through_scale)


def test_dorefa_of_one_bit_is_the_scaled_sign_with_an_unchanged_gradient():
    quantizer = get("dorefa_weight", bits=1)
    quantized = quantizer.codes_and_scales(WEIGHT)

    assert quantized.codes.tolist() == SIGNS
    assert quantized.scale.tolist() == [0.53125]
    torch.testing.assert_close(gradient_of(quantizer), UPSTREAM)


def test_dorefa_of_two_bits_has_four_even_levels():
    weight = torch.tensor([[-2.0, -0.4, 0.0, 0.1, 2.0]])
    quantized = get("dorefa_weight", bits=2).codes_and_scales(weight)

    units = [math.tanh(w) / (2 * math.tanh(2)) + 0.5 for w in weight[0].tolist()]
    assert quantized.codes.tolist() == [[2 * round(3 * u) - 3 for u in units]]
    assert quantized.scale.item() == pytest.approx(1 / 3)


def test_dorefa_gradient_follows_the_chain_rule_through_tanh():
    weight = torch.tensor([[0.3, -0.2, 1.0]])
    gradient = gradient_of(get("dorefa_weight", bits=3), weight, torch.tensor([[1.0, 1.0, 0.0]]))

    largest = math.tanh(1.0)
    slope = [(1 - math.tanh(w) ** 2) / largest for w in (0.3, -0.2)]
    torch.testing.assert_close(gradient[0, :2], torch.tensor(slope))
    # The largest weight scales the others: d/dm of tanh(w) / m.
    through_largest = -(math.tanh(0.3) + math.tanh(-0.2)) / largest**2 * (1 - largest**2)
    assert gradient[0, 2].item() == pytest.approx(through_largest, rel=1e-5)


def test_ir_net_balances_each_filter_and_scales_by_powers_of_two():
    weight = torch.tensor([[1.0, 2.0, 3.0, 10.0], [-5.0, -4.0, -4.0, -3.0]])
    quantized = get("ir_net").codes_and_scales(weight)

    assert quantized.codes.tolist() == [[-1, -1, -1, 1], [-1, 1, 1, 1]]
    # mean|z| is 3 / sqrt(50 / 3) = 0.735 and 0.5 / sqrt(2 / 3) = 0.612; 2^-0.5 = 0.707 divides.
    assert quantized.scale.tolist() == [1.0, 0.5]


def test_ir_net_gradient_goes_through_the_standardisation():
    quantizer = get("ir_net")
    quantizer.sign.set_progress(0.5)
    weight = torch.tensor([[1.0, 2.0, 3.0, 10.0]], dtype=torch.float64)
    upstream = torch.tensor([[1.0, -2.0, 0.5, 3.0]], dtype=torch.float64)
    gradient = gradient_of(quantizer, weight, upstream)

    # Replacing the sign by its surrogate tanh makes the whole function smooth, scale kept.
    latent = weight.clone().requires_grad_()
    standard = (latent - latent.mean()) / latent.std()
    (standard.tanh() * upstream).sum().backward()
    torch.testing.assert_close(gradient, latent.grad)


def test_ir_net_survives_constant_filters():
    quantized = get("ir_net").codes_and_scales(torch.full((2, 1), 3.0))

    assert quantized.codes.tolist() == [[1], [1]]
    assert quantized.scale.isfinite().all()


def test_bitnet_rounds_by_the_mean_magnitude():
    weight = torch.tensor([[1.0, -1.0, 0.5, -0.49], [0.51, 3.0, -1.5, 0.0]])  # mean|w| = 1
    quantized = get("bitnet").codes_and_scales(weight)

    assert quantized.scale.item() == 1.0
    assert quantized.codes.tolist() == [[1, -1, 0, 0], [1, 1, -1, 0]]
    torch.testing.assert_close(gradient_of(get("bitnet")), UPSTREAM)


def test_bitnet_of_zero_weights_is_zero():
    quantized = get("bitnet").codes_and_scales(torch.zeros(2, 3))

    assert not quantized.codes.any()
    assert quantized.scale.item() == pytest.approx(1e-5)


def test_lsq_levels_and_gradients_of_the_paper():
    quantizer = get("lsq", bits=2)  # levels -2..1
    quantizer.attach(torch.tensor([0.25, -0.25]))  # step = 2 * 0.25 / sqrt(1)
    assert quantizer.step.item() == 0.5
    weight = torch.tensor([0.6, 0.2, -0.4, -5.0, 5.0], requires_grad=True)
    upstream = torch.tensor([1.0, 10.0, 100.0, 1000.0, 10000.0])
    quantized = quantizer.codes_and_scales(weight)
    (quantized.codes * quantized.scale).backward(upstream)

    assert quantized.codes.tolist() == [1, 0, -1, -2, 1]
    # 0.6 / 0.5 = 1.2 lies above the highest level, like 5.0; -5.0 lies below the lowest.
    assert weight.grad.tolist() == [0, 10, 100, 0, 0]
    each = torch.tensor([1, 0 - 0.4, -1 + 0.8, -2, 1])
    expected = (upstream * each).sum() / math.sqrt(5 * 1)
    torch.testing.assert_close(quantizer.step.grad, expected.reshape(1))


def test_lsq_of_activations_starts_at_the_first_training_batch():
    quantizer = get("lsq", bits=2, signed=False)  # levels 0..3
    x = torch.full((4, 3), 1.5)
    assert quantizer.eval()(x).tolist() == [[2.0] * 3] * 4  # step still 1
    quantizer.train()(x)

    assert quantizer.step.item() == pytest.approx(3 / math.sqrt(3))
    quantizer(100 * x)
    assert quantizer.step.item() == pytest.approx(3 / math.sqrt(3))


def test_lsq_step_stays_positive():
    quantizer = get("lsq")
    quantizer.step.data.fill_(-1.0)
    quantizer.constrain()

    assert quantizer.step.item() > 0


def test_fixed_point_codes_are_whole_numbers():
    quantized = get("fixed_point", size=4, precision=2).codes_and_scales(WEIGHT)

    assert quantized.codes.tolist() == [[2, -6, 0, 4], [-1, -3, 1, 0]]
    assert quantized.scale.tolist() == [0.25]
