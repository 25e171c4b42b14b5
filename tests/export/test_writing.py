"""Files appear whole or not at all."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from _exported import small_export

from bnndeploy.errors import ExportError
from bnndeploy.export import writing
from bnndeploy.export.writing import check, refuse_existing, write_model

PRODUCT = """<ir_version: 10, opset_import: ["" : 21]>
large (float[N,1024] x) => (float[N,512] y) { y = MatMul(x, w) }"""


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


@pytest.mark.parametrize(("rows", "refused"), [(1024, False), (1000, True)])
def test_the_shape_of_a_large_weight_is_checked(rows, refused):
    model = onnx.parser.parse_model(PRODUCT)
    weight = np.zeros((rows, 512), np.float32)
    assert weight.nbytes > writing.LARGE
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))

    if refused:
        with pytest.raises(ExportError, match="large: the ONNX checker refuses it"):
            check(model, "large")
    else:
        check(model, "large")


def test_a_large_weight_with_numbers_in_two_places_is_refused():
    model = onnx.parser.parse_model(PRODUCT)
    tensor = onnx.numpy_helper.from_array(np.zeros((1024, 512), np.float32), "w")
    tensor.float_data.append(0.0)
    model.graph.initializer.append(tensor)

    with pytest.raises(ExportError, match="large: the ONNX checker refuses it"):
        check(model, "large")


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
