"""A packed file turned back into standard operators."""

import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from _exported import export, randomise, small_export
from torch import nn

from bnndeploy.errors import ModelFileError
from bnndeploy.export import expand
from bnndeploy.layers import QuantConv2d
from bnndeploy.quantizers import get


def run(model, x):
    session = ort.InferenceSession(model.SerializeToString())
    return session.run(None, {model.graph.input[0].name: x})[0]


def test_a_binary_chain_answers_the_same_in_standard_operators():
    packed = small_export("packed").model
    standard = expand(packed)
    x = np.random.default_rng(0).standard_normal((5, 2, 6, 6), np.float32)

    onnx.checker.check_model(standard, full_check=True)
    assert {node.domain for node in standard.graph.node} == {""}
    np.testing.assert_array_equal(run(standard, x), run(packed, x))


def test_weights_are_floats_again():
    standard = expand(small_export("packed").model)
    shapes = {tuple(t.dims) for t in standard.graph.initializer if t.data_type == 1}

    assert {(33, 9, 3, 3), (7, 33, 3, 3), (5, 7)} <= shapes


def test_every_part_of_an_epilogue_and_ternary_weights_expand():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            two_scales = get("ttq")
            self.real = QuantConv2d(3, 4, 3, padding=1, bias=False, weight_quantizer=two_scales)
            self.conv = QuantConv2d(
                4, 4, 3, padding=1, pad_value=1, input_quantizer="ste_sign",
                weight_quantizer="ste_sign",
            )  # fmt: skip
            self.relu, self.norm, self.prelu = nn.ReLU(), nn.BatchNorm2d(4), nn.PReLU(4)
            self.last = QuantConv2d(
                4, 2, 1, input_quantizer="ste_sign", weight_quantizer="ste_sign"
            )

        def forward(self, x):
            x = self.real(x)
            y = self.prelu(self.norm(self.relu(self.conv(x))) + x) + 0.5
            return self.last(y) + y[:, :2]

    torch.manual_seed(0)
    report = export(Block().eval(), torch.zeros(2, 3, 5, 5))
    x = np.random.default_rng(1).standard_normal((4, 3, 5, 5), np.float32)
    standard = expand(report.model)

    types = {node.op_type for node in standard.graph.node}
    assert {"Conv", "Pad", "Relu", "PRelu", "Where"} <= types
    np.testing.assert_allclose(run(standard, x), run(report.model, x), atol=1e-5)


def test_a_damaged_file_gives_one_clear_error(tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"not a model")

    with pytest.raises(ModelFileError, match=r"broken\.onnx: cannot be read as an ONNX model"):
        expand(path)


def test_moved_bits_expand_to_moved_floats():
    """Concat, Slice and MaxPoolBits that inverts, all on words."""

    class Moves(nn.Module):
        def __init__(self):
            super().__init__()
            self.sign, self.pool = get("ste_sign"), nn.MaxPool2d(2)
            self.conv = QuantConv2d(
                64, 40, 1, input_quantizer="ste_sign", weight_quantizer="ste_sign"
            )
            self.norm = nn.BatchNorm2d(40)
            self.last = QuantConv2d(72, 3, (2, 1), weight_quantizer="ste_sign")

        def forward(self, x):
            signs = self.sign(x)[:, 32:, 1:3, 1:2]
            y = self.norm(self.pool(self.conv(x)))
            joined = torch.cat([signs, self.sign(y)[:, :, :2, :1]], dim=1)
            return self.last(joined)

    torch.manual_seed(1)
    report = export(randomise(Moves(), 1), torch.zeros(2, 64, 6, 4))
    x = np.random.default_rng(2).standard_normal((3, 64, 6, 4), np.float32)
    standard = expand(report.model)

    packed = {node.op_type for node in report.model.graph.node if node.output[0]}
    assert {"MaxPoolBits", "Slice", "Concat"} <= packed
    np.testing.assert_allclose(run(standard, x), run(report.model, x), atol=1e-5)


def test_a_file_is_expanded_quantised_and_timed_without_torch(tmp_path):
    path = tmp_path / "small.onnx"
    onnx.save(small_export("packed").model, path)
    code = (
        "import sys; from bnndeploy.bench import bench; "
        f"bench({str(path)!r}, batches=(1,), seconds=0.01); assert 'torch' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
