import pytest
import torch

from bnndeploy import networks
from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear


def parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


def kinds(module):
    """First letters of input and weight quantizers: ``sr`` is sign inputs, real weights."""
    return [
        ("s" if part.input_quantizer else "r") + ("r" if part.weight_quantizer is None else "q")
        for part in module.modules()
        if isinstance(part, (QuantLinear, QuantConv2d))
    ]


def test_mlp_multiplies_real_by_binary_then_binary_by_binary_then_stays_real():
    assert kinds(networks.build("bnn-mlp")) == ["rq", "sq", "sq", "sr"]


def test_mlp_has_the_weights_of_the_paper():
    with torch.device("meta"):
        network = networks.build("bnn-mlp", hidden=(4096, 4096, 4096))

    weights = sum(m.weight.numel() for m in network if isinstance(m, QuantLinear))
    assert weights == 784 * 4096 + 2 * 4096**2 + 4096 * 10


def test_cnn_keeps_first_and_last_layer_real():
    network = networks.build("bnn-cnn")

    assert isinstance(network[0], torch.nn.Conv2d)
    assert kinds(network) == ["sq", "sq", "sq", "sr"]


def test_lenet_has_the_weights_of_caffes_lenet5():
    network = networks.build("ttq-lenet")
    products = (torch.nn.Conv2d, torch.nn.Linear)
    weights = [m.weight.numel() for m in network if isinstance(m, products)]

    assert weights == [500, 25_000, 400_000, 5_000]
    assert kinds(network) == ["rq", "rq"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bnn-mlp", {"hidden": [32]}),
        ("bnn-mlp", {"hidden": [32], "last_input": "hardtanh"}),
        ("bnn-mlp", {"hidden": [32], "norm": "shift"}),
        ("bnn-mlp", {"input_shape": [64], "hidden": [16, 16], "classes": 3}),
        ("bnn-cnn", {"input_shape": [1, 8, 8], "channels": [8, 16], "hidden": 32}),
        ("bnn-cnn", {"input_shape": [3, 32, 32], "channels": [8, 8, 8], "pad_value": 0}),
        ("ttq-lenet", {}),
        ("ttq-lenet", {"input_shape": [1, 8, 8], "padding": 2, "classes": 7}),
        ("ttq-lenet", {"weight_quantizer": "twn"}),
    ],
)
def test_every_trainable_parameter_gets_a_gradient(name, options):
    torch.manual_seed(0)
    network = networks.build(name, **options)
    shape = options.get("input_shape", [1, 28, 28])
    y = network(torch.randn(4, *shape))
    y.square().sum().backward()

    assert y.shape == (4, options.get("classes", 10))
    assert [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_unknown_networks_and_options_are_named():
    with pytest.raises(RecipeError, match=r"network 'bnn_mlp' is unknown .*'bnn-mlp'"):
        networks.build("bnn_mlp")
    with pytest.raises(RecipeError, match=r"option 'hiden' is unknown \(did you mean 'hidden'"):
        networks.build("bnn-mlp", hiden=(3,))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bnn-mlp", {"hidden": []}, "got no hidden layer"),
        ("bnn-mlp", {"last_input": "relu"}, "got last_input 'relu', expected sign or hardtanh"),
        ("bnn-mlp", {"norm": "group"}, "got norm 'group', expected batch or shift"),
        ("bnn-cnn", {"channels": [8]}, "got 1 channels"),
        ("bnn-cnn", {"input_shape": [1, 3, 3]}, "a 3x3 input, expected"),
        ("torchvision", {"model": "resnet19"}, r"got model 'resnet19' \(did you mean 'resnet1"),
        ("torchvision", {}, "option 'model' is missing; give it"),
        (
            "torchvision",
            {"model": "resnet18", "input_shape": [1, 28, 28]},
            "got 1 channels, expected 3; resnet18 reads colour images",
        ),
        ("ttq-lenet", {"input_shape": [1, 8, 8]}, "8x8 with padding 0.*use padding=2"),
    ],
)
def test_impossible_shapes_are_refused(name, options, message):
    with pytest.raises(RecipeError, match=message):
        networks.build(name, **options)
