"""widen-lines: networks of one axis, from one operator to whole modules."""

import numpy as np
import pytest
import torch
from _exported import export, flipped_bits, node_types, oracle_difference, randomise
from _pass_cases import assert_equal_values, rewrite
from torch import nn

from bnndeploy import InferenceSession
from bnndeploy.export.passes.widen_lines import WidenLines
from bnndeploy.layers import QuantConv1d, QuantLinear
from bnndeploy.parity import verify

LINE = "float[N,4,9] x"


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def codes(rng, *shape, levels=(-1, 1)):
    return rng.choice(levels, shape).astype(np.float32)


def normal(rng, *shape):
    return rng.standard_normal(shape, np.float32)


@pytest.mark.parametrize(
    ("node", "widened"),
    [
        ("Relu(x)", True),
        ("Mul(x, channels)", True),
        ("Add(x, places)", True),
        ("PRelu(x, channels)", True),
        ("Concat<axis=1>(x, x)", True),
        ("Concat<axis=2>(x, x)", True),
        ("Concat<axis=-1>(x, x)", True),
        ("Concat<axis=-2>(x, x)", True),
        ("MaxPool<kernel_shape=[3],strides=[2],pads=[1,0]>(x)", True),
        ("AveragePool<kernel_shape=[3],pads=[0,1],count_include_pad=1>(x)", True),
        ("Pad(x, pads, value)", True),
        ("Transpose<perm=[0,2,1]>(x)", False),
        ("CumSum(x, axis)", False),
    ],
)
def test_what_stands_before_a_convolution_with_codes_gives_the_same(rng, node, widened):
    case = rewrite(
        [WidenLines()], LINE, f"a = {node} y = Conv<pads=[2,1],strides=[2]>(a, w)",
        "float[N,5,L] y", w=codes(rng, 5, *weight_of(node)),
        channels=normal(rng, 4, 1), places=normal(rng, 9), pads=np.array([0, 0, 2, 0, 0, 1]),
        value=np.float32(0.5), axis=np.int64(2),
    )  # fmt: skip

    before = case.nodes.index("Unsqueeze") < case.nodes.index(node.split("<")[0].split("(")[0])
    assert before == widened
    assert_equal_values(case, normal(rng, 2, 4, 9))
    assert_equal_values(case, normal(rng, 0, 4, 9))


def weight_of(node):
    """Returns input channels and kernel that fit what the node puts out."""
    if node.startswith("Transpose"):
        return 9, 3
    return (8 if node.startswith(("Concat<axis=1>", "Concat<axis=-2>")) else 4), 3


def test_a_network_of_real_weights_stays_as_it_is(rng):
    case = rewrite(
        [WidenLines()], LINE, "a = Relu(x) y = Conv(a, w)", "float[N,5,L] y", w=normal(rng, 5, 4, 3)
    )

    assert case.nodes == ["Relu", "Conv"]
    assert case.events == []


def test_lines_that_do_not_touch_the_convolution_stay_lines(rng):
    case = rewrite(
        [WidenLines()], LINE, "y = Conv(x, w) a = Relu(x) b = Transpose<perm=[0,2,1]>(a)",
        "float[N,5,L] y, float[N,9,4] b", w=codes(rng, 5, 4, 3),
    )  # fmt: skip

    assert sorted(case.nodes) == ["Conv", "Relu", "Squeeze", "Transpose", "Unsqueeze"]
    assert_equal_values(case, normal(rng, 2, 4, 9))


def test_a_value_that_is_also_an_output_keeps_its_name_and_shape(rng):
    case = rewrite(
        [WidenLines()], LINE, "y = Conv(x, w) z = Relu(y)", "float[N,5,L] y, float[N,5,L] z",
        w=codes(rng, 5, 4, 3),
    )  # fmt: skip

    assert [len(v.type.tensor_type.shape.dim) for v in case.after.graph.output] == [3, 3]
    assert_equal_values(case, normal(rng, 2, 4, 9))


def quantized(inputs, outputs, kernel=3, weights="ste_sign", **options):
    return QuantConv1d(
        inputs, outputs, kernel, input_quantizer="ste_sign", weight_quantizer=weights, **options
    )


class Lines(nn.Module):
    """A real convolution, two quantized ones with pool and residual between, a linear head."""

    def __init__(self, channels, weights, pad_value, groups=1):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(3, channels, 5, padding=2), nn.BatchNorm1d(channels))
        self.first = nn.Sequential(
            quantized(channels, channels, weights=weights, padding=1, pad_value=pad_value,
                      groups=groups),
            nn.MaxPool1d(2), nn.BatchNorm1d(channels),
        )  # fmt: skip
        self.second = nn.Sequential(
            quantized(channels, channels, weights=weights, padding=2, dilation=2, bias=False),
            nn.BatchNorm1d(channels), nn.PReLU(channels),
        )  # fmt: skip
        self.head = QuantLinear(
            8 * channels, 10, input_quantizer="ste_sign", weight_quantizer="ste_sign"
        )

    def forward(self, x):
        x = self.first(self.stem(x))
        return self.head((x + self.second(x)).flatten(1))


@pytest.mark.parametrize(("channels", "pad_value"), [(5, 0), (31, 1), (64, -1), (65, 0)])
@pytest.mark.parametrize(("weights", "product"), [("ste_sign", "Xnor"), ("ste_tern", "Ternary")])
def test_quantized_convolutions_of_one_axis_are_packed(channels, pad_value, weights, product):
    torch.manual_seed(0)
    module = randomise(Lines(channels, weights, pad_value), 1)
    x = torch.randn(4, 3, 16)

    report = export(module, x)

    assert node_types(report).count(f"{product}Conv") >= 2
    assert node_types(report).count("UnpackBits") == 0
    assert flipped_bits(report, module, x) == 0
    assert max(oracle_difference(report, module, x)) < 1e-4


def test_groups_of_whole_words_are_packed_and_the_file_passes_verify_parity(tmp_path):
    torch.manual_seed(0)
    module = randomise(Lines(64, "ste_sign", -1, groups=2), 1)
    path = tmp_path / "lines.onnx"

    export(module, torch.randn(4, 3, 16), path=path)

    report = verify(path)
    assert report.passed, report.steps
    session = InferenceSession(path)
    for batch in (0, 1, 5):
        x = torch.randn(batch, 3, 16)
        (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        np.testing.assert_allclose(got, module(x).detach(), atol=1e-4)


def test_an_average_over_the_line_and_a_free_length_export():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv1d(3, 32, 3), quantized(32, 40, padding=1), nn.BatchNorm1d(40),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(40, 5),
    ).eval()  # fmt: skip
    length = torch.export.Dim("length", min=8, max=64)
    batch = torch.export.Dim("batch", min=1, max=64)

    report = export(module, torch.randn(2, 3, 20), dynamic_shapes=({0: batch, 2: length},))

    assert node_types(report).count("XnorConv") == 1
    session = InferenceSession(report.model.SerializeToString())
    for size in (8, 33):
        x = torch.randn(3, 3, size)
        (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        np.testing.assert_allclose(got, module(x).detach(), atol=1e-4)
