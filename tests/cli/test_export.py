import json

import onnx
import pytest
from typer.testing import CliRunner

from bnndeploy.cli import app
from bnndeploy.errors import ExportError

runner = CliRunner()
NETWORK = ["bnn-mlp-digits", "--weights", "random"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "model.onnx"
    result = runner.invoke(app, ["export", *NETWORK, "-o", str(path), "--json"])
    assert result.exit_code == 0, result.output
    return path, json.loads(result.stdout)


def test_the_json_report_tells_the_sizes_and_the_patterns(model):
    path, report = model

    assert report["schema"] == 1
    assert report["form"] == "packed"
    assert report["size"] == path.stat().st_size == sum(report["bytes"].values())
    assert report["patterns"]["emit-bits"] >= 1


def test_the_file_holds_the_classes_input_and_recipe(model):
    entries = {entry.key: json.loads(entry.value) for entry in onnx.load(model[0]).metadata_props}

    assert entries["bnndeploy.classes"] == [str(digit) for digit in range(10)]
    assert entries["bnndeploy.input"]["shape"] == [1, 8, 8]
    assert entries["bnndeploy.recipe"]["model"]["network"] == "bnn-mlp"


def test_an_existing_file_is_refused_before_anything_is_loaded(model):
    path, _ = model
    before = path.read_bytes()
    result = runner.invoke(app, ["export", *NETWORK, "-o", str(path)])

    assert isinstance(result.exception, ExportError)
    assert "exists already; choose another name or use --force" in str(result.exception)
    assert path.read_bytes() == before


def test_explain_says_why_the_first_layer_stays_real(model, tmp_path):
    result = runner.invoke(
        app, ["export", *NETWORK, "-o", str(tmp_path / "explained.onnx"), "--explain"]
    )

    assert result.exit_code == 0
    assert "its weights are real" in result.stdout
    assert "operators became" in result.stdout
