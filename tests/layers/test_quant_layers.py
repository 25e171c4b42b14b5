"""The layers against the operators' NumPy oracle, and the life of the latent weight."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from bnndeploy import quantizers
from bnndeploy.errors import RecipeError
from bnndeploy.layers import (
    QuantConv2d,
    QuantLinear,
    clip_latents,
    constrain_scales,
    freeze_codes,
)
from bnndeploy.ops.oracle import run_op
from bnndeploy.ops.packing import pack_bits, pack_ternary

EPILOGUE = {"bias": -0.0, "residual": -0.0, "slope": 1.0, "shift": -0.0, "threshold": 0.0}


def epilogue(scale=None, bias=None):
    """The neutral epilogue inputs with the layer's scale and bias put in."""
    vectors = {"scale": scale, **EPILOGUE}
    if bias is not None:
        vectors["bias"] = bias.detach().numpy()
    vectors["scale"] = 1.0 if scale is None else scale.detach().numpy()
    return [np.asarray(v, np.float32).reshape(-1) for v in vectors.values()]


@pytest.fixture
def signs():
    torch.manual_seed(0)
    return lambda *shape: torch.randn(shape)


@pytest.mark.parametrize("weight_quantizer", ["ste_sign", "twn", "ttq"])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_computes_what_its_operator_defines(signs, weight_quantizer, bias):
    layer = QuantLinear(
        37, 5, bias, input_quantizer="ste_sign", weight_quantizer=weight_quantizer
    ).eval()
    x = signs(3, 37)
    weights = layer.weight_codes()
    codes, bits = weights.codes.detach().numpy(), pack_bits(x.numpy())
    attributes = {"k": 37, "acc_min": float("-inf")}
    if weight_quantizer == "ste_sign":
        inputs = [bits, pack_bits(codes), *epilogue(bias=layer.bias)]
        expected, _ = run_op("XnorGemm", inputs, attributes)
    else:
        scales = [
            np.ones(1, np.float32) if w is None else w.detach().numpy()
            for w in (weights.w_pos, weights.w_neg)
        ]
        inputs = [bits, pack_ternary(codes), *scales, *epilogue(weights.scale, layer.bias)]
        expected, _ = run_op("TernaryGemm", inputs, attributes)

    np.testing.assert_array_equal(layer(x).detach().numpy(), expected)


@pytest.mark.parametrize("pad_value", [-1, 0, 1])
@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"),
    [(1, 1, 1, 1), ((2, 1), (0, 2), 1, 2), (1, (2, 1), 2, 4)],
)
def test_convolution_computes_what_its_operator_defines(
    signs, pad_value, stride, padding, dilation, groups
):
    layer = QuantConv2d(
        8, 12, (3, 2), stride, padding, dilation, groups,
        input_quantizer="ste_sign", weight_quantizer="ste_sign", pad_value=pad_value,
    ).eval()  # fmt: skip
    x = signs(2, 8, 7, 6)
    codes = layer.weight_codes().codes.detach().numpy()
    (top, left) = layer.padding
    expected, _ = run_op(
        "XnorConv",
        [
            pack_bits(np.moveaxis(x.numpy(), 1, -1)),
            pack_bits(np.moveaxis(codes, 1, -1)),
            *epilogue(bias=layer.bias),
        ],
        {
            "channels": 8,
            "strides": layer.stride,
            "pads": (top, left, top, left),
            "dilations": layer.dilation,
            "group": groups,
            "pad_value": pad_value,
            "acc_min": float("-inf"),
        },
    )

    np.testing.assert_array_equal(layer(x).detach().numpy(), expected)


def test_same_padding_takes_the_pad_value(signs):
    def build(padding):
        torch.manual_seed(1)
        return QuantConv2d(3, 4, 3, padding=padding, pad_value=-1, weight_quantizer="ste_sign")

    x = signs(1, 3, 5, 5)

    assert torch.equal(build("same")(x), build(1)(x))


def test_a_wrong_pad_value_is_named():
    with pytest.raises(RecipeError, match="got pad_value 2, expected -1, 0 or 1"):
        QuantConv2d(1, 1, 3, pad_value=2)


def test_a_weight_quantizer_is_refused_for_inputs():
    with pytest.raises(RecipeError, match="input quantizer: Ttq yields weight codes"):
        QuantLinear(2, 2, input_quantizer="ttq")


def test_an_output_is_quantized_behind_scale_and_bias(signs):
    x = signs(3, 16)
    plain = QuantLinear(16, 4, weight_quantizer="ttq").eval()
    layer = copy.deepcopy(plain)
    layer.output_quantizer = quantizers.get("fixed_point", size=6, precision=2)
    steps = (plain(x) / 0.25).round().clamp(-32, 31)

    assert torch.equal(layer(x), steps * 0.25)
    layer(x).sum().backward()
    plain(x).sum().backward()
    assert torch.equal(layer.bias.grad, plain.bias.grad), "the range covers every output"


def test_a_strict_gate_is_refused_for_weights():
    with pytest.raises(RecipeError, match="gate 'strict' for weights"):
        QuantLinear(2, 2, weight_quantizer=quantizers.SteSign(gate="strict"))


def test_running_saving_and_copying_never_change_the_latents(signs):
    layer = QuantLinear(8, 4, input_quantizer="ste_sign", weight_quantizer="ste_sign")
    before = layer.weight.detach().clone()
    layer.eval()(signs(2, 8))
    clone = copy.deepcopy(layer)
    layer.train()(signs(2, 8))

    for weight in (layer.weight, clone.weight, layer.state_dict()["weight"]):
        assert torch.equal(weight, before)


def test_a_state_dict_loaded_after_a_forward_takes_effect(signs):
    layer = QuantLinear(8, 4, weight_quantizer="ste_sign")
    x = signs(2, 8)
    first = layer(x)
    state = {name: -tensor for name, tensor in layer.state_dict().items()}
    layer.load_state_dict(state)

    assert torch.equal(layer(x), -first)


def test_the_latent_is_updated_and_not_its_signs():
    layer = QuantLinear(2, 1, bias=False, weight_quantizer="ste_sign")
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[0.3, -0.2]]))
    (layer(torch.tensor([[1.0, -1.0]])) ** 2 / 2).sum().backward()
    assert layer.weight.grad.tolist() == [[2, -2]]

    torch.optim.SGD(layer.parameters(), lr=0.2).step()
    torch.testing.assert_close(layer.weight.data, torch.tensor([[-0.1, 0.2]]))

    torch.optim.SGD(layer.parameters(), lr=2.0).step()
    clip_latents(layer)
    assert layer.weight.tolist() == [[-1, 1]]


def test_only_latents_of_bounded_quantizers_are_clipped():
    bounded = QuantLinear(2, 2, weight_quantizer="ste_sign")
    free = QuantLinear(2, 2, weight_quantizer="ttq")
    real = QuantLinear(2, 2, input_quantizer="ste_sign")
    plain = torch.nn.Linear(2, 2)
    network = torch.nn.Sequential(bounded, free, real, plain)
    with torch.no_grad():
        for layer in network:
            layer.weight.fill_(3.0)
            layer.bias.fill_(3.0)
    clip_latents(network)

    assert bounded.weight.tolist() == [[1, 1], [1, 1]]
    for tensor in (free.weight, real.weight, plain.weight, bounded.bias):
        assert tensor.flatten().tolist() == [3] * tensor.numel()


@pytest.mark.parametrize("keep_in_range", [clip_latents, constrain_scales])
def test_scales_are_kept_positive_with_latents_clipped_or_not(keep_in_range):
    network = nn.ModuleList(
        [
            QuantLinear(2, 2, weight_quantizer="ttq"),
            QuantLinear(2, 2, weight_quantizer="ste_sign"),
        ]
    )
    with torch.no_grad():
        network[0].weight_quantizer.w_pos.fill_(-0.5)
        network[1].weight.fill_(3.0)
    keep_in_range(network)

    assert network[0].weight_quantizer.w_pos.item() > 0
    assert network[1].weight[0, 0].item() == (1 if keep_in_range is clip_latents else 3)


@pytest.mark.parametrize("weight_quantizer", ["ste_sign", "twn", "ttq"])
def test_frozen_codes_give_the_same_output_without_the_latent(signs, weight_quantizer):
    layer = QuantConv2d(
        4, 6, 3, padding=1, input_quantizer="ste_sign", weight_quantizer=weight_quantizer
    ).eval()
    frozen = freeze_codes(copy.deepcopy(layer))
    with torch.no_grad():
        frozen.weight.zero_()
    x = signs(2, 4, 5, 5)

    assert torch.equal(frozen(x), layer(x))


def test_two_scales_train_through_one_product_with_the_same_value(signs):
    layer = QuantLinear(16, 4, weight_quantizer="ttq")
    x = signs(3, 16)
    trained, deployed = layer.train()(x), layer.eval()(x)

    torch.testing.assert_close(trained, deployed)
    trained.square().sum().backward()
    assert layer.weight_quantizer.w_neg.grad.abs().item() > 0
    assert layer.weight.grad.abs().sum() > 0
