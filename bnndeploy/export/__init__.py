"""The export compiler: a trained module in, a bit-packed and checked ONNX file out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnndeploy.export.exporter import FORMS, export_model, export_run
    from bnndeploy.export.report import ExportReport

__all__ = ["FORMS", "ExportReport", "export_model", "export_run"]

# Loaded on first use: what reads or rewrites files must not need torch.
_LAZY = {
    "FORMS": "bnndeploy.export.exporter",
    "export_model": "bnndeploy.export.exporter",
    "export_run": "bnndeploy.export.exporter",
    "ExportReport": "bnndeploy.export.report",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'bnndeploy.export' has no attribute {name!r}")
