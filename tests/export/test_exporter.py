"""The exporter as a whole: a module in, a file out."""

import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from _exported import (
    export,
    flipped_bits,
    node_types,
    oracle_difference,
    small_export,
    small_network,
)
from torch import nn

import bnndeploy
from bnndeploy.errors import ExportError
from bnndeploy.export.metadata import get_metadata, weights_sha256
from bnndeploy.export.sample import decode, generate_inputs
from bnndeploy.ops.names import DOMAIN, SIGNATURES


@pytest.fixture(scope="module")
def module():
    return small_network()


@pytest.fixture(scope="module")
def report():
    return small_export("packed")


@pytest.fixture
def images():
    return torch.from_numpy(np.random.default_rng(3).standard_normal((6, 2, 6, 6), np.float32))


def test_a_binary_chain_keeps_only_packed_operators(report):
    assert node_types(report) == [
        "Conv",
        "PackBits",
        "XnorConv",
        "MaxPoolBits",
        "XnorConv",
        "Reshape",
        "XnorGemm",
    ]


def test_no_bit_of_a_binary_chain_differs_from_the_module(report, module, images):
    assert flipped_bits(report, module, images) == 0


def test_the_outputs_are_those_of_the_module(report, module, images):
    assert oracle_difference(report, module, images) == [0.0]


def test_every_input_attribute_and_output_of_an_operator_is_written(report):
    for node in report.model.graph.node:
        if node.domain == DOMAIN:
            signature = SIGNATURES[node.op_type]
            assert len(node.input) == len(signature.inputs)
            assert all(node.input)
            assert {a.name for a in node.attribute} == set(signature.attributes)
            assert len(node.output) == len(signature.outputs)
    last = report.model.graph.node[-1]
    assert list(last.output) == ["output", ""]
    assert [n.output[0] for n in report.model.graph.node if n.op_type == "XnorConv"] == ["", ""]


def test_inner_values_have_shapes_and_weights_are_described_once(report):
    weights = {tensor.name for tensor in report.model.graph.initializer}
    described = {value.name for value in report.model.graph.value_info}
    inner = {name for node in report.model.graph.node for name in node.output if name}

    assert not described & weights
    assert described == inner - {"output"}


def test_the_batch_is_dynamic_and_may_be_empty(report):
    shape = report.model.graph.input[0].type.tensor_type.shape.dim
    assert shape[0].dim_param == "batch"
    session = ort.InferenceSession(report.model.SerializeToString())

    for batch in (0, 1, 3):
        (y,) = session.run(None, {"input": np.zeros((batch, 2, 6, 6), np.float32)})
        assert y.shape == (batch, 5)


@pytest.mark.parametrize("form", ["packed", "float", "standard"])
def test_each_form_runs_in_plain_onnxruntime_and_agrees(module, images, form):
    model = small_export(form).model
    (y,) = ort.InferenceSession(model.SerializeToString()).run(None, {"input": images.numpy()})
    with torch.no_grad():
        expected = module(images).numpy()

    np.testing.assert_array_equal(y, expected)


def test_the_standard_form_uses_no_operator_of_ours():
    model = small_export("standard").model

    assert {node.domain for node in model.graph.node} == {""}
    assert [entry.domain for entry in model.opset_import] == [""]


def test_the_module_is_left_as_it_was(images):
    module = small_network().train()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}

    export(module, images)

    assert module.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_the_same_module_gives_the_same_bytes(module, images, tmp_path):
    for name in ("a.onnx", "b.onnx"):
        bnndeploy.export_model(module, images, tmp_path / name)

    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_the_file_carries_its_versions_hash_sample_and_probes(report, module):
    metadata = get_metadata(report.model)
    sample = metadata["sample"]
    (made,) = generate_inputs(sample["seed"], sample["inputs"])
    with torch.no_grad():
        expected = module(torch.from_numpy(made)).numpy()

    assert metadata["format"] == 1
    assert metadata["versions"]["torch"] == torch.__version__.split("+")[0]
    assert metadata["weights_sha256"] == weights_sha256(report.model)
    np.testing.assert_array_equal(decode(sample["outputs"][0]), expected)
    assert {probe["module"] for probe in metadata["probes"].values()} == {
        "2.input_quantizer",
        "7.input_quantizer",
        "9.input_quantizer",
    }


def test_the_report_counts_every_byte(report):
    assert sum(report.bytes_by_kind.values()) == report.model.ByteSize() == report.size
    assert report.bytes_by_kind["one_bit"] == 4 * (33 * 9 + 7 * 9 * 2 + 5)
    assert json.loads(json.dumps(report.to_json()))["patterns"]["emit-bits"] == 2


def test_ir_version_and_opset_are_those_that_every_runtime_loads(report):
    versions = {entry.domain: entry.version for entry in report.model.opset_import}

    assert report.model.ir_version == 10
    assert versions == {"": 21, "ai.bnndeploy": 1}


def test_an_unknown_form_names_the_known_ones(module, images):
    with pytest.raises(ExportError, match="got form 'tiny', expected one of packed, float"):
        export(module, images, form="tiny")


def test_a_module_that_torch_cannot_trace_is_named():
    class Odd(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    network = nn.Sequential(nn.Identity(), Odd())
    with pytest.raises(ExportError, match=r"module '1' cannot be traced by torch\.export"):
        export(network, torch.zeros(2, 3))


def test_an_existing_file_is_kept_unless_forced(module, images, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text("precious")

    with pytest.raises(ExportError, match="exists already; choose another name or use --force"):
        bnndeploy.export_model(module, images, path)
    assert path.read_text() == "precious"

    bnndeploy.export_model(module, images, path, force=True)
    assert onnx.load(path).producer_name == "bnndeploy"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("size", "rows"), [(5, 4), (60, 2), (100, None)])
def test_the_sample_stays_small_for_large_outputs(size, rows):
    report = export(nn.Conv2d(1, 1, 1), torch.zeros(2, 1, size, size))
    sample = get_metadata(report.model).get("sample")

    assert report.bytes_by_kind["metadata"] < 1 << 16
    assert (sample and sample["outputs"][0]["shape"][0]) == rows
