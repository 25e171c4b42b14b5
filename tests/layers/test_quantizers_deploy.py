"""Every quantizer and layer, exported in one file, computes there what it computes in torch."""

import numpy as np
import pytest
import torch
from torch import nn

from bnndeploy import quantizers
from bnndeploy.layers import QuantConv1d, QuantConv2d, QuantLinear, RPReLU, ShiftBatchNorm
from bnndeploy.quantizers import WeightQuantizer

# Made for weights: their powers of two are taken from the bits of a float.
WEIGHTS_ONLY = {"logarithmic", "power_of_two"}


def layer_of(name):
    if isinstance(quantizers.get(name), WeightQuantizer) or name in WEIGHTS_ONLY:
        return QuantLinear(24, 5, weight_quantizer=name)
    return QuantLinear(24, 5, input_quantizer=name, weight_quantizer="no_op")


class Side(nn.Module):
    """Runs all layers on the same input; one output each."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return tuple(layer(x) for layer in self.layers)


def exported_outputs(module, x):
    pytest.importorskip("onnxruntime")
    from bnndeploy import InferenceSession, export_model

    data = export_model(module, x).model
    session = InferenceSession(data.SerializeToString(), portable=True)
    return session.run(None, {session.get_inputs()[0].name: x.numpy()})


def assert_same(module, x, names):
    with torch.no_grad():
        expected = module.eval()(x)
    for name, ours, deployed in zip(names, expected, exported_outputs(module, x), strict=True):
        np.testing.assert_allclose(deployed, ours, rtol=1e-4, atol=1e-5, err_msg=name)


def test_every_quantizer_deploys():
    torch.manual_seed(0)
    names = quantizers.names()
    # Values on the edges of gates and levels, where a rule that is only nearly right differs.
    x = torch.randn(6, 24)
    x[0, :8] = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.05, -0.05, 0.5, -0.5])

    assert_same(Side([layer_of(name) for name in names]), x, names)


def test_every_kind_of_layer_deploys():
    torch.manual_seed(0)
    signs = {"input_quantizer": "ste_sign", "weight_quantizer": "ste_sign"}
    shift = ShiftBatchNorm(4)
    shift.running_mean.normal_()
    shift.running_var.uniform_(0.5, 3)
    rprelu = RPReLU(4)
    for parameter in rprelu.parameters():
        nn.init.normal_(parameter)
    layers = {
        "grouped": QuantConv2d(4, 8, 3, padding=1, groups=2, pad_value=1, **signs),
        "depthwise": QuantConv2d(4, 4, 3, groups=4, **signs),
        "strided": QuantConv2d(4, 4, 3, stride=2, padding=1, dilation=2, pad_value=-1, **signs),
        "ttq": QuantConv2d(4, 4, 3, input_quantizer="ternary", weight_quantizer="ttq"),
        "rsign": QuantConv2d(4, 4, 1, input_quantizer="rsign", weight_quantizer="xnor_scale"),
        "shift": shift,
        "rprelu": rprelu,
        "one axis": nn.Sequential(nn.Flatten(2), QuantConv1d(4, 4, 3, padding=1, **signs)),
        "many axes": QuantLinear(7, 3, **signs),
    }

    assert_same(Side(layers.values()), torch.randn(2, 4, 7, 7), list(layers))
