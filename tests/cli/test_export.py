import json

import onnx
import pytest
from typer.testing import CliRunner

from bnndeploy.cli import app
from bnndeploy.errors import ExportError, ModelFileError

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


def test_a_file_of_another_form_comes_back_packed_with_a_picture(tmp_path):
    files = {name: tmp_path / name for name in ("q.onnx", "p.onnx", "graph.png")}
    made = runner.invoke(
        app, ["export", *NETWORK, "-o", str(files["q.onnx"]), "--form", "qonnx", "--json"]
    )
    assert made.exit_code == 0, made.output
    arguments = [
        str(files["q.onnx"]),
        "-o",
        str(files["p.onnx"]),
        "--draw",
        str(files["graph.png"]),
    ]
    result = runner.invoke(app, ["export", *arguments, "--json"])

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["nodes_after"]["XnorGemm"] >= 1
    assert files["graph.png"].read_bytes().startswith(b"\x89PNG")


def test_int8_is_calibrated_on_the_training_images(tmp_path):
    path = tmp_path / "int8.onnx"
    result = runner.invoke(app, ["export", *NETWORK, "-o", str(path), "--form", "int8", "--json"])

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["nodes_after"]["QuantizeLinear"] > 1


def test_int2_weights_are_for_the_standard_form(tmp_path):
    path = tmp_path / "int2.onnx"
    options = ["export", *NETWORK, "-o", str(path), "--int2", "--json", "--form"]
    refused = runner.invoke(app, [*options, "packed"])
    written = runner.invoke(app, [*options, "standard"])

    assert "got INT2 weights with form 'packed', expected form 'standard'" in str(refused.exception)
    assert written.exit_code == 0, written.output
    assert json.loads(written.stdout)["nodes_after"]["DequantizeLinear"] >= 1


def test_a_damaged_source_gives_one_clear_error(tmp_path):
    source = tmp_path / "broken.onnx"
    source.write_bytes(b"garbage")
    result = runner.invoke(app, ["export", str(source), "-o", str(tmp_path / "out.onnx")])

    assert isinstance(result.exception, ModelFileError)
    assert "broken.onnx: cannot be read as an ONNX model" in str(result.exception)
    assert not (tmp_path / "out.onnx").exists()
