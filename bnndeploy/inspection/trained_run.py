"""Describes a run, a recipe or a network of the zoo: recipe, metrics, layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bnndeploy.networks.summary import Summary, summary
from bnndeploy.training import load_run
from bnndeploy.training.recipe import Recipe


@dataclass(frozen=True)
class RunReport:
    """Describes a network before it is exported.

    Attributes:
        name: Name of the recipe.
        recipe: The whole recipe.
        classes: Names of the classes.
        input: How a pixel becomes an input.
        metrics: Accuracies of the run; empty with random weights.
        summary: What each layer stores and computes.
    """

    name: str
    recipe: Recipe
    classes: tuple[str, ...]
    input: Mapping[str, Any]
    metrics: Mapping[str, Any]
    summary: Summary

    def to_json(self) -> dict[str, Any]:
        """Returns plain numbers, lists and dicts, for JSON."""
        return {
            "name": self.name,
            "recipe": asdict(self.recipe),
            "classes": list(self.classes),
            "input": dict(self.input),
            "metrics": dict(self.metrics),
            "summary": self.summary.as_dict(),
        }


def inspect_run(source: str, weights: str = "trained") -> RunReport:
    """Describes a run directory, a recipe file or a network of the zoo.

    Raises:
        RecipeError: If there is no such recipe.
        CheckpointError: If trained weights are asked for and missing or damaged.
    """
    run = load_run(source, weights)
    return RunReport(
        name=run.name,
        recipe=run.recipe,
        classes=run.classes,
        input=run.input_spec,
        metrics=run.metrics,
        summary=summary(run.module, run.input_spec["shape"]),
    )
