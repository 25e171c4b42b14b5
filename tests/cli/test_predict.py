import json

import numpy as np
import pytest
import toy_models
from PIL import Image
from typer.testing import CliRunner

from bnndeploy.cli import app, main


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "digits.onnx"
    path.write_bytes(toy_models.classifier()[0])
    return path


@pytest.fixture
def images(tmp_path):
    """A PNG and an array of the same pixels."""
    pixels = np.random.default_rng(3).integers(0, 2, (8, 8), dtype=np.uint8)
    png, npy = tmp_path / "a.png", tmp_path / "b.npy"
    Image.fromarray(pixels * 255).save(png)
    np.save(npy, pixels * 16)
    return [png, npy]


def run(*arguments):
    return CliRunner().invoke(app, ["predict", *map(str, arguments), "--portable"])


def test_the_table_names_each_file_once_and_draws_its_probabilities(model, images):
    result = run(model, *images, "--top", 2)

    header, _, *rows = result.output.splitlines()
    assert header.split() == ["file", "class", "probability"]
    assert len(rows) == 4
    assert [row.split()[0] for row in rows[::2]] == [str(path) for path in images]
    assert rows[0].split()[1:] == rows[2].split()[1:]  # the same pixels, the same answer
    assert "█" in rows[0]


def test_json_is_one_object_with_probabilities_that_sum_to_one(model, images):
    result = run(model, *images, "--json")

    report = json.loads(result.stdout)
    assert report["schema"] == 1
    assert [entry["file"] for entry in report["predictions"]] == [str(path) for path in images]
    for entry in report["predictions"]:
        assert {guess["class"] for guess in entry["top"]} == {"zero", "one", "two"}
        assert sum(guess["probability"] for guess in entry["top"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda model, image: model.write_bytes(model.read_bytes()[:99]), "cannot load it"),
        (lambda model, image: model.unlink(), "got no such file, expected an ONNX model"),
        (lambda model, image: image.write_bytes(b"no image"), "cannot be read as an image"),
        (lambda model, image: image.unlink(), "no such file or directory"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_1(
    model, images, monkeypatch, capsys, break_it, message
):
    break_it(model, images[0])
    arguments = ["bnndeploy", "predict", str(model), *map(str, images), "--portable"]
    monkeypatch.setattr("sys.argv", arguments)

    with pytest.raises(SystemExit, match=r"^1$"):
        main()
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert output.err.count("\n") == 1


def test_an_array_of_another_size_is_one_line(model, tmp_path):
    np.save(tmp_path / "c.npy", np.zeros((9, 9)))

    result = run(model, tmp_path / "c.npy")

    assert result.exit_code == 1
    assert "shape [9, 9], expected [1, 8, 8]" in str(result.exception)


def test_no_image_is_a_usage_error(model):
    assert run(model).exit_code == 2
