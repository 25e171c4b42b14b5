import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear, clip_latents
from bnndeploy.layers.migration import larq_kernel, larq_quantizer, larq_sequential

SIGN = {"class_name": "SteSign", "config": {"clip_value": 1.25}}


def conv(filters, **config):
    base = {"filters": filters, "kernel_size": [3, 3], "use_bias": False}
    return {"class_name": "Larq>QuantConv2D", "config": base | config}


def layer(kind, **config):
    return {"class_name": kind, "config": config}


# The small network of Larq's introduction, with one option or another.
INTRODUCTION = {
    "name": "sequential",
    "layers": [
        layer("InputLayer", batch_shape=[None, 28, 28, 1]),
        conv(32, kernel_quantizer="ste_sign", kernel_constraint="weight_clip"),
        layer("MaxPooling2D", pool_size=[2, 2], strides=None),
        layer("BatchNormalization", scale=False, epsilon=1e-4, momentum=0.9),
        conv(64, input_quantizer=SIGN, kernel_quantizer=SIGN, padding="same", pad_values=1.0),
        layer("BatchNormalization", scale=False),
        layer("Flatten"),
        layer("Larq>QuantDense", units=64, use_bias=False, input_quantizer="ste_sign",
              kernel_quantizer="ste_sign"),
        layer("BatchNormalization"),
        layer("Dense", units=10, activation="softmax"),
    ],
}  # fmt: skip


def test_the_network_of_the_introduction_is_built():
    network = larq_sequential(INTRODUCTION, (1, 28, 28))
    kinds = [type(part) for part in network]

    assert kinds == [
        QuantConv2d, nn.MaxPool2d, nn.BatchNorm2d, QuantConv2d, nn.BatchNorm2d, nn.Flatten,
        QuantLinear, nn.BatchNorm1d, QuantLinear,
    ]  # fmt: skip
    assert network(torch.randn(2, 1, 28, 28)).shape == (2, 10)
    assert network[0].input_quantizer is None
    assert network[3].input_quantizer.clip == 1.25
    assert network[3].pad_value == 1
    assert network[3].padding == (1, 1)
    assert network[2].eps == 1e-4
    assert network[2].momentum == pytest.approx(0.1)
    assert not network[2].weight.requires_grad
    assert network[2].bias.requires_grad
    assert network[8].weight_quantizer is None


def test_depthwise_pooling_and_dropout_keep_track_of_the_shape():
    config = {
        "layers": [
            conv(8, strides=2),
            layer("QuantDepthwiseConv2D", kernel_size=3, padding="same", depth_multiplier=2,
                  depthwise_quantizer="magnitude_aware_sign", use_bias=False),
            layer("AveragePooling2D", pool_size=2),
            layer("Activation", activation="relu"),
            layer("Dropout", rate=0.25),
            layer("GlobalAveragePooling2D"),
            layer("Dense", units=3),
        ]
    }  # fmt: skip
    network = larq_sequential(config, (3, 17, 17))

    assert network[1].groups == 8
    assert network[1].weight.shape == (16, 1, 3, 3)
    assert network(torch.randn(2, 3, 17, 17)).shape == (2, 3)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("ste_sign", "SteSign(clip=1.0, gate='inclusive', mode='deterministic')"),
        (SIGN, "SteSign(clip=1.25, gate='inclusive', mode='deterministic')"),
        ({"class_name": "Larq>ApproxSign", "config": {}}, "ApproxSign()"),
        ({"class_name": "SwishSign", "config": {"beta": 7.0}}, "SwishSign(beta=7.0)"),
        ("ste_heaviside", "SteHeaviside(clip=1.0)"),
        (
            {"class_name": "SteTern", "config": {"threshold_value": 0.1}},
            "Ternary(threshold=0.1, clip=1.0)",
        ),
        (
            {"class_name": "SteTern", "config": {"ternary_weight_networks": True}},
            "Twn(factor=0.7, scaled=False, granularity='tensor')",
        ),
        ({"class_name": "DoReFa", "config": {"k_bit": 3}}, "DorefaActivation(bits=3)"),
        (
            {"class_name": "DoReFa", "config": {"k_bit": 1, "mode": "weights"}},
            "DorefaWeight(bits=1)",
        ),
        ({"class_name": "NoOp", "config": {"precision": 1}}, "NoOp()"),
        (
            "magnitude_aware_sign",
            "MagnitudeAwareSign(granularity='filter', clip=1.0, scale_gradient=False)",
        ),
    ],
)
def test_quantizers_have_their_options(spec, expected):
    assert repr(larq_quantizer(spec)) == expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"class_name": "SteSign", "config": {"clip": 1.0}},
            "'clip' is unknown; known: clip_value",
        ),
        ({"class_name": "approx_sign", "config": {"a": 1}}, "'a' is unknown; known: none"),
        ({"name": "ste_sign"}, "expected a name or a dict with class_name"),
        (3, "got 3, expected a name or a dict"),
    ],
)
def test_arguments_without_a_counterpart_are_refused(spec, message):
    with pytest.raises(RecipeError, match=message):
        larq_quantizer(spec)


@pytest.mark.parametrize(
    ("constraint", "bound"),
    [
        (None, 2.0),
        ("weight_clip", 1.0),
        ({"class_name": "Larq>WeightClip", "config": {"clip_value": 1.25}}, 1.25),
    ],
)
def test_weight_clip_bounds_the_latent_weights_and_nothing_else_does(constraint, bound):
    layers = [conv(4, kernel_quantizer="ste_sign", kernel_constraint=constraint)]
    network = larq_sequential({"layers": layers}, (1, 8, 8))
    network[0].weight.data.fill_(2.0)

    clip_latents(network)

    assert network[0].weight.max() == bound


@pytest.mark.parametrize(
    "constraint", ["max_norm", {"class_name": "WeightClip", "config": {"axis": 0}}]
)
def test_other_constraints_are_refused(constraint):
    with pytest.raises(RecipeError, match=r"larq constraint: got .* expected weight_clip"):
        larq_quantizer("ste_sign", constraint)


@pytest.mark.parametrize("pad_values", [1.0, 0.0, -1.0])
def test_a_convolution_pads_its_signs_and_takes_the_kernel_of_keras(pad_values):
    generator = np.random.default_rng(0)
    kernel = generator.normal(size=(3, 3, 4, 5)).astype(np.float32)
    layers = [
        conv(5, padding="same", pad_values=pad_values, input_quantizer=SIGN, kernel_quantizer=SIGN)
    ]
    network = larq_sequential({"layers": layers}, (4, 6, 7))
    network[0].load_state_dict({"weight": larq_kernel(kernel)})
    x = torch.from_numpy(generator.normal(size=(2, 4, 6, 7)).astype(np.float32))

    padded = F.pad(x.sign(), (1, 1, 1, 1), value=pad_values)
    weight = torch.from_numpy(np.sign(kernel).transpose(3, 2, 0, 1).copy())
    assert torch.equal(network(x), F.conv2d(padded, weight))


def test_a_dense_kernel_is_transposed():
    generator = np.random.default_rng(0)
    kernel = generator.normal(size=(6, 3)).astype(np.float32)
    network = larq_sequential({"layers": [layer("QuantDense", units=3, use_bias=False)]}, (6,))
    network[0].load_state_dict({"weight": larq_kernel(kernel)})
    x = generator.normal(size=(2, 6)).astype(np.float32)

    y = network(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(y, x @ kernel, rtol=1e-5, atol=1e-6)


def test_a_depthwise_kernel_keeps_each_channel_to_itself():
    generator = np.random.default_rng(0)
    kernel = generator.normal(size=(3, 3, 2, 3)).astype(np.float32)
    config = layer("QuantDepthwiseConv2D", kernel_size=3, depth_multiplier=3, use_bias=False)
    network = larq_sequential({"layers": [config]}, (2, 3, 3))
    network[0].load_state_dict({"weight": larq_kernel(kernel, depthwise=True)})
    x = generator.normal(size=(1, 2, 3, 3)).astype(np.float32)

    # Keras: output c * m + j is input channel c with kernel[:, :, c, j].
    expected = np.einsum("chw,hwcj->cj", x[0], kernel).ravel()
    y = network(torch.from_numpy(x)).detach().numpy().ravel()
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


def test_a_kernel_of_other_rank_is_refused():
    with pytest.raises(RecipeError, match="got 3 axes, expected 2"):
        larq_kernel(np.zeros((1, 2, 3)))


def test_no_quantizer_stays_none():
    assert larq_quantizer(None) is None


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([conv(4, kernel_quantizer="ste_sing")], r"larq quantizer 'ste_sing' is unknown \(did you"),
        ([layer("QuantConv3D")], r"larq layer 'QuantConv3D' is unknown \(did you mean 'QuantConv"),
        ([layer("Activation", activation="gelu")], "larq activation 'gelu' is unknown; known: lin"),
        (
            [layer("Dense", units=3, name="top")],
            r"larq layer 'top': got a map of shape \(1, 8, 8\)",
        ),
        ([conv(4, pad_values=0.3, name="edge")], "larq layer 'edge': got pad_values 0.3, expected"),
        (
            [conv(4, strides=2, padding="same", name="down")],
            r"larq layer 'down': padding 'same' of a map \(8, 8\) with a window \(3, 3\)",
        ),
    ],
)
def test_what_has_no_counterpart_is_named(layers, message):
    with pytest.raises(RecipeError, match=message):
        larq_sequential({"layers": layers}, (1, 8, 8))
