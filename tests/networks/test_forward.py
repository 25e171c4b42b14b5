import pytest
import torch

from bnndeploy import networks
from bnndeploy.errors import RecipeError

# The smallest input of each network, with options that keep its construction cheap.
SMALL = {
    "binary-alexnet": {"input_shape": (3, 64, 64)},
    "binary-densenet-28": {"input_shape": (3, 16, 16)},
    "binary-resnet-e-18": {"input_shape": (3, 64, 64)},
    "birealnet-18": {"input_shape": (3, 16, 16)},
    "bnn-cnn": {"input_shape": (1, 8, 8)},
    "bnn-mlp": {"input_shape": (1, 8, 8), "hidden": (64, 64)},
    "bnn-vgg": {"input_shape": (3, 16, 16), "channels": (32, 32, 64, 64), "hidden": 64},
    "dorefa-resnet-18": {"input_shape": (3, 16, 16)},
    "meliusnet-22": {"input_shape": (3, 32, 32)},
    "quicknet-small": {"input_shape": (3, 32, 32)},
    "reactnet-18": {"input_shape": (3, 16, 16)},
    "reactnet-a": {"input_shape": (3, 32, 32)},
    "real-to-binary-18": {"input_shape": (3, 16, 16)},
    "resnet-binary": {"input_shape": (3, 8, 8), "depth": 20, "inflate": 1},
    "torchvision": {"input_shape": (3, 32, 32), "model": "mobilenet_v3_small"},
    "ttq-lenet": {"input_shape": (1, 16, 16)},
    "ttq-resnet-20": {"input_shape": (3, 8, 8)},
    "xnor-alexnet": {"input_shape": (3, 64, 64)},
}
# Deeper or wider members of families above, built by the same code.
SIBLINGS = {
    "binary-densenet-37",
    "binary-densenet-45",
    "birealnet-34",
    "quicknet-large",
    "quicknet-medium",
    "ttq-resnet-32",
    "ttq-resnet-44",
    "ttq-resnet-56",
}


def test_every_network_or_a_sibling_has_a_small_input_here():
    assert sorted(SIBLINGS | set(SMALL)) == networks.names()


@pytest.mark.parametrize("network", sorted(SIBLINGS))
def test_siblings_give_one_logit_per_class(network):
    with torch.device("meta"):
        module = networks.build(network, classes=7)
        images = torch.empty(2, *networks.options(network)["input_shape"])

    assert module(images).shape == (2, 7)


@pytest.mark.parametrize("network", SMALL)
def test_gives_one_logit_per_class_and_a_gradient_for_every_parameter(network):
    torch.manual_seed(0)
    module = networks.build(network, classes=7, **SMALL[network])
    images = torch.randn(2, *SMALL[network]["input_shape"])

    logits = module(images)
    logits.square().mean().backward()

    assert logits.shape == (2, 7)
    assert torch.isfinite(logits).all()
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize("network", SMALL)
def test_the_answer_for_an_image_does_not_depend_on_its_batch(network):
    torch.manual_seed(0)
    # In double precision, so that no sum that rounds differently flips a sign.
    module = networks.build(network, classes=7, **SMALL[network]).double().eval()
    images = torch.randn(2, *SMALL[network]["input_shape"], dtype=torch.float64)

    with torch.no_grad():
        together, alone = module(images), module(images[1:])

    assert torch.allclose(together[1:], alone)


@pytest.mark.parametrize(
    ("network", "input_shape", "multiple"),
    [
        ("bnn-vgg", (3, 30, 32), 8),
        ("binary-alexnet", (3, 227, 227), 32),
        ("binary-resnet-e-18", (3, 100, 100), 32),
        ("binary-resnet-e-18", (3, 28, 28), 8),
        ("binary-densenet-28", (3, 225, 224), 32),
        ("meliusnet-22", (3, 48, 48), 32),
        ("quicknet-small", (3, 28, 28), 32),
        ("real-to-binary-18", (3, 0, 0), 8),
        ("reactnet-18", (3, 30, 30), 8),
        ("reactnet-a", (3, 100, 96), 32),
        ("resnet-binary", (3, 30, 30), 4),
        ("ttq-resnet-20", (3, 32), 4),
    ],
)
def test_an_input_that_cannot_be_halved_often_enough_is_refused(network, input_shape, multiple):
    with pytest.raises(
        RecipeError, match=rf"{network}: got input_shape .* multiples of {multiple};"
    ):
        networks.build(network, input_shape=input_shape)


@pytest.mark.parametrize(
    ("network", "channels", "message"),
    [
        ("bnn-vgg", (8, 8, 8), "got 3 channels, expected an even number"),
        ("bnn-vgg", (), "got 0 channels"),
        ("binary-alexnet", (8, 8), "got 2 channels, expected those of 5"),
    ],
)
def test_a_wrong_number_of_convolutions_is_refused(network, channels, message):
    with pytest.raises(RecipeError, match=f"{network}: {message}"):
        networks.build(network, channels=channels)


def test_alexnet_takes_the_widths_and_padding_of_binarynet_pytorch():
    with torch.device("meta"):
        module = networks.build(
            "binary-alexnet", channels=(192, 576, 1152, 768, 256), first_padding=2
        )
        assert module(torch.empty(2, 3, 224, 224)).shape == (2, 1000)


def test_a_binary_resnet_that_is_too_shallow_is_refused():
    with pytest.raises(RecipeError, match="resnet-binary: got depth 8, expected at least 14"):
        networks.build("resnet-binary", depth=8)


def test_the_blurred_pooling_averages_with_a_fixed_binomial_filter():
    pool = networks.build("quicknet-small", input_shape=(3, 32, 32)).get_submodule("13")

    ones = pool(torch.ones(1, 32, 6, 6))

    assert not pool.weight.requires_grad
    assert ones[0, 0, 1, 1] == 1
    assert ones[0, 0, 0, 0] == 9 / 16
