import copy
import math

import pytest
import torch
from torch.nn import functional as F

from bnndeploy.errors import RecipeError
from bnndeploy.layers import (
    QuantConv1d,
    QuantConv2d,
    QuantEmbedding,
    QuantLinear,
    RPReLU,
    ShiftBatchNorm,
    freeze_codes,
)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("pad_value", [-1, 0, 1])
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), [(1, 1, 1, 1), (2, 3, 2, 4)])
def test_conv1d_is_a_convolution_of_signs_on_a_declared_border(
    pad_value, stride, padding, dilation, groups
):
    layer = QuantConv1d(
        8, 12, 3, stride, padding, dilation, groups, bias=False, pad_value=pad_value,
        input_quantizer="ste_sign", weight_quantizer="ste_sign",
    )  # fmt: skip
    x = torch.randn(2, 8, 11)
    signs = torch.where(x >= 0, 1.0, -1.0)
    codes = torch.where(layer.weight >= 0, 1.0, -1.0)
    padded = F.pad(signs, (padding, padding), value=float(pad_value))

    expected = F.conv1d(padded, codes, None, stride, 0, dilation, groups)
    assert torch.equal(layer(x), expected)


def test_depthwise_scales_each_channel_on_its_own():
    layer = QuantConv2d(
        4, 4, 3, padding=1, groups=4, bias=False, weight_quantizer="magnitude_aware_sign"
    )
    x = torch.randn(1, 4, 5, 5)
    y = layer(x)

    for channel in range(4):
        weight = layer.weight[channel : channel + 1]
        codes = torch.where(weight >= 0, 1.0, -1.0)
        alone = F.conv2d(x[:, channel : channel + 1], codes, padding=1) * weight.abs().mean()
        torch.testing.assert_close(y[:, channel : channel + 1], alone)


def test_rsign_by_name_gets_the_channels_of_the_input():
    assert QuantConv2d(6, 2, 1, input_quantizer="rsign").input_quantizer.threshold.numel() == 6
    linear = QuantLinear(5, 2, input_quantizer="rsign")
    assert linear(torch.randn(3, 7, 5)).shape == (3, 7, 2)


@pytest.mark.parametrize("name", ["ste_sign", "magnitude_aware_sign", "twn", "ttq"])
def test_embedding_looks_up_rows_of_the_effective_weight(name):
    layer = QuantEmbedding(7, 5, weight_quantizer=name)
    indices = torch.tensor([[0, 3], [6, 3]])
    expected = F.embedding(indices, layer.weight_quantizer(layer.weight))

    torch.testing.assert_close(layer.train()(indices), expected)
    torch.testing.assert_close(layer.eval()(indices), expected)


def test_embedding_trains_only_the_rows_that_were_used():
    layer = QuantEmbedding(4, 3, padding_idx=3, weight_quantizer="ste_sign")
    with torch.no_grad():
        layer.weight.clamp_(-1, 1)
    layer(torch.tensor([1, 3])).sum().backward()

    assert layer.weight.grad.tolist() == [[0] * 3, [1] * 3, [0] * 3, [0] * 3]


def test_rprelu_shifts_bends_and_shifts_back():
    layer = RPReLU(2)
    with torch.no_grad():
        layer.shift_in.copy_(torch.tensor([1.0, -1.0]))
        layer.shift_out.copy_(torch.tensor([10.0, 20.0]))
        layer.slope.copy_(torch.tensor([0.5, -2.0]))
    x = torch.tensor([[3.0, 0.0], [1.0, -1.0], [-1.0, -3.0]])

    expected = [[12.0, 21.0], [10.0, 20.0], [9.0, 24.0]]
    assert layer(x).tolist() == expected
    assert layer(x.view(3, 2, 1, 1)).view(3, 2).tolist() == expected


def test_rprelu_starts_as_a_prelu():
    x = torch.randn(2, 3, 4, 4)

    assert torch.equal(RPReLU(3)(x), torch.nn.PReLU(3)(x))


def power(value):
    return math.copysign(2.0 ** round(math.log2(abs(value))), value)


def test_shift_batch_norm_follows_the_paper():
    layer = ShiftBatchNorm(1)
    with torch.no_grad():
        layer.weight.fill_(3.0)  # becomes 4
        layer.bias.fill_(0.5)
    values = [1.0, 2.0, 3.0, 6.0]
    y = layer(torch.tensor(values).view(4, 1))

    centred = [value - 3.0 for value in values]
    variance = sum(c * power(c) for c in centred if c) / 4
    factor = power(1 / math.sqrt(variance + 1e-5)) * 4
    expected = [c * factor + 0.5 for c in centred]
    torch.testing.assert_close(y.flatten(), torch.tensor(expected))
    assert layer.running_mean.item() == pytest.approx(0.1 * 3)
    assert layer.running_var.item() == pytest.approx(0.9 + 0.1 * variance)


def test_shift_batch_norm_in_eval_uses_the_running_averages_and_can_be_frozen():
    layer = ShiftBatchNorm(3)
    for _ in range(5):
        layer(torch.randn(16, 3, 4, 4) * 3 + 1)
    before = layer.running_mean.clone()
    x = torch.randn(2, 3, 4, 4)
    y = layer.eval()(x)
    frozen = freeze_codes(copy.deepcopy(layer))

    assert torch.equal(layer.running_mean, before)
    factor = [power(1 / math.sqrt(v + 1e-5)) for v in layer.running_var.tolist()]
    expected = (x - before.view(3, 1, 1)) * torch.tensor(factor).view(3, 1, 1)
    assert torch.equal(y, expected)
    assert torch.equal(frozen(x), y)


def test_shift_batch_norm_passes_gradients_to_all_its_inputs():
    layer = ShiftBatchNorm(3)
    x = torch.randn(8, 3, requires_grad=True)
    layer(x).square().sum().backward()

    for tensor in (x, layer.weight, layer.bias):
        assert tensor.grad.isfinite().all()
        assert tensor.grad.any()


@pytest.mark.parametrize("layer", [RPReLU, ShiftBatchNorm])
def test_layers_without_channels_are_refused(layer):
    with pytest.raises(RecipeError, match=f"{layer.__name__}: channels must be at least 1, got 0"):
        layer(0)
