"""Parity passes on a right file and names the step and the node of every planted fault."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from _tiny import Recipe
from onnx import numpy_helper
from torch import nn

from bnndeploy.errors import CheckpointError, ExportError, ModelFileError, ParityError
from bnndeploy.parity import to_html, verify
from bnndeploy.parity._model import Model, describe
from bnndeploy.parity._variants import Variant
from bnndeploy.runtime import InferenceSession
from bnndeploy.runtime.library import kernel_report


def steps(report):
    return [step.passed for step in report.steps]


def flip_one_bit(words):
    words.reshape(-1)[0] ^= 1


def test_a_right_file_passes_all_steps_with_its_run(packed, run, data):
    report = verify(packed.path, run, data)

    trained, kernels, functions, end_to_end = report.steps
    assert report.passed
    assert [(c.node, c.against, c.exact, c.differing) for c in trained.checks] == [
        ("first (PackBits)", "first", False, 0),
        ("pool (MaxPoolBits)", "second", True, 0),
        ("logits", "output", False, 0),
        ("initializers", "bnndeploy.weights_sha256", True, 0),
    ]
    supported = kernel_report()["isa"]["supported"]
    assert [c.against for c in kernels.checks if c.node.startswith("pool")] == supported
    assert {c.node for c in functions.checks} == {
        "first (PackBits)", "binary (XnorConv)", "pool (MaxPoolBits)", "head (XnorConv)",
    }  # fmt: skip
    assert (end_to_end.images, end_to_end.given) == (300, 300)
    assert end_to_end.given_disagreements == []
    assert end_to_end.bits_compared == 300 * 2 * 2 * 64  # second.bits, two words a pixel
    assert end_to_end.bits_differing == {}
    assert end_to_end.trained_accuracy == 1.0
    report.raise_if_failed()


def test_a_right_file_passes_alone_and_with_its_run_on_generated_inputs(packed, run):
    alone, with_run = verify(packed.path), verify(packed.path, run)

    assert alone.passed
    assert with_run.passed
    assert alone.steps[3].source == "embedded sample"
    assert with_run.steps[3].images == 256


def test_the_limit_bounds_the_images_of_step_four(packed, run, data):
    assert verify(packed.path, run, data, limit=17).steps[3].images == 17


def test_a_flipped_weight_bit_is_found_at_its_node_and_nowhere_behind(packed, run, data):
    packed.change("codes", flip_one_bit)

    report = verify(packed.path, run, data)

    assert steps(report) == [False, True, True, False]
    assert list(report.steps[3].bits_differing) == ["second.bits"]
    assert [c.node for c in report.steps[0].checks if not c.passed] == [
        "pool (MaxPoolBits)",
        "initializers",
    ]
    between = r"agreeing values by binary \(XnorConv\), pool \(MaxPoolBits\)"
    with pytest.raises(
        ParityError, match=rf"step 1 .*first at node pool \(MaxPoolBits\).* {between}$"
    ):
        report.raise_if_failed()


def test_a_moved_first_threshold_names_the_nodes_since_the_input(packed, run, data):
    def move(threshold):
        threshold[0] += 10

    packed.change("zero", move)  # the threshold of the first signs

    failure = verify(packed.path, run, data).steps[0].first_failure

    assert failure.node == "first (PackBits)"
    assert failure.through == ("stem (Conv)", "first (PackBits)")


def test_a_wrong_scale_of_the_last_layer_names_all_nodes_since_the_last_signs(packed, run, data):
    def change(scale):
        scale[2] *= 2

    packed.change("head.scale", change)

    failure = verify(packed.path, run, data).steps[0].first_failure

    assert failure.node == "logits"
    assert failure.through == ("head (XnorConv)", "flatten (Reshape)")


def test_a_moved_threshold_is_found_at_its_node(packed, run, data):
    def move(threshold):
        threshold[3] += 2

    packed.change("threshold", move)

    assert verify(packed.path, run, data).steps[0].first_failure.node == "pool (MaxPoolBits)"


def test_a_changed_real_weight_is_more_than_rounding(packed, run, data):
    def change(weight):
        weight[5, 0, 1, 1] *= 1.01

    packed.change("stem.weight", change)

    failure = verify(packed.path, run, data).steps[0].first_failure

    assert failure.node == "first (PackBits)"
    assert failure.differing > 0


def test_a_rounding_error_of_a_real_weight_is_explained_and_passes(packed, run, data):
    def change(weight):
        weight *= np.float32(1 + 2.0**-22)

    packed.change("stem.weight", change)

    report = verify(packed.path, run, data)

    assert report.steps[0].checks[0].passed
    assert [c.node for c in report.steps[0].checks if not c.passed] == ["initializers"]
    assert report.steps[3].passed


def test_a_wrong_kernel_is_found_with_its_instruction_set(packed, run, data, monkeypatch):
    right = Variant.run

    def run_wrongly(self, model, feeds):
        results = right(self, model, feeds)
        if self.name == "scalar" and model.graph.node[0].name == "binary":
            flip_one_bit(results[0])
        return results

    monkeypatch.setattr(Variant, "run", run_wrongly)

    report = verify(packed.path, run, data)

    assert steps(report) == [True, False, True, True]
    with pytest.raises(ParityError, match=r"step 2 .*first at node binary \(XnorConv\) \(scalar\)"):
        report.raise_if_failed()


def test_a_wrong_function_is_found_in_step_three(packed, run, data):
    (pool,) = (f for f in packed.model.functions if f.name == "MaxPoolBits")
    (invert,) = (node for node in pool.node if node.op_type == "BitwiseXor")
    invert.op_type = "BitwiseOr"
    packed.change("invert", flip_one_bit)
    packed.set_metadata(weights_sha256=None)

    report = verify(packed.path)

    assert steps(report)[1:3] == [True, False]
    assert report.steps[2].first_failure.node == "pool (MaxPoolBits)"


def test_a_missing_function_is_found_in_step_three(packed):
    kept = [f for f in packed.model.functions if f.name != "PackBits"]
    del packed.model.functions[:]
    packed.model.functions.extend(kept)
    packed.save()

    failure = verify(packed.path).steps[2].first_failure

    assert failure.node == "first (PackBits)"
    assert "PackBits" in failure.problem


def test_classes_that_differ_are_listed_with_their_margin(packed, run, data):
    def exchange(bias):
        bias[[0, 1]] = [bias[1] + 3, bias[0] - 3]

    packed.change("head.bias", exchange)

    step = verify(packed.path, run, data).steps[3]

    assert not step.passed
    assert step.deployed_accuracy < step.trained_accuracy == 1.0
    assert all(d.trained == d.label != d.deployed for d in step.disagreements)
    assert all(d.margin > 0 for d in step.disagreements)
    assert len(step.given_disagreements) == len(step.disagreements) > 1


def test_a_change_after_the_export_is_found_without_a_run(packed):
    packed.change("codes", flip_one_bit)

    with pytest.raises(ParityError, match=r"first at node initializers .*changed after"):
        verify(packed.path).raise_if_failed()


def test_wrong_outputs_are_found_without_a_run_and_without_a_hash(packed):
    packed.set_metadata(weights_sha256=None)
    packed.change("head.bias", lambda bias: bias.__iadd__(1))

    assert verify(packed.path).steps[0].first_failure.node == "logits"


def test_the_reproducer_of_a_wrong_weight_shows_the_difference(packed, run, data, tmp_path):
    packed.change("codes", flip_one_bit)

    report = verify(packed.path, run, data, bisect=tmp_path / "found")

    assert report.reproducer == "pool (MaxPoolBits), second"
    session = InferenceSession(tmp_path / "found" / "model.onnx")
    inputs, expected = (
        dict(np.load(tmp_path / "found" / f"{name}.npz")) for name in ("inputs", "expected")
    )
    assert [node.name for node in onnx.load(tmp_path / "found" / "model.onnx").graph.node] == [
        "binary",
        "pool",
    ]
    (got,) = session.run(None, inputs)
    assert np.bitwise_count(got ^ expected["second.bits"]).sum() > 0


def test_the_reproducer_of_a_wrong_kernel_is_one_node(packed, monkeypatch, tmp_path):
    right = Variant.run

    def run_wrongly(self, model, feeds):
        results = right(self, model, feeds)
        if self.name == "scalar" and model.graph.node[0].name == "binary":
            flip_one_bit(results[0])
        return results

    monkeypatch.setattr(Variant, "run", run_wrongly)

    verify(packed.path, bisect=tmp_path / "found")

    model = onnx.load(tmp_path / "found" / "model.onnx")
    assert [node.name for node in model.graph.node] == ["binary"]
    assert [value.name for value in model.graph.input] == ["first.bits"]
    portable = InferenceSession(tmp_path / "found" / "model.onnx", portable=True)
    (got,) = portable.run(None, dict(np.load(tmp_path / "found" / "inputs.npz")))
    expected = np.load(tmp_path / "found" / "expected.npz")["binary.bits"]
    np.testing.assert_array_equal(got, expected)


def test_a_filled_folder_is_not_used_for_a_reproducer(packed, tmp_path):
    with pytest.raises(ExportError, match="is not an empty folder; choose a new one"):
        verify(packed.path, bisect=tmp_path)


def test_the_report_goes_into_json_and_html(packed, run, data):
    packed.change("threshold", lambda threshold: threshold.__iadd__(2))
    report = verify(packed.path, run, data, limit=20)

    values = json.loads(json.dumps(report.to_json()))
    page = to_html(report)

    assert values["passed"] is False
    assert [step["number"] for step in values["steps"]] == [1, 2, 3, 4]
    assert values["steps"][0]["checks"][1]["differing"] > 0
    assert "Parity of tiny.onnx" in page
    assert "<td>pool (MaxPoolBits)</td><td>second</td><td>exact</td>" in page


@pytest.mark.parametrize("content", [b"", b"not a model", None])
def test_a_damaged_file_is_one_clear_line(packed, content):
    whole = packed.path.read_bytes()
    packed.path.write_bytes(whole[: len(whole) // 2] if content is None else content)

    with pytest.raises(ModelFileError, match="cannot be read as an ONNX model") as caught:
        verify(packed.path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_is_one_clear_line(tmp_path):
    with pytest.raises(ModelFileError, match="got no such file"):
        verify(tmp_path / "absent.onnx")


def test_a_node_that_does_not_fit_is_named(packed):
    (tensor,) = (t for t in packed.model.graph.initializer if t.name == "invert")
    tensor.CopyFrom(numpy_helper.from_array(np.zeros(3, np.uint32), "invert"))
    packed.save()

    with pytest.raises(ModelFileError, match=r"pool \(MaxPoolBits\): .*length of invert: got 3"):
        verify(packed.path)


def test_a_run_of_another_recipe_is_refused_with_the_keys(packed, net):
    other = SimpleNamespace(name="other", module=net, recipe=Recipe(seed=5))

    with pytest.raises(CheckpointError, match=r"run other: its recipe differs .* in seed;"):
        verify(packed.path, other)


def test_a_run_of_another_network_is_refused(packed):
    other = SimpleNamespace(name="other", module=nn.Flatten(), recipe=Recipe())

    with pytest.raises(CheckpointError, match="its network has no module first"):
        verify(packed.path, other)


@pytest.mark.parametrize(
    ("key", "with_run", "message"),
    [("probes", True, "got no metadata bnndeploy.probes"),
     ("sample", False, "got no metadata bnndeploy.sample")],
)  # fmt: skip
def test_missing_metadata_is_named(packed, run, key, with_run, message):
    packed.set_metadata(**{key: None})

    with pytest.raises(ModelFileError, match=message):
        verify(packed.path, run if with_run else None)


def test_an_export_on_another_machine_is_noted(packed, run):
    packed.set_metadata(versions={"torch": "0.1", "cpu_capability": "Z80"})

    note = verify(packed.path, run).steps[0].note

    assert note.startswith("exported elsewhere: torch 0.1 there, ")
    assert "cpu_capability Z80 there" in note


def test_a_file_alone_is_verified_without_torch(packed):
    code = (
        "import sys; from bnndeploy.parity import verify; "
        f"assert verify({str(packed.path)!r}).passed; assert 'torch' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_node_whose_one_output_is_given_keeps_computing_the_other(packed):
    node = next(n for n in packed.model.graph.node if n.name == "binary")
    node.output[0] = "binary.values"
    packed.save()
    model = Model(packed.path)
    bits = np.zeros((2, 4, 4, 2), np.uint32)
    values = np.zeros((2, 40, 4, 4), np.float32)

    part = model.part(
        [describe("binary.bits", bits)],
        [describe("second.bits", bits[:, :2, :2]), describe("binary.values", values)],
    )

    given = {"binary.bits": bits, "image": np.zeros((2, 1, 4, 4), np.float32)}
    pooled, computed = InferenceSession(part.SerializeToString()).run(None, given)
    assert not pooled.any()
    assert computed.any()


def test_a_damaged_sample_is_named(packed, run):
    packed.set_metadata(sample={"seed": 7, "inputs": [], "outputs": []})
    with pytest.raises(ModelFileError, match=r"sample has inputs \[\], the graph \['image'\]"):
        verify(packed.path)

    packed.set_metadata(sample={"seed": 7})
    with pytest.raises(ModelFileError, match=r"bnndeploy\.sample is damaged"):
        verify(packed.path, run)
