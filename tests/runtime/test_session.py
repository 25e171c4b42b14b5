import numpy as np
import onnxruntime
import pytest
import toy_models

from bnndeploy.errors import BnnDeployError, MissingExtraError, ModelFileError
from bnndeploy.runtime import InferenceSession, wheels


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(toy_models.identity())
    return path


def test_a_file_and_its_bytes_run_alike(model_file):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)

    for source in (model_file, str(model_file), model_file.read_bytes()):
        session = InferenceSession(source, portable=True)
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], x)


def test_the_library_is_required_unless_portable(model_file, monkeypatch, tmp_path):
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(tmp_path / "gone.so"))

    with pytest.raises(ModelFileError, match=r"operator library: got nothing at .*gone\.so"):
        InferenceSession(model_file)


def test_a_file_that_is_no_library_is_refused(model_file, monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_text("not a shared object")
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(broken))

    with pytest.raises(ModelFileError, match=r"broken\.so: ONNX Runtime cannot use it"):
        InferenceSession(model_file)


@pytest.mark.parametrize("damage", ["cut", "noise", "empty"])
def test_a_damaged_model_gives_one_line(tmp_path, damage):
    whole, _ = toy_models.classifier()
    data = {"cut": whole[: len(whole) // 2], "noise": b"\xff" * 100, "empty": b""}[damage]
    path = tmp_path / "broken.onnx"
    path.write_bytes(data)

    with pytest.raises(ModelFileError, match=r"broken\.onnx: ONNX Runtime cannot load it") as info:
        InferenceSession(path, portable=True)
    assert "\n" not in str(info.value)


@pytest.mark.parametrize("name", ["gone.onnx", "."])
def test_a_missing_file_or_a_folder_is_refused(tmp_path, name):
    with pytest.raises(ModelFileError, match="got no such file, expected an ONNX model"):
        InferenceSession(tmp_path / name, portable=True)


def test_a_provider_that_this_onnxruntime_lacks_is_an_error(model_file):
    with pytest.raises(ModelFileError, match="execution provider NoSuchProvider: not in this"):
        InferenceSession(model_file, providers=["NoSuchProvider"], portable=True)


def test_threads_reach_the_sessions_pool(model_file):
    session = InferenceSession(model_file, threads=3, portable=True)

    assert session.get_session_options().intra_op_num_threads == 3


def test_one_options_object_serves_several_sessions(model_file):
    options = onnxruntime.SessionOptions()
    x = np.ones((1, 4), np.float32)

    for _ in range(2):
        session = InferenceSession(model_file, options=options)
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], x)


def test_metadata_comes_with_the_session():
    model, _ = toy_models.classifier(classes=("a", "b"))

    assert InferenceSession(model, portable=True).read_metadata().classes == ("a", "b")


def test_a_missing_onnxruntime_names_both_extras(monkeypatch):
    monkeypatch.setattr(wheels.importlib, "import_module", _no_module)

    with pytest.raises(MissingExtraError, match=r"the extra \[cpu\] or \[gpu\]: pip install"):
        wheels.load_onnxruntime()


def test_two_wheels_of_one_module_are_named_when_the_import_fails(monkeypatch):
    monkeypatch.setattr(wheels.importlib, "import_module", _no_module)
    monkeypatch.setattr(wheels, "package_version", lambda name: "1.0")

    with pytest.raises(BnnDeployError, match="are both installed, and each overwrites"):
        wheels.load_onnxruntime()


def _no_module(name):
    raise ImportError(name)
