"""Files appear whole or not at all."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from _exported import small_export

from bnndeploy.errors import ExportError
from bnndeploy.export import writing
from bnndeploy.export.writing import refuse_existing, write_model


@pytest.fixture
def model():
    return small_export("packed").model


def test_the_file_holds_the_model_and_nothing_is_left_beside_it(model, tmp_path):
    path = tmp_path / "model.onnx"
    size = write_model(model, path)

    assert path.read_bytes() == model.SerializeToString(deterministic=True)
    assert size == path.stat().st_size
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_breaks_off_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(ExportError, match=r"model\.onnx: cannot be written: No space left"):
        write_model(model, path, force=True)

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_model_that_the_checker_refuses_leaves_the_old_file(model, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text("old")
    faulty = onnx.ModelProto()
    faulty.CopyFrom(model)
    faulty.graph.node[0].input[0] = "nowhere"

    with pytest.raises(ExportError, match=r"model\.onnx: the ONNX checker refuses it"):
        write_model(faulty, path, force=True)
    assert path.read_text() == "old"


def test_weights_above_the_limit_go_to_a_file_beside_the_model(model, tmp_path):
    path = tmp_path / "model.onnx"
    write_model(model, path, limit=1000)
    x = np.random.default_rng(0).standard_normal((3, 2, 6, 6), np.float32)

    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert path.stat().st_size < model.ByteSize()
    answers = [
        ort.InferenceSession(source).run(None, {"input": x})[0]
        for source in (str(path), model.SerializeToString())
    ]
    np.testing.assert_array_equal(*answers)


def test_a_data_file_of_another_model_is_not_overwritten(model, tmp_path):
    path = tmp_path / "model.onnx"
    (tmp_path / "model.onnx.data").write_text("old")

    with pytest.raises(ExportError, match=r"model\.onnx\.data: exists already"):
        write_model(model, path, limit=1000)
    assert (tmp_path / "model.onnx.data").read_text() == "old"
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [("", "is a folder, expected a file name"), ("no/model.onnx", "its folder does not exist")],
)
def test_a_place_that_cannot_be_written_is_named(tmp_path, name, reason):
    with pytest.raises(ExportError, match=reason):
        refuse_existing(tmp_path / name, force=True)
