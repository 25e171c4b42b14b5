"""Gives back a network from a run directory, a recipe or the zoo, ready to evaluate or export."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bnndeploy.errors import CheckpointError, RecipeError
from bnndeploy.training import data, zoo
from bnndeploy.training import recipe as recipes
from bnndeploy.training._seeds import generator_for, seed_for
from bnndeploy.training.build import build_module
from bnndeploy.training.recipe import Recipe
from bnndeploy.training.run_folder import RunFolder, load_tensors

WEIGHTS = ("trained", "random")
BEST = "best.safetensors"


@dataclass(frozen=True)
class TrainedRun:
    """A network in eval mode and float32, with what a deployment must know of it."""

    name: str
    module: nn.Module
    recipe: Recipe
    classes: tuple[str, ...]
    input_spec: dict[str, Any]
    metrics: dict[str, Any]


def load_run(source: Path | str, weights: str = "trained") -> TrainedRun:
    """Loads a run directory, a recipe file or a network of the zoo.

    ``trained`` takes the best weights found beside the recipe and never falls back;
    ``random`` draws weights and batch-norm statistics from the recipe's seed.

    Raises:
        RecipeError: If there is no such recipe, or ``weights`` is neither.
        CheckpointError: If trained weights are asked for and missing, damaged or of another
            network.
    """
    if weights not in WEIGHTS:
        raise RecipeError(f"weights: got {weights!r}, expected trained or random")
    path = zoo.find_recipe(str(source))
    recipe = recipes.load(path)
    folder = RunFolder(path.parent)
    last = folder.read_json("last.json") or {}
    dataset = data.get(recipe.data, len(last.get("classes", ())))
    classes = tuple(last.get("classes", dataset.classes))
    torch.manual_seed(seed_for(recipe.train.seed, "weights"))
    module = build_module(recipe, dataset)
    metrics: dict[str, Any] = {}
    if weights == "random":
        randomise_batch_norms(module, recipe.train.seed)
    else:
        load_weights(module, path.parent / BEST, source)
        report = folder.read_json("report.json") or {}
        metrics = {key: value for key, value in report.items() if key.endswith("accuracy")}
    module.eval()
    return TrainedRun(
        name=recipe.name,
        module=module,
        recipe=recipe,
        classes=classes,
        input_spec=last.get("input_spec", dataset.input_spec),
        metrics=metrics,
    )


def load_weights(module: nn.Module, path: Path, source: Path | str) -> None:
    """Loads the weights of a checkpoint into the network it was trained with.

    Raises:
        CheckpointError: If the file is missing, damaged or of another network.
    """
    if not path.is_file():
        exported = path.with_name("model.onnx")
        there = f" ({exported} holds their codes only)" if exported.is_file() else ""
        raise CheckpointError(
            f"{source}: got no {path.name}, expected trained weights{there}; train it with "
            f"bnndeploy train {source} --out RUN, or ask for --weights random"
        )
    try:
        module.load_state_dict(load_tensors(path))
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(
            f"{path}: does not fit the network of its recipe ({reason}); "
            "expected a checkpoint of this recipe"
        ) from None


@torch.no_grad()
def randomise_batch_norms(module: nn.Module, seed: int) -> None:
    """Draws statistics and affine parameters, some gammas negative, none of them trivial.

    Fresh batch-norms have mean 0, variance 1, gamma 1, beta 0: every threshold would be 0 and
    a wrong export could look right.
    """
    generator = generator_for(seed, "batch_norm")

    def uniform(like: torch.Tensor, low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(like.shape, generator=generator)

    for layer in module.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm) and layer.running_mean is not None:
            assert layer.running_var is not None
            layer.running_mean.copy_(uniform(layer.running_mean, -0.5, 0.5))
            layer.running_var.copy_(uniform(layer.running_var, 0.5, 2.0))
            if layer.affine:
                sign = torch.where(uniform(layer.weight, 0.0, 1.0) < 0.1, -1.0, 1.0)
                layer.weight.copy_(sign * uniform(layer.weight, 0.5, 1.5))
                layer.bias.copy_(uniform(layer.bias, -0.5, 0.5))
