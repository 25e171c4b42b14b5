"""Files of other tools become packed ones."""

import warnings

import numpy as np
import onnx
import pytest
import torch
from _exported import export, fix_batch, run_oracle, small_export, small_network
from _pass_cases import assert_equal_values, build, rewrite
from torch import nn

from bnndeploy import quantizers
from bnndeploy.errors import ExportError, ModelFileError
from bnndeploy.export import import_model
from bnndeploy.export.metadata import get_metadata
from bnndeploy.export.passes.read_quantizers import ReadQuantizers
from bnndeploy.export.passes.recognise_signs import RecogniseSigns
from bnndeploy.export.passes.split_weight_scales import SplitWeightScales
from bnndeploy.export.sample import decode, generate_inputs
from bnndeploy.layers import QuantConv2d

QONNX = "qonnx.custom_op.general"
LEVELS = {name: np.float32(value) for name, value in (("p", 1), ("m", -1), ("z", 0))}


@pytest.fixture
def images():
    return np.random.default_rng(0).standard_normal((4, 2, 6, 6), np.float32)


@pytest.fixture
def expected(images):
    with torch.no_grad():
        return small_network()(torch.from_numpy(images)).numpy()


@pytest.mark.parametrize("form", ["float", "standard", "qonnx"])
def test_every_float_form_comes_back_packed_and_computes_the_same(form, images, expected):
    report = import_model(small_export(form).model)

    assert report.nodes_after == small_export("packed").nodes_after
    np.testing.assert_array_equal(run_oracle(report.model, images)["output"], expected)


def test_the_qonnx_form_is_what_the_qonnx_package_executes(images, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        execution = pytest.importorskip("qonnx.core.onnx_exec", reason="qonnx is not installed")
        wrapper = pytest.importorskip("qonnx.core.modelwrapper")
        model = wrapper.ModelWrapper(fix_batch(small_export("qonnx").model, len(images)))
        outputs = execution.execute_onnx(model, {"input": images})

    np.testing.assert_array_equal(outputs["output"], expected)


@pytest.mark.parametrize(
    ("name", "bits", "options"),
    [
        ("dorefa_activation", 1, {}),
        ("dorefa_activation", 4, {}),
        ("lsq", 2, {"signed": False}),
        ("lsq", 3, {"signed": True}),
        ("lsq", 8, {"signed": True}),
    ],
)
def test_activations_of_k_bits_are_quant_nodes_in_the_qonnx_form(name, bits, options):
    torch.manual_seed(bits)
    module = nn.Sequential(
        QuantConv2d(3, 40, 3, padding=1, bias=False),
        nn.BatchNorm2d(40),
        QuantConv2d(
            40, 7, 3, padding=1, pad_value=0, weight_quantizer="ste_sign",
            input_quantizer=quantizers.get(name, bits=bits, **options),
        ),
    )  # fmt: skip
    x = torch.randn(2, 3, 8, 8)
    module(x)  # starts LSQ's step
    module.eval()
    qonnx_form, packed = (export(module, x, form=form) for form in ("qonnx", "packed"))
    (quant,) = [n for n in qonnx_form.model.graph.node if n.op_type == "Quant"]
    constants = {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for tensor in qonnx_form.model.graph.initializer
    }

    assert [constants[name] for name in quant.input[1:]] == [1, 0, bits]
    assert "Round" not in qonnx_form.nodes_after
    back = import_model(qonnx_form.model)
    if bits > 1:
        assert back.nodes_after == packed.nodes_after
    assert back.nodes_after.get("XnorConv") == (bits if bits <= 4 else 1)
    with torch.no_grad():
        expected = module(x).numpy()
    np.testing.assert_allclose(run_oracle(back.model, x.numpy())["output"], expected, atol=1e-4)


def test_metadata_of_a_source_of_ours_is_kept_and_a_foreign_one_gets_a_sample(images):
    source = onnx.ModelProto()
    source.CopyFrom(small_export("float").model)
    source.metadata_props.add(key="bnndeploy.classes", value='["a", "b"]')
    kept = get_metadata(import_model(source).model)
    assert kept["classes"] == ["a", "b"]
    assert kept["sample"] == get_metadata(source)["sample"]

    del source.metadata_props[:]
    sample = get_metadata(import_model(source).model)["sample"]
    (made,) = generate_inputs(sample["seed"], sample["inputs"])
    with torch.no_grad():
        answers = small_network()(torch.from_numpy(made)).numpy()
    np.testing.assert_allclose(decode(sample["outputs"][0]), answers, atol=1e-5)


def test_an_older_opset_is_converted():
    text = """<ir_version: 7, opset_import: ["" : 13]> g (float[N,40] x) => (float[N,3] y)
        { c = GreaterOrEqual(x, z) s = Where(c, p, m) y = MatMul(s, w) }"""
    source = onnx.parser.parse_model(text)
    weight = np.random.default_rng(1).choice([-1.0, 1.0], (40, 3)).astype(np.float32)
    for name, array in ({**LEVELS, "w": weight}).items():
        source.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
    x = np.random.default_rng(2).standard_normal((4, 40)).astype(np.float32)
    report = import_model(source)

    assert report.nodes_after == {"PackBits": 1, "XnorGemm": 1}
    expected = np.where(x >= 0, 1, -1) @ weight
    np.testing.assert_array_equal(run_oracle(report.model, x)["y"], expected)


@pytest.mark.parametrize("name", ["missing.onnx", "broken.onnx", "empty.onnx"])
def test_a_file_that_is_no_model_gives_one_clear_error(tmp_path, name):
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x07garbage")
    (tmp_path / "empty.onnx").write_bytes(b"")

    with pytest.raises(ModelFileError, match=name):
        import_model(tmp_path / name)


def test_a_packed_file_is_not_imported_again():
    with pytest.raises(ExportError, match="the model is packed already"):
        import_model(small_export("packed").model)


SIGN_INPUT = "float[N,6,3,4] x"


@pytest.mark.parametrize(
    ("nodes", "types"),
    [
        ("c = GreaterOrEqual(x, z) y = Where(c, p, m)", ["Sign"]),
        ("c = Less(x, z) y = Where(c, m, p)", ["Sign"]),
        ("c = GreaterOrEqual(x, z) y = Where(c, p, z)", ["Sign", "Mul", "Add"]),
        ("c = GreaterOrEqual(x, z) y = Where(c, m, p)", ["Sign", "Mul"]),
        ("c = Greater(x, t) d = Less(x, u) w = Where(d, m, z) y = Where(c, p, w)", ["Ternary"]),
    ],
)
def test_comparisons_that_choose_levels_are_signs(nodes, types):
    thresholds = np.linspace(0.1, 0.6, 6, dtype=np.float32).reshape(6, 1, 1)
    case = rewrite(
        [RecogniseSigns()], SIGN_INPUT, nodes, "float[N,6,3,4] y",
        t=thresholds, u=-thresholds, **LEVELS,
    )  # fmt: skip
    x = np.random.default_rng(1).standard_normal((2, 6, 3, 4)).astype(np.float32)

    assert case.nodes == types
    assert_equal_values(case, x)


@pytest.mark.parametrize(
    "nodes",
    [
        "c = Greater(x, z) y = Where(c, p, m)",
        "c = GreaterOrEqual(x, p) y = Where(c, p, m)",
        "c = Greater(x, p) d = Less(x, far) w = Where(d, m, z) y = Where(c, p, w)",
    ],
)
def test_other_comparisons_are_left_alone(nodes):
    constants = {**LEVELS, "far": np.float32(-2)}
    case = rewrite([RecogniseSigns()], SIGN_INPUT, nodes, "float[N,6,3,4] y", **constants)

    assert "Where" in case.nodes
    assert not {"Sign", "Ternary"} & set(case.nodes)


def quantizer_model(op_type, scale, x_constant=None, **attributes):
    bits = attributes.pop("bits", None)
    zero = attributes.pop("zero", 0)
    model = build("float[N,6,3,4] x", "y = Identity(x)", "float[N,6,3,4] y", {})
    node = model.graph.node[0]
    node.op_type, node.domain, node.name = op_type, QONNX, "layer/quant"
    constants = {"scale": scale}
    if bits is not None:
        constants |= {"zero": np.float32(zero), "bits": np.float32(bits)}
    node.input.extend(constants)
    for key, value in attributes.items():
        node.attribute.append(onnx.helper.make_attribute(key, value))
    for name, array in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
    model.opset_import.append(onnx.helper.make_opsetid(QONNX, 1))
    return model


SCALES = np.linspace(0.5, 2, 6, dtype=np.float32).reshape(1, 6, 1, 1)


@pytest.mark.parametrize(
    ("op_type", "scale", "attributes", "formula"),
    [
        ("BipolarQuant", np.float32(1), {}, lambda x, s: np.where(x >= 0, 1, -1)),
        ("BipolarQuant", SCALES, {}, lambda x, s: np.where(x / s >= 0, 1, -1) * s),
        ("Quant", SCALES, {"bits": 1, "signed": 1}, lambda x, s: np.where(x >= 0, 1, -1) * s),
        (
            "IntQuant", SCALES, {"bits": 2, "signed": 1, "narrow": 1},
            lambda x, s: np.round(np.clip(x / s, -1, 1)) * s,
        ),
        (
            "Quant", np.float32(0.5), {"bits": 1, "signed": 0, "narrow": 0},
            lambda x, s: np.round(np.clip(x / s, 0, 1)) * s,
        ),
        (
            "Quant", SCALES, {"bits": 4, "signed": 1, "narrow": 0},
            lambda x, s: np.round(np.clip(x / s, -8, 7)) * s,
        ),
    ],
)  # fmt: skip
def test_quantizers_of_activations_compute_what_qonnx_defines(op_type, scale, attributes, formula):
    model = quantizer_model(op_type, scale, **attributes)
    x = np.random.default_rng(2).standard_normal((2, 6, 3, 4)).astype(np.float32)
    x[0, 0, 0] = [0.0, -0.0, 0.25, -0.25]
    report = import_model(model)

    np.testing.assert_array_equal(run_oracle(report.model, x)["y"], formula(x, scale))


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"op_type": "Quant", "bits": 2, "zero": 1}, "got a zero point"),
        ({"op_type": "Quant", "bits": 2, "rounding_mode": "FLOOR"}, "rounding FLOOR"),
        ({"op_type": "Trunc"}, r"got operator qonnx\.custom_op\.general\.Trunc"),
        ({"op_type": "BipolarQuant", "scale": np.float32(-1)}, "expected positive constants"),
    ],
)
def test_quantizers_that_cannot_be_expressed_are_named(attributes, reason):
    options = {"scale": np.float32(1), **attributes}
    model = quantizer_model(options.pop("op_type"), options.pop("scale"), **options)

    with pytest.raises(ExportError, match=f"layer/quant: .*{reason}"):
        import_model(model)


def test_quantizers_of_weights_become_constants():
    weight = np.random.default_rng(3).standard_normal((4, 6, 1, 1)).astype(np.float32)
    model = quantizer_model("BipolarQuant", np.float32(0.25))
    model.graph.node[0].input[0] = "w"
    model.graph.node[0].output[0] = "q"
    model.graph.node.append(onnx.helper.make_node("Conv", ["x", "q"], ["y"], "layer/Conv"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 4
    x = np.random.default_rng(4).standard_normal((2, 6, 3, 4)).astype(np.float32)
    report = import_model(model)

    assert report.nodes_after == {"XnorConv": 1}
    expected = np.einsum("oi,nihw->nohw", 0.25 * np.sign(weight[:, :, 0, 0]), x)
    np.testing.assert_allclose(run_oracle(report.model, x)["y"], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("node", "shape"),
    [("Conv(x, w, b)", (5, 6, 1, 1)), ("Conv<pads=[0,1,0,1]>(x, w, b)", (5, 6, 1, 2))],
)
@pytest.mark.parametrize(("p", "n"), [(0.5, 0.5), (0.5, 0.75)])
def test_scales_leave_the_weights(node, shape, p, n):
    rng = np.random.default_rng(5)
    gains = rng.random((5, 1, 1, 1)).astype(np.float32) + np.float32(0.1)
    codes = rng.choice([-1.0, 0.0, 1.0], shape)
    codes.reshape(5, -1)[:, :3] = -1, 0, 1
    weight = (np.where(codes > 0, p, n) * codes * gains).astype(np.float32)
    case = rewrite(
        [SplitWeightScales()], SIGN_INPUT, f"y = {node}", "float[N,5,h,v] y",
        w=weight, b=rng.standard_normal(5).astype(np.float32),
    )  # fmt: skip
    x = rng.standard_normal((2, 6, 3, 4)).astype(np.float32)

    types = ["Conv", "Mul", "Add"] if p == n else ["Conv", "Mul", "Conv", "Mul", "Sub", "Add"]
    assert case.nodes == types
    assert_equal_values(case, x, atol=1e-5)


def test_weights_of_several_magnitudes_are_real():
    weight = np.random.default_rng(6).standard_normal((5, 6, 1, 1)).astype(np.float32)
    case = rewrite(
        [SplitWeightScales()], SIGN_INPUT, "y = Conv(x, w)", "float[N,5,3,4] y", w=weight
    )

    assert case.nodes == ["Conv"]
    assert case.declined == ["its weights are real"]


def test_a_quantizer_pass_leaves_standard_nodes_alone():
    case = rewrite([ReadQuantizers()], SIGN_INPUT, "y = Relu(x)", "float[N,6,3,4] y")

    assert case.nodes == ["Relu"]
    assert case.events == []
