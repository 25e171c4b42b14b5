"""Checkpoints of networks that compute as BinaryNet.pytorch does, written down from its rules."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bnndeploy import networks
from bnndeploy.errors import CheckpointError
from bnndeploy.layers import QuantLinear
from bnndeploy.training.migration import load_binarynet, read_checkpoint


class Binarized(nn.Module):
    """A product of signs (real inputs in the first layer), then the real bias."""

    def signs(self, x):
        return x if self.first else x.sign()


class BinarizedLinear(Binarized, nn.Linear):
    def __init__(self, *args, first=False, **settings):
        super().__init__(*args, **settings)
        self.first = first

    def forward(self, x):
        return F.linear(self.signs(x), self.weight.sign(), self.bias)


class BinarizedConv2d(Binarized, nn.Conv2d):
    def __init__(self, *args, first=False, **settings):
        super().__init__(*args, **settings)
        self.first = first

    def forward(self, x):
        return F.conv2d(self.signs(x), self.weight.sign(), self.bias, self.stride, self.padding)


class TheirMlp(nn.Module):
    """main_mnist.py with other widths: its hard tanhs are declared before the batch-norms."""

    def __init__(self, inputs=12, hidden=20, classes=5):
        super().__init__()
        self.fc1 = BinarizedLinear(inputs, hidden, first=True)
        self.htanh1 = nn.Hardtanh()
        self.bn1 = nn.BatchNorm1d(hidden)
        self.fc2 = BinarizedLinear(hidden, hidden)
        self.htanh2 = nn.Hardtanh()
        self.bn2 = nn.BatchNorm1d(hidden)
        self.fc3 = nn.Linear(hidden, classes)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        x = self.htanh1(self.bn1(self.fc1(x)))
        return self.fc3(self.htanh2(self.bn2(self.drop(self.fc2(x)))))


class TheirBlock(nn.Module):
    """The basic block of resnet_binary.py; its last one has a batch-norm that it does not use."""

    def __init__(self, inputs, outputs, stride=1, last=False):
        super().__init__()
        self.conv1 = BinarizedConv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = BinarizedConv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.last = last
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                BinarizedConv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        out = self.conv2(F.hardtanh(self.bn1(self.conv1(x))))
        out = out + (x if self.downsample is None else self.downsample(x))
        return out if self.last else F.hardtanh(self.bn2(out))


class TheirResNet(nn.Module):
    """ResNet_cifar10 of resnet_binary.py, depth 14."""

    def __init__(self, widths=(16, 32, 64), classes=10):
        super().__init__()
        a, b, c = widths
        self.conv1 = BinarizedConv2d(3, a, 3, padding=1, bias=False, first=True)
        self.bn1 = nn.BatchNorm2d(a)
        self.layer1 = nn.Sequential(TheirBlock(a, a), TheirBlock(a, a))
        self.layer2 = nn.Sequential(TheirBlock(a, b, 2), TheirBlock(b, b))
        self.layer3 = nn.Sequential(TheirBlock(b, c, 2), TheirBlock(c, c, last=True))
        self.bn2 = nn.BatchNorm1d(c)
        self.bn3 = nn.BatchNorm1d(classes)
        self.fc = BinarizedLinear(c, classes)

    def forward(self, x):
        x = F.hardtanh(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        x = F.hardtanh(self.bn2(x.mean((2, 3))))
        return self.bn3(self.fc(x))


def their_vgg(classes=10, widths=(16, 24, 32, 32), hidden=20):
    """vgg_cifar10_binary.py with fewer channels: biases before the batch-norms."""
    layers, inputs = [], 3
    for index, outputs in enumerate(widths):
        layers.append(BinarizedConv2d(inputs, outputs, 3, padding=1, first=index == 0))
        layers += [nn.MaxPool2d(2)] if index % 2 else []
        layers += [nn.BatchNorm2d(outputs), nn.Hardtanh()]
        inputs = outputs
    layers.append(nn.Flatten())
    inputs *= 4 * 4
    for outputs in (hidden, hidden):
        layers += [BinarizedLinear(inputs, outputs), nn.BatchNorm1d(outputs), nn.Hardtanh()]
        inputs = outputs
    last = [BinarizedLinear(inputs, classes), nn.BatchNorm1d(classes, affine=False)]
    return nn.Sequential(*layers, *last)


def our_mlp(inputs=12, hidden=20, classes=5):
    return nn.Sequential(
        QuantLinear(inputs, hidden, weight_quantizer="ste_sign"),
        nn.BatchNorm1d(hidden),
        QuantLinear(hidden, hidden, input_quantizer="ste_sign", weight_quantizer="ste_sign"),
        nn.BatchNorm1d(hidden),
        nn.Hardtanh(),
        nn.Linear(hidden, classes),
    )


def our_vgg():
    return networks.build("bnn-vgg", input_shape=(3, 16, 16), channels=(16, 24, 32, 32), hidden=20)


@pytest.fixture
def trained():
    """Gives a network real latents inside [-1, 1], biases and statistics, in double precision."""

    def make(module):
        generator = torch.Generator().manual_seed(0)

        def uniform(like, low, high):
            return low + (high - low) * torch.rand(like.shape, generator=generator)

        with torch.no_grad():
            for part in module.modules():
                if isinstance(part, nn.modules.batchnorm._BatchNorm):
                    part.running_mean.copy_(uniform(part.running_mean, -2, 2))
                    part.running_var.copy_(uniform(part.running_var, 0.5, 9))
                    if part.affine:
                        part.weight.copy_(uniform(part.weight, -0.5, 1.5))
                        part.bias.copy_(uniform(part.bias, -0.5, 0.5))
                elif isinstance(part, nn.Linear | nn.Conv2d):
                    part.weight.copy_(uniform(part.weight, -1, 1))
                    if part.bias is not None:
                        part.bias.copy_(uniform(part.bias, -1, 1))
        return module.double().eval()

    return make


def logits(module, images):
    with torch.no_grad():
        return module.double().eval()(images.double())


def test_the_mlp_of_mnist_computes_the_same(trained):
    theirs = trained(TheirMlp())
    images = torch.randn(64, 12, generator=torch.Generator().manual_seed(1))
    ours = our_mlp()

    report = load_binarynet(ours, theirs.state_dict())

    assert torch.allclose(logits(ours, images), logits(theirs, images), atol=1e-5)
    assert report.layers == {
        "0": "fc1", "1": "bn1", "2": "fc2", "3": "bn2", "5": "fc3"
    }  # fmt: skip
    assert report.folded_biases == [], "our layers have biases of their own"


def test_the_vgg_of_cifar_folds_its_biases_into_the_batch_norms(trained):
    theirs = trained(their_vgg())
    images = torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    ours = our_vgg()

    report = load_binarynet(ours, {"epoch": 3, "state_dict": theirs.state_dict()})

    assert torch.allclose(logits(ours, images), logits(theirs, images), atol=1e-4)
    assert len(report.folded_biases) == 7
    assert not report.left_out


def test_the_resnet_of_cifar_is_matched_by_name(trained):
    theirs = trained(TheirResNet())
    images = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    ours = networks.build("resnet-binary", input_shape=(3, 8, 8), depth=14, inflate=1)

    report = load_binarynet(ours, theirs.state_dict())

    assert torch.allclose(logits(ours, images), logits(theirs, images), atol=1e-4)
    assert report.left_out == ["layer3.1.bn2"], "the network of the source never runs it"


def test_parallel_training_leaves_a_prefix_that_is_dropped(trained):
    theirs = trained(TheirMlp())
    state = {f"module.{name}": tensor for name, tensor in theirs.state_dict().items()}
    ours = our_mlp()

    load_binarynet(ours, state)

    assert torch.equal(ours[0].weight, theirs.fc1.weight.float())


@pytest.mark.parametrize("key", ["fc1.weight.org", "fc1.weight_org", "fc1.org"])
def test_latents_come_from_org_entries_where_the_weights_are_signs(trained, key):
    theirs = trained(TheirMlp())
    latents = theirs.fc1.weight.detach().clone()
    state = theirs.state_dict() | {"fc1.weight": latents.sign(), key: latents}
    ours = our_mlp()

    report = load_binarynet(ours, state)

    assert torch.equal(ours[0].weight, latents.float())
    assert report.from_originals == ["0"]
    assert report.signs_only == []


def test_latents_come_from_org_attributes_where_the_code_keeps_them(trained):
    theirs = trained(TheirMlp())
    latents = theirs.fc2.weight.detach().clone()
    theirs.fc2.weight.data.sign_()
    theirs.fc2.weight.org = latents
    ours = our_mlp()

    report = load_binarynet(ours, theirs.state_dict(keep_vars=True))

    assert torch.equal(ours[2].weight, latents.float())
    assert report.from_originals == ["2"]


def test_signs_alone_compute_the_same_and_are_reported(trained):
    theirs = trained(TheirMlp())
    images = torch.randn(64, 12, generator=torch.Generator().manual_seed(1))
    before = logits(theirs, images)
    for layer in (theirs.fc1, theirs.fc2):
        layer.weight.data.sign_()
    ours = our_mlp()

    report = load_binarynet(ours, theirs.state_dict())

    assert torch.allclose(logits(ours, images), before, atol=1e-5)
    assert report.signs_only == ["0", "2"]


def test_weights_that_are_exactly_zero_are_counted(trained):
    theirs = trained(TheirMlp())
    theirs.fc1.weight.data[0, :3] = 0

    assert load_binarynet(our_mlp(), theirs.state_dict()).zero_weights == {"0": 3}


def test_a_network_of_other_widths_is_refused_and_ours_left_alone(trained):
    theirs = trained(TheirMlp(hidden=21))
    ours = our_mlp()
    before = {name: tensor.clone() for name, tensor in ours.state_dict().items()}

    with pytest.raises(
        CheckpointError, match=r"0\.weight has the shape \(21, 12\), expected \(20, 12\); build"
    ):
        load_binarynet(ours, theirs.state_dict())
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_a_network_with_another_number_of_layers_is_refused(trained):
    state = trained(TheirMlp()).state_dict()
    ours = our_mlp()[:2]

    with pytest.raises(CheckpointError, match=r"got 3 products \(fc1, .*\), expected 1 \(0\)"):
        load_binarynet(ours, state)


def test_a_bias_with_nowhere_to_go_is_refused(trained):
    state = trained(nn.Sequential(BinarizedLinear(4, 3, first=True))).state_dict()
    ours = nn.Sequential(QuantLinear(4, 3, bias=False, weight_quantizer="ste_sign"))

    with pytest.raises(CheckpointError, match="layer 0 has a bias, and the network has neither"):
        load_binarynet(ours, state)


def test_a_bias_does_not_pass_an_activation(trained):
    theirs = nn.Sequential(BinarizedLinear(4, 3, first=True), nn.ReLU(), nn.BatchNorm1d(3))
    ours = nn.Sequential(
        QuantLinear(4, 3, bias=False, weight_quantizer="ste_sign"), nn.ReLU(), nn.BatchNorm1d(3)
    )

    with pytest.raises(CheckpointError, match="nor a batch-norm right after it"):
        load_binarynet(ours, trained(theirs).state_dict())


def test_a_checkpoint_without_tensors_is_refused():
    with pytest.raises(CheckpointError, match="got no tensors, expected a state_dict"):
        load_binarynet(our_mlp(), {"epoch": 3})


def test_reads_a_checkpoint_file(trained, tmp_path):
    theirs = trained(TheirMlp())
    torch.save({"epoch": 3, "state_dict": theirs.state_dict()}, tmp_path / "model_best.pth.tar")

    content = read_checkpoint(tmp_path / "model_best.pth.tar")

    assert torch.equal(content["state_dict"]["fc1.weight"], theirs.fc1.weight)


def test_a_file_that_holds_a_whole_module_is_refused_without_running_it(tmp_path):
    torch.save(TheirMlp(), tmp_path / "whole.pth")

    with pytest.raises(CheckpointError, match=r"holds Python objects besides tensors; save model"):
        read_checkpoint(tmp_path / "whole.pth")


@pytest.mark.parametrize("content", [None, b"", b"not a checkpoint", b"PK\x03\x04broken"])
def test_a_missing_or_damaged_file_gives_one_line(tmp_path, content):
    path = tmp_path / "checkpoint.pth"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(CheckpointError, match=r"^checkpoint .*checkpoint\.pth: [^\n]*$"):
        read_checkpoint(path)


def test_a_file_with_a_bare_tensor_is_refused(tmp_path):
    torch.save(torch.zeros(3), tmp_path / "tensor.pth")

    with pytest.raises(CheckpointError, match="got a Tensor, expected a state_dict"):
        read_checkpoint(tmp_path / "tensor.pth")
