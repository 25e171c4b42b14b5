import pytest
import toy_models
from typer.testing import CliRunner

from bnndeploy.cli import app
from bnndeploy.errors import ExportError


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "digits.onnx"
    path.write_bytes(toy_models.classifier()[0])
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["bundle", *map(str, arguments)])


def test_a_triton_repository_lists_its_files(model, tmp_path):
    result = run(model, "-o", tmp_path / "out", "--triton", "--name", "d", "--mount", "/srv")

    assert result.exit_code == 0
    listed = {line.split("  ")[0] for line in result.output.splitlines()}
    assert str(tmp_path / "out" / "d" / "config.pbtxt") in listed
    assert '"/srv/d/lib' in (tmp_path / "out" / "d" / "config.pbtxt").read_text()


@pytest.mark.parametrize("arguments", [[], ["--triton", "--target", "linux-x86_64"]])
def test_one_kind_of_bundle_must_be_chosen(model, tmp_path, arguments):
    result = run(model, "-o", tmp_path / "out", *arguments)

    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_an_existing_folder_is_an_expected_error(model, tmp_path):
    assert isinstance(run(model, "-o", tmp_path, "--triton").exception, ExportError)
    assert model.exists()


def test_an_unknown_target_is_an_expected_error(model, tmp_path):
    result = run(model, "-o", tmp_path / "out", "--target", "mars")

    assert isinstance(result.exception, ExportError)
    assert "expected linux-x86_64 or linux-aarch64" in str(result.exception)
