import json

import pytest
import toy_models
from typer.testing import CliRunner

from bnndeploy.cli import app
from bnndeploy.errors import ModelFileError, RecipeError


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(toy_models.classifier()[0])
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def test_a_file_is_shown_with_nodes_totals_and_metadata(model):
    output = run(model).output

    assert "MatMul" in output
    assert f"{model.stat().st_size:,} bytes" in output
    assert "768 bytes, 768 with every weight in float32: 1.0 times smaller" in output
    assert '["zero", "one", "two"]' in output


def test_a_files_json_is_one_object(model):
    report = json.loads(run(model, "--json").stdout)

    assert report["schema"] == 1
    assert report["size"] == model.stat().st_size
    assert report["nodes"][1]["op"] == "MatMul"
    assert report["metadata"]["classes"] == ["zero", "one", "two"]


def test_a_network_of_the_zoo_is_shown_with_layers_and_recipe():
    output = run("bnn-mlp-digits", "--weights", "random").output

    assert "QuantLinear" in output
    assert "times smaller" in output
    assert 'network = "bnn-mlp"' in output


def test_a_networks_json_is_one_object():
    report = json.loads(run("bnn-mlp-digits", "--weights", "random", "--json").stdout)

    assert report["schema"] == 1
    assert report["name"] == "bnn-mlp-digits"
    assert report["summary"]["total"]["binary_parameters"] > 0
    assert report["metrics"] == {}


@pytest.mark.parametrize(
    ("source", "error"), [("gone.onnx", ModelFileError), ("no-such-network", RecipeError)]
)
def test_what_does_not_exist_is_an_expected_error(source, error):
    assert isinstance(run(source).exception, error)
