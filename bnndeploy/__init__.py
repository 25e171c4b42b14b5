"""Binary and ternary neural networks from PyTorch training to ONNX Runtime deployment."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bnndeploy.errors import (
    BnnDeployError,
    CheckpointError,
    DataError,
    ExportError,
    MissingExtraError,
    ModelFileError,
    OperatorError,
    ParityError,
    RecipeError,
)

if TYPE_CHECKING:
    from bnndeploy.export import export_model
    from bnndeploy.layers import quantize
    from bnndeploy.runtime import InferenceSession, get_library_path

__version__ = "0.1.0"

__all__ = [
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

# Loaded on first use: torch and onnxruntime are optional and slow to import.
_LAZY = {
    "InferenceSession": "bnndeploy.runtime",
    "get_library_path": "bnndeploy.runtime",
    "export_model": "bnndeploy.export",
    "quantize": "bnndeploy.layers",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'bnndeploy' has no attribute {name!r}")
