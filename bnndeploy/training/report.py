"""Sums a finished run up: test accuracy of the best weights, confusion, layers, versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

import bnndeploy
from bnndeploy.training import data, losses
from bnndeploy.training.data import DataSplits
from bnndeploy.training.evaluate import Scores, evaluate
from bnndeploy.training.html_report import write_html
from bnndeploy.training.layer_metrics import latent_histograms
from bnndeploy.training.recipe import Recipe
from bnndeploy.training.run_folder import RunFolder, load_tensors
from bnndeploy.training.runs import load_run


def write_report(
    recipe: Recipe,
    module: nn.Module,
    splits: DataSplits,
    folder: RunFolder,
    summary: dict[str, Any],
) -> dict[str, Any]:
    """Evaluates the best weights on validation and test images, writes report.html and .json."""
    module.load_state_dict(load_tensors(folder / "best.safetensors"))
    loss = losses.build(recipe.train)
    validation = evaluate(module, splits.validation, loss)
    test = evaluate(module, splits.test, loss)
    report = {
        "name": recipe.name,
        "run": str(folder.path),
        **summary,
        "validation_accuracy": validation.accuracy,
        **_test_scores(test, splits),
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "seed": recipe.train.seed,
        "images": {
            "train": len(splits.train),
            "validation": len(splits.validation),
            "test": len(splits.test),
        },
        "classes": list(splits.classes),
        "latents": latent_histograms(module),
        "versions": {"bnndeploy": bnndeploy.__version__, "torch": torch.__version__},
    }
    rows = folder.read_rows("layers.csv", 2**62)
    write_html(folder / "report.html", report, rows, splits, test, folder / "curves.png")
    # Last: report.json says that the run is finished.
    folder.write_json("report.json", report)
    return report


def evaluate_run(source: Path | str, data_root: Path | str | None) -> dict[str, Any]:
    """Evaluates the trained weights of a run on the test images of its data set; trains nothing.

    Raises:
        CheckpointError: If the run has no trained weights.
        DataError: If the data set cannot be used.
    """
    run = load_run(source)
    splits = data.load(run.recipe.data, data_root)
    scores = evaluate(run.module, splits.test, losses.build(run.recipe.train))
    return {"name": run.name, "run": str(source), **_test_scores(scores, splits)}


def _test_scores(test: Scores, splits: DataSplits) -> dict[str, Any]:
    return {
        "test_accuracy": test.accuracy,
        "test_top5_accuracy": test.top5,
        "test_loss": test.loss,
        "confusion": confusion(test, splits),
    }


def confusion(scores: Scores, splits: DataSplits) -> list[list[int]]:
    """Counts test images by true class (row) and predicted class (column)."""
    classes = len(splits.classes)
    cells = splits.test.labels * classes + scores.predictions
    counts = torch.bincount(cells, minlength=classes * classes).reshape(classes, classes)
    table: list[list[int]] = counts.tolist()
    return table
