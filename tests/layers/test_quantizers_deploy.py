"""Every quantizer and layer, trained a step and exported, computes what it computes in torch."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from bnndeploy import quantizers
from bnndeploy.layers import (
    QuantConv1d,
    QuantConv2d,
    QuantEmbedding,
    QuantLinear,
    RPReLU,
    ShiftBatchNorm,
    clip_latents,
)
from bnndeploy.quantizers import WeightQuantizer

pytest.importorskip("onnxruntime")
from bnndeploy import InferenceSession, export_model
from bnndeploy.parity import verify

SIGNS = {"input_quantizer": "ste_sign", "weight_quantizer": "ste_sign"}
# What a quantizer must become where it stands: two places of packed operators, and standard ones.
TERNARY = {"ternary", "ste_tern", "twn", "bitnet", "ttq"}
BINARY = {name for name in quantizers.names() if quantizers.get(name).bits == 1}


def network(name):
    """Puts the quantizer on weights and, where it serves them, on inputs and outputs."""
    torch.manual_seed(0)
    layers = [
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        QuantConv2d(8, 40, 3, padding=1, **SIGNS | {"weight_quantizer": name}),
        nn.BatchNorm2d(40),
    ]
    if not isinstance(quantizers.get(name), WeightQuantizer):
        layers += [
            QuantConv2d(40, 12, 3, **SIGNS | {"input_quantizer": name}, output_quantizer=name),
            QuantConv2d(12, 9, 1, weight_quantizer="ste_sign", output_quantizer=name),
        ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.LazyLinear(5))


def train_a_step(module):
    x = torch.randn(16, 3, 6, 6)
    module(x)  # shapes and first statistics
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    nn.functional.cross_entropy(module(x), torch.arange(16) % 5).backward()
    optimizer.step()
    clip_latents(module)
    return module.eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", quantizers.names())
def test_every_quantizer_trains_deploys_packed_and_keeps_parity(name, tmp_path):
    module = train_a_step(network(name))
    path = tmp_path / "model.onnx"
    report = export_model(module, torch.randn(2, 3, 6, 6), path)

    assert_parity(path, module)
    product = "TernaryConv" if name in TERNARY else "XnorConv"
    assert (name in BINARY | TERNARY) <= (report.nodes_after.get(product, 0) > 0)


@pytest.mark.slow
def test_every_quantizer_deploys_in_the_standard_form_and_keeps_parity(tmp_path):
    module = Side([train_a_step(network(name)) for name in quantizers.names()])
    path = tmp_path / "model.onnx"
    report = export_model(module, torch.randn(2, 3, 6, 6), path, form="standard")

    assert_parity(path, module.eval())
    assert {node.domain for node in report.model.graph.node} == {""}


def assert_parity(path, module):
    run = SimpleNamespace(name="run", module=module, recipe=SimpleNamespace(seed=0))
    proof = verify(path, run)
    assert proof.passed, [step.result for step in proof.steps]


def test_values_on_the_edges_of_gates_and_levels_deploy_as_they_are():
    torch.manual_seed(0)
    activations = [
        name for name in quantizers.names() if not isinstance(quantizers.get(name), WeightQuantizer)
    ]
    x = torch.randn(6, 24)
    edges = [0.0, -0.0, 1.0, -1.0, 0.05, -0.05, 0.5, -0.5, 2.0**-0.5, 2.0**0.5, 3e-39, -1e38]
    x[0, : len(edges)] = torch.tensor(edges)
    layers = [quantizers.get(name) for name in activations]

    assert_same(Side(layers), x, activations)


class Side(nn.Module):
    """Runs all layers on the same input; one output each."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return tuple(layer(x) for layer in self.layers)


def exported_outputs(module, x):
    data = export_model(module, x).model
    session = InferenceSession(data.SerializeToString(), portable=True)
    return session.run(None, {session.get_inputs()[0].name: x.numpy()})


def assert_same(module, x, names):
    with torch.no_grad():
        expected = module.eval()(x)
    for name, ours, deployed in zip(names, expected, exported_outputs(module, x), strict=True):
        np.testing.assert_allclose(deployed, ours, rtol=1e-4, atol=1e-5, err_msg=name)


def test_every_kind_of_layer_deploys():
    torch.manual_seed(0)
    shift = ShiftBatchNorm(4)
    shift.running_mean.normal_()
    shift.running_var.uniform_(0.5, 3)
    rprelu = RPReLU(4)
    for parameter in rprelu.parameters():
        nn.init.normal_(parameter)
    layers = {
        "grouped": QuantConv2d(4, 8, 3, padding=1, groups=2, pad_value=1, **SIGNS),
        "depthwise": QuantConv2d(4, 4, 3, groups=4, **SIGNS),
        "strided": QuantConv2d(4, 4, 3, stride=2, padding=1, dilation=2, pad_value=-1, **SIGNS),
        "ttq": QuantConv2d(4, 4, 3, input_quantizer="ternary", weight_quantizer="ttq"),
        "rsign": QuantConv2d(4, 4, 1, input_quantizer="rsign", weight_quantizer="xnor_scale"),
        "output": QuantConv2d(4, 4, 3, output_quantizer="rsign", **SIGNS),
        "shift": shift,
        "rprelu": rprelu,
        "one axis": nn.Sequential(nn.Flatten(2), QuantConv1d(4, 4, 3, padding=1, **SIGNS)),
        "many axes": QuantLinear(7, 3, **SIGNS),
    }

    assert_same(Side(layers.values()), torch.randn(2, 4, 7, 7), list(layers))


@pytest.mark.parametrize("name", ["ste_sign", "xnor_scale", "ttq", "fixed_point"])
def test_an_embedding_deploys_as_rows_of_levels(name):
    torch.manual_seed(0)
    rows = torch.randint(0, 10, (3, 7))  # and so are those of a file's sample

    table = QuantEmbedding(10, 4, weight_quantizer=name, output_quantizer="half")
    assert_same(Side([table]), rows, [name])
