"""Larq's quantizers and layers, recomputed from their documented formulas."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear, clip_latents
from bnndeploy.training.migration import (
    kernel_from_larq,
    layer_from_larq,
    quantizer_from_larq,
)

# Both sides of every bound that the tests use.
X = [-2.0, -1.31, -1.25, -1.0, -0.6, -0.05, -0.03, -0.0, 0.0, 0.04, 0.2, 0.5, 1.0, 1.26, 3.0]


def forward_and_gradient(quantizer, values=X):
    x = torch.tensor(values, requires_grad=True)
    y = quantizer(x)
    y.sum().backward()
    return y.detach(), x.grad


def sign(x):
    return torch.where(x >= 0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("config", "clip"),
    [
        ("ste_sign", 1.0),
        ("SteSign", 1.0),
        ({"class_name": "SteSign", "config": {"clip_value": 1.25}}, 1.25),
        ({"class_name": "Larq>SteSign", "config": {"clip_value": 1.3}}, 1.3),
    ],
)
def test_ste_sign_passes_the_gradient_up_to_the_clip_value(config, clip):
    y, gradient = forward_and_gradient(quantizer_from_larq(config))

    x = torch.tensor(X)
    assert torch.equal(y, sign(x))
    assert torch.equal(gradient, (x.abs() <= clip).float())


def test_approx_sign_has_the_triangular_gradient():
    y, gradient = forward_and_gradient(quantizer_from_larq("approx_sign"))

    x = torch.tensor(X)
    assert torch.equal(y, sign(x))
    assert torch.allclose(gradient, (2 - 2 * x.abs()) * (x.abs() <= 1))


@pytest.mark.parametrize("beta", [5.0, 2.0])
def test_swish_sign_has_the_gradient_of_beta(beta):
    config = {"class_name": "SwishSign", "config": {"beta": beta}}
    y, gradient = forward_and_gradient(quantizer_from_larq(config))

    x = torch.tensor(X)
    z = beta * x
    assert torch.equal(y, sign(x))
    assert torch.allclose(gradient, beta * (2 - z * torch.tanh(z / 2)) / (1 + torch.cosh(z)))


def test_magnitude_aware_sign_scales_each_filter_by_its_mean_magnitude():
    quantizer = quantizer_from_larq({"class_name": "MagnitudeAwareSign", "config": {}})
    weight = torch.tensor([X, [0.1 * v for v in X]], requires_grad=True)

    effective = quantizer(weight)
    effective.sum().backward()

    latent = weight.detach()
    scale = latent.abs().mean(1, keepdim=True)
    assert torch.allclose(effective, scale * sign(latent))
    assert torch.allclose(weight.grad, scale * (latent.abs() <= 1))


def test_ste_heaviside_maps_to_zero_and_one():
    y, gradient = forward_and_gradient(quantizer_from_larq("ste_heaviside"))

    x = torch.tensor(X)
    assert torch.equal(y, (x > 0).float())
    assert torch.equal(gradient, (x.abs() <= 1).float())


def test_ste_tern_has_a_threshold_and_a_clip_value():
    config = {"class_name": "SteTern", "config": {"threshold_value": 0.1, "clip_value": 1.3}}
    y, gradient = forward_and_gradient(quantizer_from_larq(config))

    x = torch.tensor(X)
    assert torch.equal(y, torch.sign(torch.sign(x + 0.1) + torch.sign(x - 0.1)))
    assert torch.equal(gradient, (x.abs() <= 1.3).float())


def test_ste_tern_of_ternary_weight_networks_takes_its_threshold_from_the_weights():
    config = {"class_name": "SteTern", "config": {"ternary_weight_networks": True}}
    weight = torch.tensor([[-1.0, -0.5, -0.3, 0.0], [0.2, 0.4, 0.6, 1.0]])

    codes = quantizer_from_larq(config)(weight)

    threshold = 0.7 * weight.abs().mean()
    assert torch.equal(codes, weight.sign() * (weight.abs() > threshold))


@pytest.mark.parametrize("name", ["dorefa_quantizer", "DoReFaQuantizer", "DoReFa"])
def test_dorefa_quantizes_activations_to_k_bits(name):
    config = {"class_name": name, "config": {"k_bit": 3, "mode": "activations"}}
    y, gradient = forward_and_gradient(quantizer_from_larq(config))

    x = torch.tensor(X)
    assert torch.allclose(y, torch.round(7 * x.clamp(0, 1)) / 7)
    assert torch.equal(gradient, ((x >= 0) & (x <= 1)).float())


def test_dorefa_quantizes_weights_to_k_bits():
    config = {"class_name": "DoReFa", "config": {"k_bit": 2, "mode": "weights"}}
    weight = torch.tensor([X])

    effective = quantizer_from_larq(config)(weight)

    bounded = weight.tanh()
    unit = bounded / (2 * bounded.abs().max()) + 0.5
    assert torch.allclose(effective, 2 * torch.round(3 * unit) / 3 - 1)


def test_no_op_and_none_leave_values_alone():
    y, gradient = forward_and_gradient(
        quantizer_from_larq({"class_name": "NoOp", "config": {"precision": 1}})
    )

    assert torch.equal(y, torch.tensor(X))
    assert torch.equal(gradient, torch.ones(len(X)))
    assert quantizer_from_larq(None) is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("ste_sing", r"'ste_sing' is unknown \(did you mean 'ste_sign'\?\); known: approx_sign"),
        (
            {"class_name": "SteSign", "config": {"clip": 1.0}},
            "argument 'clip' is unknown; known: clip_value",
        ),
        ({"class_name": "approx_sign", "config": {"a": 1}}, "'a' is unknown; known: none"),
        ({"class_name": "DoReFa", "config": {"mode": "bias"}}, "got mode 'bias', expected act"),
        (
            {
                "class_name": "SteTern",
                "config": {"ternary_weight_networks": True, "clip_value": 2.0},
            },
            "got clip_value 2.0 with ternary_weight_networks",
        ),
        ({"name": "ste_sign"}, "expected a name or a dict with class_name"),
        (3, "got 3, expected a name or a dict"),
    ],
)
def test_unknown_quantizers_and_arguments_are_refused(config, message):
    with pytest.raises(RecipeError, match=message):
        quantizer_from_larq(config)


# A layer as tf.keras writes it with layer.get_config().
CONVOLUTION = {
    "class_name": "Larq>QuantConv2D",
    "config": {
        "name": "quant_conv2d",
        "trainable": True,
        "dtype": "float32",
        "filters": 5,
        "kernel_size": [3, 3],
        "strides": [1, 1],
        "padding": "same",
        "data_format": "channels_last",
        "dilation_rate": [1, 1],
        "groups": 1,
        "activation": "linear",
        "use_bias": False,
        "kernel_constraint": {"class_name": "Larq>WeightClip", "config": {"clip_value": 1.25}},
        "input_quantizer": {"class_name": "Larq>SteSign", "config": {"clip_value": 1.25}},
        "kernel_quantizer": {"class_name": "Larq>SteSign", "config": {"clip_value": 1.25}},
        "pad_values": 1.0,
    },
}


def with_config(layer, **settings):
    return layer | {"config": layer["config"] | settings}


@pytest.mark.parametrize("pad_values", [1.0, 0.0, -1.0])
def test_a_convolution_pads_its_signs_with_pad_values(pad_values):
    generator = np.random.default_rng(0)
    kernel = generator.normal(size=(3, 3, 4, 5)).astype(np.float32)
    layer = layer_from_larq(with_config(CONVOLUTION, pad_values=pad_values), inputs=4)
    layer.load_state_dict({"weight": kernel_from_larq(kernel)})
    x = torch.from_numpy(generator.normal(size=(2, 4, 6, 7)).astype(np.float32))

    y = layer(x)

    assert isinstance(layer, QuantConv2d)
    padded = F.pad(sign(x), (1, 1, 1, 1), value=pad_values)
    weight = sign(torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()))
    assert torch.equal(y, F.conv2d(padded, weight))


def test_weight_clip_bounds_the_latent_weights():
    layer = layer_from_larq(CONVOLUTION, inputs=4)
    layer.weight.data.fill_(2.0)

    clip_latents(layer)

    assert layer.weight.max() == 1.25


def test_without_a_constraint_latent_weights_are_left_alone():
    layer = layer_from_larq(with_config(CONVOLUTION, kernel_constraint=None), inputs=4)
    layer.weight.data.fill_(2.0)

    clip_latents(layer)

    assert layer.weight.max() == 2.0


@pytest.mark.parametrize("constraint", ["weight_clip", {"class_name": "WeightClip", "config": {}}])
def test_weight_clip_is_one_by_default(constraint):
    assert quantizer_from_larq("ste_sign", constraint).latent_clip == 1.0


@pytest.mark.parametrize(
    "constraint", ["max_norm", {"class_name": "WeightClip", "config": {"axis": 0}}]
)
def test_other_constraints_are_refused(constraint):
    with pytest.raises(RecipeError, match=r"larq constraint: got .* expected weight_clip"):
        quantizer_from_larq("ste_sign", constraint)


def test_a_dense_layer_multiplies_by_the_transposed_kernel():
    generator = np.random.default_rng(0)
    kernel = generator.normal(size=(6, 3)).astype(np.float32)
    bias = generator.normal(size=3).astype(np.float32)
    layer = layer_from_larq({"class_name": "QuantDense", "config": {"units": 3}}, inputs=6)
    layer.load_state_dict({"weight": kernel_from_larq(kernel), "bias": torch.from_numpy(bias)})
    x = generator.normal(size=(2, 6)).astype(np.float32)

    y = layer(torch.from_numpy(x))

    assert isinstance(layer, QuantLinear)
    np.testing.assert_allclose(y.detach().numpy(), x @ kernel + bias, rtol=1e-5, atol=1e-6)


def test_a_depthwise_layer_convolves_each_channel_by_itself():
    generator = np.random.default_rng(0)
    kernel = generator.normal(size=(3, 3, 2, 3)).astype(np.float32)
    config = {
        "class_name": "QuantDepthwiseConv2D",
        "config": {
            "kernel_size": 3,
            "depth_multiplier": 3,
            "use_bias": False,
            "depthwise_quantizer": "ste_sign",
            "depthwise_constraint": "weight_clip",
        },
    }
    layer = layer_from_larq(config, inputs=2)
    layer.load_state_dict({"weight": kernel_from_larq(kernel, depthwise=True)})
    x = generator.normal(size=(1, 2, 3, 3)).astype(np.float32)

    y = layer(torch.from_numpy(x))

    # Keras: output c * m + j is input channel c with kernel[:, :, c, j].
    signs = np.where(kernel >= 0, 1.0, -1.0)
    expected = np.einsum("chw,hwcj->cj", x[0], signs).reshape(-1)
    np.testing.assert_allclose(y.detach().numpy().ravel(), expected, rtol=1e-5, atol=1e-5)


def test_dilation_and_valid_padding_are_kept():
    config = with_config(CONVOLUTION, dilation_rate=[2, 2])
    assert layer_from_larq(config, inputs=4)(torch.zeros(1, 4, 8, 8)).shape == (1, 5, 8, 8)
    config = with_config(CONVOLUTION, padding="valid", strides=2)
    assert layer_from_larq(config, inputs=4)(torch.zeros(1, 4, 9, 9)).shape == (1, 5, 4, 4)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (with_config(CONVOLUTION, strides=[2, 2]), "pads such maps more on one side"),
        (with_config(CONVOLUTION, kernel_size=2), "expected valid, or same with an odd kernel"),
        (with_config(CONVOLUTION, pad_values=0.3), "got pad_values 0.3, expected -1, 0 or 1"),
        (with_config(CONVOLUTION, activation="relu"), "got activation 'relu', expected none"),
        ({"class_name": "QuantDense", "config": {}}, "'units' is missing"),
        ({"class_name": "QuantLSTM", "config": {}}, "'QuantLSTM' is unknown; known: QuantDense"),
        ("QuantConv2D", "'filters' is missing"),
    ],
)
def test_layers_that_cannot_be_expressed_are_refused(config, message):
    with pytest.raises(RecipeError, match=message):
        layer_from_larq(config, inputs=4)


def test_a_kernel_of_other_rank_is_refused():
    with pytest.raises(RecipeError, match="got 3 axes, expected 2"):
        kernel_from_larq(np.zeros((1, 2, 3)))
