"""Modules of users: compositions that export, and those that are refused with their place."""

import numpy as np
import pytest
import torch
from _exported import BINARY, export, flipped_bits, oracle_difference, randomise
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, weight_norm

from bnndeploy import InferenceSession
from bnndeploy.errors import ExportError
from bnndeploy.export.metadata import get_metadata
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.quantizers import get


class Own(nn.Module):
    """Parts by name, and a forward of them."""

    def __init__(self, forward, **parts):
        super().__init__()
        self._forward = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self._forward(self, *inputs)


def conv(inputs, outputs, kernel=3, **options):
    return QuantConv2d(inputs, outputs, kernel, padding=kernel // 2, **BINARY, **options)


def linear(inputs=8, outputs=8):
    return QuantLinear(inputs, outputs, **BINARY)


def ternary():
    torch.manual_seed(0)
    return nn.Parameter(torch.randn(16, 32, 3, 3))


MAP, ROWS = (2, 32, 6, 6), (2, 8)


def repeat(own, x):
    return own.norm(own.conv(own.norm(own.conv(x))))


def halves(own, x):
    left, right = own.sign(own.norm(own.conv(x))).chunk(2, 1)
    return own.left(left) + own.right(right)


def changed_in_place(own, x):
    x = own.first(x)
    x += 1
    x.mul_(0.5)
    return own.second(x)


PARTS = {
    "a layer used twice": (
        lambda: Own(repeat, conv=conv(32, 32), norm=nn.BatchNorm2d(32)),
        MAP,
        {"PackBits": 1, "XnorConv": 2},
    ),
    "a function of a quantized Parameter": (
        lambda: Own(
            lambda own, x: F.conv2d(own.sign(x), own.sign(own.w)), sign=get("ste_sign"), w=ternary()
        ),
        MAP,
        {"PackBits": 1, "XnorConv": 1},
    ),
    "the sign of a sum of two branches": (
        lambda: Own(
            lambda own, x: own.head(own.left(x) + own.right(x)),
            left=conv(32, 40), right=conv(32, 40, 1), head=conv(40, 8),
        ),
        MAP,
        {"PackBits": 1, "XnorConv": 3},
    ),
    "halves of bits": (
        lambda: Own(
            halves, conv=conv(32, 64), norm=nn.BatchNorm2d(64), sign=get("ste_sign"),
            left=QuantConv2d(32, 8, 3, weight_quantizer="ste_sign"),
            right=QuantConv2d(32, 8, 3, weight_quantizer="ste_sign"),
        ),
        MAP,
        {"PackBits": 1, "Slice": 2, "XnorConv": 3},
    ),
    "values changed in place": (
        lambda: Own(changed_in_place, first=linear(), second=linear()),
        ROWS,
        {"PackBits": 1, "XnorGemm": 2},
    ),
    "a group norm and a transposed convolution between": (
        lambda: nn.Sequential(
            conv(32, 32), nn.GroupNorm(4, 32), nn.ConvTranspose2d(32, 32, 2, 2), conv(32, 8)
        ),
        MAP,
        {"ConvTranspose": 1, "GroupNormalization": 1, "PackBits": 2, "XnorConv": 2},
    ),
    "a parametrized weight": (
        lambda: nn.Sequential(parametrizations.weight_norm(linear()), linear(8, 3)),
        ROWS,
        {"PackBits": 1, "XnorGemm": 2},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("build", "shape", "nodes"), PARTS.values(), ids=PARTS)
def test_a_composition_is_packed_and_computes_the_same(build, shape, nodes):
    torch.manual_seed(0)
    module, x = randomise(build(), 0), torch.randn(shape)
    report = export(module, x)

    assert report.nodes_after == nodes
    assert max(oracle_difference(report, module, x)) < 1e-5
    with torch.no_grad():
        module(x)  # left as it was, parametrized weights too


def test_height_width_and_batch_may_be_free_and_inputs_and_outputs_several():
    module = randomise(
        Own(
            lambda own, x, y: {"map": own.second(own.first(x) + y), "mean": y.mean((2, 3))},
            first=conv(3, 33, pad_value=1),
            second=nn.Sequential(nn.BatchNorm2d(33), conv(33, 7, pad_value=-1)),
        ),
        0,
    )
    free = {0: torch.export.Dim.DYNAMIC, 2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC}
    inputs = torch.randn(2, 3, 6, 8), torch.randn(2, 33, 6, 8)
    report = export(module, *inputs, dynamic_shapes=((free, free),))
    session = InferenceSession(report.model.SerializeToString())

    for batch, height, width in ((2, 6, 8), (1, 9, 4)):
        x, y = torch.randn(batch, 3, height, width), torch.randn(batch, 33, height, width)
        with torch.no_grad():
            expected = module(x, y)
        names = [value.name for value in session.get_inputs()]
        got = session.run(None, dict(zip(names, (x.numpy(), y.numpy()), strict=True)))
        for value, want in zip(got, expected.values(), strict=True):
            np.testing.assert_allclose(value, want.numpy(), atol=1e-5)


def test_the_sample_has_the_batch_of_a_file_whose_batch_is_fixed():
    report = export(linear(), torch.randn(3, 8), dynamic_shapes=(None,))

    assert get_metadata(report.model)["sample"]["inputs"][0]["shape"] == [3, 8]


def test_bits_of_split_channels_do_not_differ():
    torch.manual_seed(0)
    module = randomise(PARTS["halves of bits"][0](), 0)
    x = torch.randn(MAP)

    assert flipped_bits(export(module, x), module, x) == 0


def branch_on_data(own, x):
    return own.layer(x) if x.sum() > 0 else own.layer(-x)


REFUSED = {
    "a branch on data": (
        lambda: nn.Sequential(Own(branch_on_data, layer=linear())),
        r"module '0' cannot be traced by torch.export: Could not guard on data-dependent",
    ),
    "a scripted part": (
        lambda: nn.Sequential(linear(), torch.jit.script(nn.ReLU())),
        r"module '1' is compiled by TorchScript, expected a plain nn.Module",
    ),
    "a latent weight that is read": (
        lambda: nn.Sequential(
            Own(lambda own, x: own.layer(x) + own.layer.weight.sum(), layer=linear())
        ),
        r"module '0.layer': its real-valued weight is read besides its codes",
    ),
    "a part that cannot be copied": (
        lambda: nn.Sequential(weight_norm(nn.Linear(8, 8)), linear()),
        r"the module cannot be copied: .*torch.nn.utils.parametrizations",
    ),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("build", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_exported_is_named_with_its_place(build, reason):
    with pytest.raises(ExportError, match=reason):
        export(build(), torch.randn(ROWS))
