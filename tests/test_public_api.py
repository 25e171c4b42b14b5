"""What a user may rely on: the names at the top of the package, and how light it is to import."""

import json
import subprocess
import sys

import pytest

import bnndeploy

PUBLIC = [
    "BnnDeployError",
    "CheckpointError",
    "DataError",
    "ExportError",
    "InferenceSession",
    "MissingExtraError",
    "ModelFileError",
    "OperatorError",
    "ParityError",
    "RecipeError",
    "__version__",
    "export_model",
    "get_library_path",
    "quantize",
]


def modules_after(code: str) -> set[str]:
    probe = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_public_names_are_pinned_and_present():
    assert sorted(bnndeploy.__all__) == PUBLIC
    assert all(hasattr(bnndeploy, name) for name in PUBLIC)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = bnndeploy.nonsense


def test_importing_the_package_loads_no_optional_package():
    loaded = modules_after("import bnndeploy")

    assert not loaded & {"torch", "onnx", "onnxruntime", "onnxscript", "matplotlib", "PIL"}


def test_building_the_command_line_loads_no_optional_package():
    loaded = modules_after("import bnndeploy.cli")

    assert not loaded & {"torch", "onnx", "onnxruntime", "onnxscript", "matplotlib", "fastapi"}


def test_running_models_loads_neither_torch_nor_onnx():
    loaded = modules_after("import bnndeploy; bnndeploy.InferenceSession")

    assert "onnxruntime" in loaded
    assert not loaded & {"torch", "onnx"}
