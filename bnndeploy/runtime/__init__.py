"""Running model files; imports neither torch nor onnx."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bnndeploy.runtime.library import get_library_path, kernel_report
from bnndeploy.runtime.metadata import InputSpec, ModelMetadata, read_metadata

if TYPE_CHECKING:
    from bnndeploy.runtime.classifier import Classifier, Guess
    from bnndeploy.runtime.session import InferenceSession

__all__ = [
    "Classifier",
    "Guess",
    "InferenceSession",
    "InputSpec",
    "ModelMetadata",
    "get_library_path",
    "kernel_report",
    "read_metadata",
]

# Loaded on first use: finding the library or reading metadata needs no onnxruntime.
_LAZY = {
    "Classifier": "bnndeploy.runtime.classifier",
    "Guess": "bnndeploy.runtime.classifier",
    "InferenceSession": "bnndeploy.runtime.session",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'bnndeploy.runtime' has no attribute {name!r}")
