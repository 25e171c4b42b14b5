"""Checkpoints of BinaryNet.pytorch; its networks are imitated here in plain torch."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bnndeploy import networks
from bnndeploy.errors import CheckpointError
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.layers.migration import BinarizeConv2d, BinarizeLinear, load_binarynet


class TheirLinear(nn.Linear):
    def forward(self, x):
        x = x if self.in_features == 784 else x.sign()
        return F.linear(x, self.weight.sign(), self.bias)


class TheirConv(nn.Conv2d):
    def forward(self, x):
        x = x if self.in_channels == 3 else x.sign()
        return F.conv2d(x, self.weight.sign(), self.bias, self.stride, self.padding)


def mnist_net(linear, width=32):
    """The layers of main_mnist.py with a smaller width."""
    net = nn.Sequential()
    sizes = [784, width, width, width]
    for index in (1, 2, 3):
        net.add_module(f"fc{index}", linear(sizes[index - 1], sizes[index]))
        net.add_module(f"bn{index}", nn.BatchNorm1d(sizes[index]))
        net.add_module(f"htanh{index}", nn.Hardtanh())
    net.add_module("fc4", nn.Linear(width, 10))
    return net


def colour_net(conv, linear):
    """A network in the manner of vgg_cifar10_binary.py."""
    return nn.ModuleDict(
        {
            "features": nn.Sequential(
                conv(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.Hardtanh(),
                conv(16, 16, 3, padding=1), nn.MaxPool2d(2), nn.BatchNorm2d(16), nn.Hardtanh(),
            ),
            "classifier": nn.Sequential(
                linear(16 * 4 * 4, 32), nn.BatchNorm1d(32), nn.Hardtanh(),
                linear(32, 10), nn.BatchNorm1d(10, affine=False),
            ),
        }
    )  # fmt: skip


def run_colour(net, x):
    return net["classifier"](net["features"](x).flatten(1))


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def trained(net):
    """Gives batch-norms statistics and parameters that are not those of a fresh network."""
    for part in net.modules():
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
            if part.affine:
                nn.init.uniform_(part.weight, -1, 1)
                nn.init.normal_(part.bias)
    return net.eval()


def test_a_network_of_the_same_paths_takes_the_checkpoint_unchanged():
    theirs = trained(mnist_net(TheirLinear))
    ours = mnist_net(BinarizeLinear).eval()
    report = load_binarynet(ours, {"epoch": 3, "state_dict": theirs.state_dict()})
    x = torch.randn(16, 784)

    assert report.pairs == [(p, p) for p in ("fc1", "bn1", "fc2", "bn2", "fc3", "bn3", "fc4")]
    assert (report.from_org, report.signs_only, report.zeros, report.folded) == ([], [], 0, [])
    torch.testing.assert_close(ours(x), theirs(x))
    assert torch.equal(ours.fc2.weight, theirs.fc2.weight)


def test_convolutions_and_a_batch_norm_without_scale_are_taken_too():
    theirs = trained(colour_net(TheirConv, TheirLinear))
    # The keys that DataParallel around the features gives.
    state = {k.replace("features.", "features.module."): v for k, v in theirs.state_dict().items()}
    ours = colour_net(BinarizeConv2d, BinarizeLinear).eval()
    ours["classifier"][4] = nn.BatchNorm1d(10).eval()
    load_binarynet(ours, state)
    x = torch.randn(4, 3, 8, 8)

    torch.testing.assert_close(run_colour(ours, x), run_colour(theirs, x))


def test_a_zoo_network_takes_it_layer_by_layer_and_folds_the_biases():
    theirs = trained(mnist_net(TheirLinear))
    ours = networks.build("bnn-mlp", hidden=(32, 32, 32), last_input="hardtanh").eval()
    report = load_binarynet(ours, theirs.state_dict())
    x = torch.randn(16, 1, 28, 28)

    assert report.pairs[:2] == [("fc1", "1"), ("bn1", "2")]
    assert report.folded == ["2", "4", "6"]
    torch.testing.assert_close(ours(x), theirs(x.flatten(1)))


def test_the_zoos_resnet_has_its_paths_and_leaves_the_unused_batch_norm():
    network = networks.build("resnet-binary", depth=14, inflate=1)
    state = trained(networks.build("resnet-binary", depth=14, inflate=1)).state_dict()
    never_run = nn.BatchNorm2d(64).state_dict(prefix="layer3.1.bn2.")
    report = load_binarynet(network, state | never_run)

    assert report.unused == ["layer3.1.bn2"]
    assert all(torch.equal(network.state_dict()[k], v) for k, v in state.items() if "num" not in k)


@pytest.mark.parametrize("suffix", [".org", "_org"])
def test_org_tensors_become_the_latents(suffix):
    theirs = trained(mnist_net(TheirLinear))
    state = {}
    for key, value in theirs.state_dict().items():
        binary = key.startswith(("fc1", "fc2", "fc3"))
        state[key] = value.sign() if binary and key.endswith("weight") else value
        if binary:
            state[key + suffix] = value
    ours = mnist_net(BinarizeLinear).eval()
    report = load_binarynet(ours, state)

    assert report.from_org == ["fc1", "fc2", "fc3"]
    assert report.signs_only == []
    assert torch.equal(ours.fc1.weight, theirs.fc1.weight)


def test_org_attributes_of_the_tensors_become_the_latents_too():
    state = mnist_net(TheirLinear).state_dict()
    real = state["fc2.weight"]
    state["fc2.weight"] = real.sign()
    state["fc2.weight"].org = real
    ours = mnist_net(BinarizeLinear)

    assert load_binarynet(ours, state).from_org == ["fc2"]
    assert torch.equal(ours.fc2.weight, real)


def test_latents_come_from_org_attributes_where_the_code_keeps_them():
    theirs = trained(mnist_net(TheirLinear))
    latents = theirs.fc2.weight.detach().clone()
    theirs.fc2.weight.data.sign_()
    theirs.fc2.weight.org = latents
    ours = mnist_net(BinarizeLinear)
    report = load_binarynet(ours, theirs.state_dict(keep_vars=True))

    assert report.from_org == ["fc2"]
    assert torch.equal(ours.fc2.weight, latents)


def test_signs_without_org_are_loaded_and_reported():
    theirs = trained(mnist_net(TheirLinear))
    with torch.no_grad():
        for part in (theirs.fc1, theirs.fc2, theirs.fc3):
            part.weight.copy_(part.weight.sign())
    ours = mnist_net(BinarizeLinear).eval()
    report = load_binarynet(ours, theirs.state_dict())
    x = torch.randn(4, 784)

    assert report.signs_only == ["fc1", "fc2", "fc3"]
    torch.testing.assert_close(ours(x), theirs(x))


def test_weights_of_zero_are_counted():
    state = mnist_net(TheirLinear).state_dict()
    state["fc2.weight"][0, :3] = 0

    assert load_binarynet(mnist_net(BinarizeLinear), state).zeros == 3


def test_images_stay_real_in_the_layers_of_the_same_name():
    assert BinarizeLinear(784, 4).input_quantizer is None
    assert BinarizeLinear(100, 4).input_quantizer.gate == "identity"
    assert BinarizeConv2d(3, 4, 3).input_quantizer is None
    assert BinarizeConv2d(16, 4, 3, padding=1).weight_quantizer.gate == "identity"


@pytest.mark.parametrize(
    ("ours", "change", "message"),
    [
        (
            lambda: mnist_net(BinarizeLinear, width=16),
            lambda state: state,
            r"bias of 'fc1' is \(32,\), expected \(16,\) for 'fc1'; build",
        ),
        (
            lambda: nn.Sequential(QuantLinear(784, 32), nn.BatchNorm1d(32)),
            lambda state: state,
            r"got 7 layers \(fc1, bn1, .*\), expected 2 \(0, 1\)",
        ),
        (
            lambda: mnist_net(BinarizeLinear)[:-1],
            lambda state: state,
            "got 7 layers .*, expected 6",
        ),
        (
            lambda: nn.Sequential(QuantLinear(784, 32, bias=False)),
            lambda state: {k: v for k, v in state.items() if k.startswith("fc1")},
            "it has a bias for '0', which has none, nor a batch-norm right behind it",
        ),
        (
            lambda: nn.Sequential(QuantLinear(784, 32, bias=False), nn.ReLU(), nn.BatchNorm1d(32)),
            lambda state: {k: v for k, v in state.items() if k[:3] in ("fc1", "bn1")},
            "it has a bias for '0', which has none, nor a batch-norm right behind it",
        ),
        (
            lambda: mnist_net(BinarizeLinear),
            lambda state: {"state_dict": {"epoch": 3}},
            "'epoch' is a int, expected a state_dict of tensors",
        ),
        (
            lambda: mnist_net(BinarizeLinear),
            lambda state: {k: v for k, v in state.items() if k != "fc4.bias"},
            r"bias of 'fc4' is nothing, expected \(10,\) for 'fc4'",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_and_changes_nothing(ours, change, message):
    module = ours()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    state = change(trained(mnist_net(TheirLinear)).state_dict())

    with pytest.raises(CheckpointError, match=message):
        load_binarynet(module, state)
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_an_unchanged_convolution_layer_is_no_binarynet_layer():
    state = nn.Sequential(nn.Conv2d(3, 4, 3)).state_dict()
    ours = nn.Sequential(QuantConv2d(3, 4, 3))
    report = load_binarynet(ours, state)

    assert report.signs_only == []
    assert torch.equal(ours[0].weight, state["0.weight"])
