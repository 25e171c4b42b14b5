"""The standard form with its weights in two bits."""

from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from _exported import BINARY, export, randomise, run_oracle
from onnx.reference import ReferenceEvaluator
from torch import nn

from bnndeploy.errors import ExportError
from bnndeploy.export import import_model, int2
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.parity import verify


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    made = nn.Sequential(
        nn.Conv2d(2, 8, 3),
        QuantConv2d(8, 40, 3, weight_quantizer="ttq", bias=False),
        nn.BatchNorm2d(40),
        nn.ReLU(),
        QuantConv2d(40, 16, 3, input_quantizer="ste_sign", weight_quantizer="twn"),
        nn.Flatten(),
        QuantLinear(16 * 4, 10, **BINARY),
    )
    with torch.no_grad():
        made[1].weight_quantizer.w_pos.fill_(1.5)
    return randomise(made, 0)


@pytest.fixture(scope="module")
def x():
    return torch.randn(3, 2, 8, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def report(network, x):
    return export(network, x, form="standard", int2=True)


def test_weights_take_two_bits_each_and_the_opset_is_the_one_that_has_them(report, network):
    sizes = {
        tensor.name: (tensor.data_type, len(tensor.raw_data))
        for tensor in report.model.graph.initializer
        if tensor.name.endswith(".codes")
    }
    # Both masks of the ternary layer come from one tensor.
    weights = [network[index].weight.numel() for index in (1, 4, 6)]
    assert list(sizes.values()) == [(onnx.TensorProto.INT2, count // 4) for count in weights]
    assert report.bytes_by_kind["two_bit"] == sum(weights) // 4
    assert [entry.version for entry in report.model.opset_import] == [25]
    assert report.model.ir_version == 13


def test_onnxruntime_and_the_reference_compute_what_the_module_does(report, network, x):
    with torch.no_grad():
        expected = network(x).numpy()
    session = onnxruntime.InferenceSession(
        report.model.SerializeToString(), providers=["CPUExecutionProvider"]
    )

    for run in (session.run, ReferenceEvaluator(report.model).run):
        np.testing.assert_allclose(run(None, {"input": x.numpy()})[0], expected, rtol=1e-5)


def test_two_bit_weights_come_back_packed(report, network, x):
    again, packed = import_model(report.model), export(network, x)

    assert again.nodes_after == packed.nodes_after
    outputs = [run_oracle(r.model, x.numpy())["output"] for r in (again, packed)]
    np.testing.assert_allclose(*outputs, rtol=1e-5)


def test_parity_runs_on_the_file(report, tmp_path):
    onnx.save(report.model, tmp_path / "int2.onnx")

    assert verify(tmp_path / "int2.onnx").passed


def test_another_form_is_refused(network, x):
    with pytest.raises(ExportError, match="got INT2 weights with form 'packed', expected form"):
        export(network, x, int2=True)


def test_an_onnx_without_int2_is_named(network, x, monkeypatch):
    monkeypatch.setattr(int2, "onnx", SimpleNamespace(TensorProto=object()))

    with pytest.raises(ExportError, match=r"got onnx 1\.\S+, expected 1.20 or later"):
        export(network, x, form="standard", int2=True)
