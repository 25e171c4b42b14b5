import pytest
import torch
from torch import nn

from bnndeploy import networks
from bnndeploy.layers import QuantConv2d, QuantLinear, check, clip_latents
from bnndeploy.quantizers import SteSign

SIGNS = {"input_quantizer": "ste_sign", "weight_quantizer": "ste_sign"}


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def problems(module, example=None):
    return [str(finding) for finding in check(module, example)]


@pytest.mark.parametrize("name", ["bnn-mlp", "bnn-cnn", "ttq-lenet"])
def test_our_networks_have_no_findings(name):
    assert problems(networks.build(name), torch.randn(8, 1, 28, 28)) == []


def test_latents_outside_the_gate_are_found_until_they_are_clipped():
    model = nn.Sequential(nn.Linear(4, 4), QuantLinear(4, 4, **SIGNS))
    with torch.no_grad():
        model[1].weight[0] = 1.5

    assert problems(model) == [
        "1: 4 of 16 latent weights lie outside [-1, 1], where they hardly move; "
        "call clip_latents(model) after each optimiser step"
    ]
    clip_latents(model)
    assert problems(model) == []


def test_starved_ternary_weights_are_found():
    layer = QuantLinear(10, 10, weight_quantizer={"name": "ternary", "threshold": 0.3})
    with torch.no_grad():
        layer.weight.fill_(0.1)
        layer.weight[0, :4] = 0.9

    assert problems(nn.Sequential(nn.Linear(10, 10), layer)) == [
        "1: 96.0% of the ternary weights are 0, so the layer passes little on; "
        "lower the quantizer's threshold, or give ttq a sparsity target"
    ]


def test_a_binarised_first_layer_is_found():
    model = nn.Sequential(QuantConv2d(3, 8, 3, **SIGNS), nn.Flatten(), nn.Linear(8, 2))

    assert problems(model) == [
        "0: the first layer sees only the signs of the network's input; keep the first layer real",
        "0: the first layer has 1-bit weights on few channels; keep the first layer real",
    ]


def test_binary_weights_on_real_inputs_may_come_first_in_a_perceptron():
    assert problems(QuantLinear(784, 8, weight_quantizer="ste_sign")) == []


def test_a_sign_behind_a_relu_is_found_with_an_example():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), QuantLinear(4, 2, input_quantizer="rsign"))
    example = torch.randn(5, 4)

    assert problems(model) == []
    assert problems(model, example) == [
        "2.input_quantizer: all 20 quantized activations are +1; "
        "binarise before the ReLU, or use ste_heaviside or rsign"
    ]


def test_max_pooling_of_signs_is_found_with_an_example():
    def block(*tail):
        return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), *tail)

    example = torch.randn(2, 1, 8, 8)
    assert problems(block(SteSign(), nn.MaxPool2d(2)), example) == [
        "3: max-pooling of signs: nearly every window has a +1; "
        "pool before batch-norm and sign: conv, max-pool, batch-norm, sign"
    ]
    assert problems(block(nn.MaxPool2d(2), SteSign()), example) == []


def test_the_network_is_left_as_it_was():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4).eval(), nn.Dropout())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    check(model, torch.randn(6, 4))

    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert [part.training for part in model.modules()] == [True, True, False, True]
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_a_failing_example_leaves_no_hooks_behind():
    model = nn.Sequential(nn.Linear(4, 4), nn.MaxPool1d(2))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        check(model, torch.randn(2, 5))

    assert model.training
    assert not any(part._forward_pre_hooks for part in model.modules())
