"""Sums a finished run up: test accuracy of the best weights, confusion, versions."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import bnndeploy
from bnndeploy.training import losses
from bnndeploy.training.data import DataSplits
from bnndeploy.training.evaluate import Scores, evaluate
from bnndeploy.training.recipe import Recipe
from bnndeploy.training.run_folder import RunFolder, load_tensors


def write_report(
    recipe: Recipe,
    module: nn.Module,
    splits: DataSplits,
    folder: RunFolder,
    summary: dict[str, Any],
) -> dict[str, Any]:
    """Evaluates the best weights on the validation and test images and writes report.json."""
    module.load_state_dict(load_tensors(folder / "best.safetensors"))
    loss = losses.build(recipe.train)
    validation = evaluate(module, splits.validation, loss)
    test = evaluate(module, splits.test, loss)
    report = {
        "name": recipe.name,
        "run": str(folder.path),
        **summary,
        "validation_accuracy": validation.accuracy,
        "test_accuracy": test.accuracy,
        "test_loss": test.loss,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "seed": recipe.train.seed,
        "images": {
            "train": len(splits.train),
            "validation": len(splits.validation),
            "test": len(splits.test),
        },
        "classes": list(splits.classes),
        "confusion": confusion(test, splits),
        "versions": {"bnndeploy": bnndeploy.__version__, "torch": torch.__version__},
    }
    folder.write_json("report.json", report)
    return report


def confusion(scores: Scores, splits: DataSplits) -> list[list[int]]:
    """Counts test images by true class (row) and predicted class (column)."""
    classes = len(splits.classes)
    cells = splits.test.labels * classes + scores.predictions
    counts = torch.bincount(cells, minlength=classes * classes).reshape(classes, classes)
    table: list[list[int]] = counts.tolist()
    return table
