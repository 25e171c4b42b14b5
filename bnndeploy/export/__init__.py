"""The export compiler: a trained module in, a bit-packed and checked ONNX file out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnndeploy.export.compiler import FORMS
    from bnndeploy.export.expand import expand
    from bnndeploy.export.exporter import export_model, export_run
    from bnndeploy.export.importer import import_model
    from bnndeploy.export.int8 import quantize_int8
    from bnndeploy.export.report import ExportReport

__all__ = [
    "FORMS",
    "ExportReport",
    "expand",
    "export_model",
    "export_run",
    "import_model",
    "quantize_int8",
]

# Loaded on first use: verify-parity and bench read files from here without torch.
_LAZY = {
    "FORMS": "compiler",
    "ExportReport": "report",
    "expand": "expand",
    "export_model": "exporter",
    "export_run": "exporter",
    "import_model": "importer",
    "quantize_int8": "int8",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(f"bnndeploy.export.{_LAZY[name]}"), name)
        globals()[name] = value  # hides the submodule expand behind the function
        return value
    raise AttributeError(f"module 'bnndeploy.export' has no attribute {name!r}")
