"""Reads model files, with one clear error for a missing or damaged one."""

from __future__ import annotations

from pathlib import Path

import onnx

from bnndeploy.errors import ModelFileError


def load_model(source: str | Path | onnx.ModelProto) -> onnx.ModelProto:
    """Reads a file; a model is given back.

    Raises:
        ModelFileError: If it is missing or not an ONNX model.
    """
    if isinstance(source, onnx.ModelProto):
        return source
    if not Path(source).is_file():
        raise ModelFileError(f"{source}: got no such file, expected an ONNX model")
    try:
        model = onnx.load(source)
    except Exception as error:  # protobuf, onnx and the file system each raise their own
        raise _unreadable(source, error) from error
    if not model.graph.node:  # protobuf reads an empty file as an empty model
        raise _unreadable(source, "it holds no operator")
    return model


def load_checked_model(path: Path) -> onnx.ModelProto:
    """Reads a file that must pass the ONNX checker, as those of bnndeploy export do.

    Raises:
        ModelFileError: If it is missing, not an ONNX model, or breaks a rule of ONNX.
    """
    model = load_model(path)
    try:
        onnx.checker.check_model(model)
    except Exception as error:  # the checker raises its own and protobuf's
        raise _unreadable(path, error) from error
    return model


def _unreadable(path: str | Path, cause: Exception | str) -> ModelFileError:
    reason = next(iter(str(cause).strip().splitlines()), type(cause).__name__)
    return ModelFileError(
        f"{path}: cannot be read as an ONNX model ({reason}); expected a complete file, such "
        "as bnndeploy export writes"
    )
