"""Recipes, data, the training loop and the runs it leaves."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnndeploy.training.report import evaluate_run
    from bnndeploy.training.runs import TrainedRun, load_run
    from bnndeploy.training.trainer import train

__all__ = ["TrainedRun", "evaluate_run", "load_run", "train"]

# Loaded on first use: listing the zoo must not need torch.
_LAZY = {
    "TrainedRun": "bnndeploy.training.runs",
    "evaluate_run": "bnndeploy.training.report",
    "load_run": "bnndeploy.training.runs",
    "train": "bnndeploy.training.trainer",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'bnndeploy.training' has no attribute {name!r}")
