"""Graphs written the way Brevitas writes them become packed ones that compute the same.

Its exporter (``export_qonnx``) puts a quantizer node behind every weight, lets weights and
activations share one scale, keeps batch-norms apart, and reads scales as constants named after
the module that first had them.
"""

import warnings

import numpy as np
import onnx
import pytest
from _exported import fix_batch, run_oracle

from bnndeploy.export import import_model

ROUND = 'rounding_mode = "ROUND"'
BINARY = "BipolarQuant ({}, one)"
TERNARY = f"Quant <signed = 1, narrow = 1, {ROUND}> ({{}}, one, zero, two)"
TERNARY_SCALES = f"Quant <signed = 1, narrow = 1, {ROUND}> ({{}}, scales, zero, two)"
SIGNS = "BipolarQuant (sum, one)"
UNSIGNED = f"Quant <signed = 0, narrow = 0, {ROUND}> (sum, step, zero, two)"
SIGNED = f"Quant <signed = 1, narrow = 0, {ROUND}> (sum, step, zero, three)"
GRAPH = """
<ir_version: 9, opset_import: ["" : 20, "qonnx.custom_op.general" : 2]>
brevitas (float[N,3,10,10] x) => (float[N,5] y) {{
    stem = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, stem_weight, stem_bias)
    q0 = qonnx.custom_op.general.BipolarQuant (stem, one)
    w1 = qonnx.custom_op.general.{first}
    c1 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (q0, w1)
    b1 = BatchNormalization <epsilon = 0.00001> (c1, gamma1, beta1, mean1, var1)
    sum = Add (stem, b1)
    q1 = qonnx.custom_op.general.{between}
    w2 = qonnx.custom_op.general.{second}
    c2 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (q1, w2)
    m2 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c2)
    b2 = BatchNormalization <epsilon = 0.00001> (m2, gamma2, beta2, mean2, var2)
    r2 = Relu (b2)
    q2 = qonnx.custom_op.general.Quant <signed = 0, narrow = 0, rounding_mode = "ROUND">
        (r2, step, zero, two)
    mean = ReduceMean <keepdims = 0> (q2, axes)
    w3 = qonnx.custom_op.general.BipolarQuant (weight3, scale3)
    y = Gemm <transB = 1> (mean, w3, bias3)
}}"""


def brevitas_model(first, between, second):
    """Parses the graph and draws its constants; ``first`` and ``second`` quantise weights."""
    draw = np.random.default_rng(7)

    def normal(*shape):
        return draw.standard_normal(shape).astype(np.float32)

    constants = {
        "stem_weight": normal(33, 3, 3, 3), "stem_bias": normal(33),
        "weight1": normal(33, 33, 3, 3), "weight2": normal(40, 33, 3, 3), "weight3": normal(5, 40),
        "scales": np.abs(normal(40, 1, 1, 1)) + np.float32(0.5), "bias3": normal(5),
        "scale3": np.float32(0.07), "step": np.float32(0.4),
        "one": np.float32(1), "two": np.float32(2), "three": np.float32(3), "zero": np.float32(0),
        "axes": np.array([2, 3]),
    }  # fmt: skip
    for index, channels in ((1, 33), (2, 40)):
        constants |= {
            f"gamma{index}": normal(channels), f"beta{index}": normal(channels),
            f"mean{index}": 4 * normal(channels),
            f"var{index}": np.abs(normal(channels)) * 90 + np.float32(1),
        }  # fmt: skip
    model = onnx.parser.parse_model(GRAPH.format(first=first, between=between, second=second))
    for name, array in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
    return model


@pytest.mark.parametrize(
    ("first", "between", "second", "products"),
    [
        (BINARY, SIGNS, BINARY, {"XnorConv": 2}),
        (BINARY, SIGNS, TERNARY, {"XnorConv": 1, "TernaryConv": 1}),
        (TERNARY, SIGNS, TERNARY_SCALES, {"TernaryConv": 2}),
        (BINARY, UNSIGNED, BINARY, {"XnorConv": 1 + 2, "PackBits": 1 + 2}),
        (BINARY, SIGNED, TERNARY_SCALES, {"XnorConv": 1, "TernaryConv": 3, "PackBits": 1 + 3}),
    ],
    ids=["binary", "ternary", "scale-a-channel", "two-bit-activations", "three-bit-activations"],
)
def test_a_residual_network_of_brevitas_computes_what_qonnx_executes(
    first, between, second, products
):
    execution = pytest.importorskip("qonnx.core.onnx_exec", reason="qonnx is not installed")
    wrapper = pytest.importorskip("qonnx.core.modelwrapper", reason="qonnx is not installed")
    shapes = pytest.importorskip("qonnx.transformation.infer_shapes")
    model = brevitas_model(first.format("weight1"), between, second.format("weight2"))
    x = np.random.default_rng(8).standard_normal((3, 3, 10, 10)).astype(np.float32)
    report = import_model(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fixed = wrapper.ModelWrapper(fix_batch(model, len(x)))
        fixed = fixed.transform(shapes.InferShapes())
        expected = execution.execute_onnx(fixed, {"x": x})["y"]

    assert products.items() <= report.nodes_after.items()
    assert report.nodes_after["XnorGemm"] == 1
    np.testing.assert_allclose(run_oracle(report.model, x)["y"], expected, rtol=1e-5, atol=1e-6)
