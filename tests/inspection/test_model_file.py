import json

import numpy as np
import onnx
import pytest
import toy_models
from onnx import TensorProto, helper, numpy_helper

from bnndeploy.errors import ModelFileError
from bnndeploy.export.metadata import weights_sha256
from bnndeploy.inspection.model_file import inspect_file
from bnndeploy.ops.packing import pack_bits, pack_ternary

ONE = np.ones(1, np.float32)


def product(op, name, source, weight, targets, extra=(), **attributes):
    inputs = [source, weight, *extra, *["one"] * 6]
    return helper.make_node(
        op, inputs, targets, name=name, domain="ai.bnndeploy", acc_min=float("-inf"), **attributes
    )


@pytest.fixture
def model():
    """Pack, a binary and a ternary product of 70 inputs, and a float product."""
    rng = np.random.default_rng(4)
    binary, ternary = rng.choice([-1, 1], (40, 70)), rng.choice([-1, 0, 1], (5, 40))
    constants = {
        "one": ONE,
        "binary": pack_bits(binary),
        "ternary": pack_ternary(ternary),
        "float": np.zeros((5, 3), np.float32),
    }
    nodes = [
        helper.make_node("PackBits", ["x", "one", "one"], ["b"], "pack", domain="ai.bnndeploy"),
        product("XnorGemm", "first", "b", "binary", ["", "h"], k=70),
        product("TernaryGemm", "second", "h", "ternary", ["y", ""], ["one", "one"], k=40),
        helper.make_node("Gemm", ["y", "float"], ["z"], "last"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 70])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["N", 3])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
        value_info=[helper.make_tensor_value_info("h", TensorProto.UINT32, ["N", 2])],
    )
    model = helper.make_model(
        graph,
        ir_version=10,
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.bnndeploy", 1)],
    )
    properties = {
        "bnndeploy.weights_sha256": json.dumps(weights_sha256(model)),
        "bnndeploy.sample": '{"long": 1}',
    }
    helper.set_model_props(model, properties)
    return model


def inspect(tmp_path, model):
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    return inspect_file(path)


def test_each_node_has_its_bits_weights_and_bytes(tmp_path, model):
    nodes = {node.name: node for node in inspect(tmp_path, model).nodes}

    def numbers(name):
        node = nodes[name]
        return (node.input_bits, node.weight_bits, node.weights, node.bytes, node.float32_bytes)

    # 70 bits take 3 words; two planes of 40 bits take 2 words each; "one" counts where it is
    # first used.
    assert numbers("pack") == (32, None, 0, 4, 4)
    assert numbers("first") == (1, 1, 2800, 40 * 3 * 4, 2800 * 4)
    assert numbers("second") == (1, 2, 200, 2 * 5 * 2 * 4, 200 * 4)
    assert numbers("last") == (32, 32, 15, 60, 60)


def test_shapes_are_those_that_the_file_states_or_implies(tmp_path, model):
    nodes = {node.name: node for node in inspect(tmp_path, model).nodes}

    assert (nodes["pack"].input, nodes["pack"].output) == (("N", 70), None)
    assert (nodes["first"].input, nodes["first"].output) == (None, ("N", 2))
    assert (nodes["last"].input, nodes["last"].output) == (None, ("N", 3))


def test_totals_are_the_sums_and_the_file(tmp_path, model):
    report = inspect(tmp_path, model)

    assert report.size == (tmp_path / "m.onnx").stat().st_size
    assert report.bytes_by_kind["one_bit"] == 480
    assert report.bytes_by_kind["two_bit"] == 80
    assert sum(report.bytes_by_kind.values()) == report.size
    assert report.constant_bytes == 4 + 480 + 80 + 60
    assert report.float32_bytes == 4 + 11200 + 800 + 60


def test_weights_that_changed_after_the_export_are_noticed(tmp_path, model):
    assert inspect(tmp_path, model).weights_intact is True

    data = bytearray(model.graph.initializer[1].raw_data)
    data[0] ^= 1
    model.graph.initializer[1].raw_data = bytes(data)
    assert inspect(tmp_path, model).weights_intact is False

    del model.metadata_props[:]
    assert inspect(tmp_path, model).weights_intact is None


def test_long_metadata_is_left_out(tmp_path, model):
    assert set(inspect(tmp_path, model).metadata) == {"weights_sha256"}


def test_a_model_of_standard_operators_is_described_too(tmp_path):
    report = inspect(tmp_path, onnx.load_from_string(toy_models.classifier()[0]))

    assert [(node.op, node.weights) for node in report.nodes] == [("Flatten", 0), ("MatMul", 192)]
    assert report.nodes[1].output == ("N", 3)
    assert report.constant_bytes == report.float32_bytes == 192 * 4


def test_a_product_without_its_depth_is_refused(tmp_path, model):
    del model.graph.node[1].attribute[:]

    with pytest.raises(ModelFileError, match=r"node first \(XnorGemm\): got attributes \[\]"):
        inspect(tmp_path, model)


@pytest.mark.parametrize("data", [b"", b"\xff" * 50, toy_models.classifier()[0][:100]])
def test_a_damaged_file_gives_one_line(tmp_path, data):
    path = tmp_path / "m.onnx"
    path.write_bytes(data)

    with pytest.raises(ModelFileError, match=r"m\.onnx: cannot be read as an ONNX model") as info:
        inspect_file(path)
    assert "\n" not in str(info.value)
