import json
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from typer.testing import CliRunner

from bnndeploy.cli import app
from bnndeploy.errors import CheckpointError, ExportError, ParityError

runner = CliRunner()
NETWORK = ["--run", "bnn-mlp-digits", "--weights", "random"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("parity") / "model.onnx"
    result = runner.invoke(
        app, ["export", "bnn-mlp-digits", "--weights", "random", "-o", str(path)]
    )
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def damaged(exported, tmp_path):
    """The file with one bit of its second binary layer turned."""
    model = onnx.load(exported)
    node = [n for n in model.graph.node if n.op_type == "XnorGemm"][1]
    (weight,) = (t for t in model.graph.initializer if t.name == node.input[1])
    words = numpy_helper.to_array(weight).copy()
    words[0, 0] ^= 1
    weight.CopyFrom(numpy_helper.from_array(words, weight.name))
    path = tmp_path / "damaged.onnx"
    onnx.save(model, path)
    return SimpleNamespace(path=path, node=node.name)


def test_the_table_ends_with_four_passed_steps(exported):
    result = runner.invoke(app, ["verify-parity", str(exported), *NETWORK])

    assert result.exit_code == 0, result.output
    verdicts = [line for line in result.stdout.splitlines() if line.endswith(": passed")]
    assert [line[:2] for line in verdicts] == ["1.", "2.", "3.", "4."]
    assert "359 of 359 classes agree (359 test images)" in result.stdout


def test_the_json_report_is_one_object_and_tells_every_check(exported):
    result = runner.invoke(app, ["verify-parity", str(exported), "--json"])

    report = json.loads(result.stdout)
    assert report["schema"] == 1
    assert report["passed"] is True
    assert report["run"] is None
    assert {check["against"] for check in report["steps"][1]["checks"]} >= {"scalar"}


def test_a_turned_bit_gives_exit_code_one_the_node_and_a_reproducer(damaged, tmp_path):
    folder, page = tmp_path / "found", tmp_path / "report.html"

    outputs = ["--bisect", str(folder), "--html", str(page)]
    result = runner.invoke(
        app, ["verify-parity", str(damaged.path), *NETWORK, "--limit", "50", *outputs]
    )

    assert result.exit_code == 1
    assert isinstance(result.exception, ParityError)
    assert "step 1" in str(result.exception)
    assert f"first at node {damaged.node} (XnorGemm)" in str(result.exception)
    assert f"reproducer of {damaged.node} (XnorGemm)" in result.stdout
    assert {path.name for path in folder.iterdir()} == {"model.onnx", "inputs.npz", "expected.npz"}
    assert np.load(folder / "expected.npz").files
    assert "failed" in page.read_text()


def test_an_existing_page_is_kept(exported, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("mine")

    result = runner.invoke(app, ["verify-parity", str(exported), "--html", str(page)])

    assert isinstance(result.exception, ExportError)
    assert page.read_text() == "mine"


def test_a_run_of_another_recipe_is_refused(exported):
    result = runner.invoke(
        app, ["verify-parity", str(exported), "--run", "bnn-cnn-digits", "--weights", "random"]
    )

    assert isinstance(result.exception, CheckpointError)
    assert "its recipe differs from that of" in str(result.exception)
    assert "model.network" in str(result.exception)
