"""The int8 form, a baseline."""

import numpy as np
import onnxruntime as ort
import pytest
import torch
from _exported import export, small_export
from torch import nn

from bnndeploy.errors import ExportError
from bnndeploy.export import expand, quantize_int8


def real_network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5)
    ).eval()


def test_the_form_computes_in_integers_and_close_to_the_module():
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.standard_normal((32, 2, 6, 6), np.float32))
    report = export(real_network(), images[:2], form="int8", calibration=images)
    (y,) = ort.InferenceSession(report.model.SerializeToString()).run(
        None, {"input": images.numpy()}
    )
    with torch.no_grad():
        expected = real_network()(images).numpy()

    assert {"QuantizeLinear", "DequantizeLinear"} <= set(report.nodes_after)
    assert "BatchNormalization" not in report.nodes_after
    kinds = {tensor.data_type for tensor in report.model.graph.initializer if len(tensor.dims) > 1}
    assert kinds == {3}  # int8
    assert np.abs(y - expected).max() < 0.05 * np.abs(expected).max()


def test_a_binary_network_quantises_from_its_packed_file():
    x = np.random.default_rng(1).standard_normal((4, 2, 6, 6), np.float32)
    standard = expand(small_export("packed").model)
    model = quantize_int8(standard, [{"input": row[None]} for row in x])
    (y,) = ort.InferenceSession(model.SerializeToString()).run(None, {"input": x})

    assert y.shape == (4, 5)
    makers = {name: node.op_type for node in model.graph.node for name in node.output}
    quantised = {
        makers.get(node.input[0]) for node in model.graph.node if node.op_type == "QuantizeLinear"
    }
    assert quantised >= {"Conv"}
    # A sign becomes int8 once, for the product that reads it, and not between its own nodes.
    for node in model.graph.node:
        if node.op_type in ("GreaterOrEqual", "Where", "Pad"):
            assert "DequantizeLinear" not in {makers.get(name) for name in node.input[1:]}
    assert {entry.domain for entry in model.opset_import} == {""}


def test_no_calibration_is_refused():
    with pytest.raises(ExportError, match="int8: got no calibration input"):
        quantize_int8(small_export("standard").model, [])


def test_several_inputs_are_cut_into_single_samples():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 4)

        def forward(self, a, b):
            return self.linear(a) + b

    inputs = (torch.ones(2, 3), torch.ones(2, 4))
    report = export(Two().eval(), *inputs, form="int8", calibration=inputs)

    assert "QuantizeLinear" in report.nodes_after


def test_a_fixed_batch_is_calibrated_with_batches_of_its_size():
    x = torch.randn(5, 2, 6, 6, generator=torch.Generator().manual_seed(0))
    options = {"dynamic_shapes": (None,), "calibration": x}
    report = export(real_network(), x[:2], form="int8", **options)

    assert report.model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2
    assert report.nodes_after["QuantizeLinear"] > 1
