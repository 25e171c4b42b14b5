"""The tiny trained module, its packed file, and images for both."""

from types import SimpleNamespace

import onnx
import pytest
import torch
from _tiny import CLASSES, SIZE, Packed, Recipe, TinyNet, packed_model

from bnndeploy.training.data import DataSplits, Normalise, TensorSplit


@pytest.fixture(scope="session")
def net():
    return TinyNet().eval()


@pytest.fixture(scope="session")
def tiny_model(net):
    return packed_model(net)


@pytest.fixture
def packed(tiny_model, tmp_path):
    model = onnx.ModelProto()
    model.CopyFrom(tiny_model)
    return Packed(model, tmp_path / "tiny.onnx")


@pytest.fixture
def run(net):
    return SimpleNamespace(name="tiny", module=net, recipe=Recipe())


@pytest.fixture(scope="session")
def data(net):
    """Images whose labels are what the module says, so that its accuracy is 100 %."""
    generator = torch.Generator().manual_seed(1)
    pixels = torch.randint(0, 256, (300, 1, SIZE, SIZE), generator=generator, dtype=torch.uint8)
    normalise = Normalise(255.0, (0.5,), (0.25,))
    with torch.no_grad():
        labels = net(normalise(pixels)).argmax(dim=1)
    split = TensorSplit(pixels, labels, normalise)
    return DataSplits(split, split, split, tuple(map(str, range(CLASSES))), {})
