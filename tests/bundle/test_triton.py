"""The repository is read with Triton's own schema of config.pbtxt."""

import importlib.util
import shutil
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
import toy_models
from google.protobuf import text_format

from bnndeploy.bundle.triton import write_triton_repository
from bnndeploy.errors import ExportError, ModelFileError
from bnndeploy.runtime import InferenceSession, get_library_path


@pytest.fixture(scope="module")
def schema():
    """The message classes of model_config.proto; importing their package would need grpc."""
    root = Path(importlib.util.find_spec("tritonclient").submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location("config", root / "grpc" / "model_config_pb2.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "digits.onnx"
    path.write_bytes(toy_models.classifier(classes=("a", 'b "quoted"', "ü"))[0])
    return path


def read_config(schema, folder):
    return text_format.Parse((folder / "config.pbtxt").read_text(), schema.ModelConfig())


def test_the_repository_holds_model_library_labels_and_configuration(model, tmp_path, schema):
    output = tmp_path / "repository"

    files = write_triton_repository(model, output, max_batch=8, max_delay_us=100)

    home = output / "digits"
    assert set(files) == {path for path in output.rglob("*") if path.is_file()}
    assert (home / "1" / "model.onnx").read_bytes() == model.read_bytes()
    assert (home / get_library_path().name).read_bytes() == get_library_path().read_bytes()
    assert (home / "labels.txt").read_text().splitlines() == ["a", 'b "quoted"', "ü"]
    config = read_config(schema, home)
    assert (config.name, config.backend, config.max_batch_size) == ("digits", "onnxruntime", 8)
    (x,), (logits,) = config.input, config.output
    assert (x.name, x.data_type, list(x.dims)) == ("x", schema.TYPE_FP32, [1, 8, 8])
    assert (logits.name, list(logits.dims), logits.label_filename) == ("logits", [3], "labels.txt")
    assert config.dynamic_batching.max_queue_delay_microseconds == 100
    assert list(config.model_operations.op_library_filename) == [
        f"/models/digits/{get_library_path().name}"
    ]


@pytest.mark.parametrize("built", [True, False])
def test_the_cuda_library_comes_along_where_it_is_built(model, tmp_path, monkeypatch, built):
    built_here = tmp_path / "library"
    built_here.mkdir()
    copy = shutil.copy(get_library_path(), built_here / "libbnndeploy_ops.so")
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(copy))
    if built:
        (built_here / "libbnndeploy_ops_cuda.so").write_bytes(b"kernels")

    files = write_triton_repository(model, tmp_path / "out")

    beside = [path.name for path in files if path.suffix == ".so"]
    assert beside == ["libbnndeploy_ops.so", "libbnndeploy_ops_cuda.so"][: 1 + built]


def test_a_model_without_a_free_batch_states_its_whole_shapes(tmp_path, schema):
    model = tmp_path / "fixed.onnx"
    model.write_bytes(toy_models.sum_and_difference(batch=2))

    write_triton_repository(
        model, tmp_path / "out", name="n", mount=PurePosixPath("/srv/repository")
    )

    config = read_config(schema, tmp_path / "out" / "n")
    assert config.max_batch_size == 0
    assert not config.HasField("dynamic_batching")
    assert [list(value.dims) for value in config.input] == [[2, 3], [2, 3]]
    assert not config.output[0].label_filename
    assert config.model_operations.op_library_filename[0].startswith("/srv/repository/n/lib")


def test_the_copied_model_and_library_run(model, tmp_path, monkeypatch):
    write_triton_repository(model, tmp_path / "out")
    home = tmp_path / "out" / "digits"
    x = np.ones((2, 1, 8, 8), np.float32)
    expected = InferenceSession(model).run(None, {"x": x})[0]

    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(home / get_library_path().name))
    session = InferenceSession(home / "1" / "model.onnx")

    np.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)


def test_an_existing_folder_is_only_replaced_by_force(model, tmp_path):
    output = tmp_path / "out"
    output.mkdir()
    (output / "mine.txt").write_text("keep")

    with pytest.raises(ExportError, match="out: exists already; choose another name or use"):
        write_triton_repository(model, output)
    assert [path.name for path in output.iterdir()] == ["mine.txt"]

    write_triton_repository(model, output, force=True)
    assert [path.name for path in output.iterdir()] == ["digits"]


def test_a_broken_model_leaves_nothing_behind(tmp_path):
    model = tmp_path / "broken.onnx"
    model.write_bytes(toy_models.identity()[:30])

    with pytest.raises(ModelFileError, match="cannot load it"):
        write_triton_repository(model, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.onnx"]


def test_a_relative_mount_is_refused(model, tmp_path):
    with pytest.raises(ExportError, match="mount: got models, expected the absolute path"):
        write_triton_repository(model, tmp_path / "out", mount=PurePosixPath("models"))
