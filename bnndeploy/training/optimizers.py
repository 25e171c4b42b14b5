"""Optimizers over three kinds of parameters: latent weights, quantizer scales, real ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from bnndeploy.layers import QuantLayer
from bnndeploy.quantizers import Quantizer
from bnndeploy.registry import Registry
from bnndeploy.training.recipe import TrainTable

_REGISTRY: Registry[torch.optim.Optimizer] = Registry("optimizer")
names = _REGISTRY.names


@dataclass(frozen=True)
class ParameterKinds:
    """The parameters of a network by how they must be treated.

    ``latents`` are weights behind a weight quantizer; ``scales`` belong to quantizers (w_pos,
    thresholds, step sizes) and never decay: decay would pull them to zero or below;
    ``real`` are the others, of which only those with two or more axes decay.
    """

    latents: list[nn.Parameter]
    scales: list[nn.Parameter]
    real: list[nn.Parameter]


def parameter_kinds(module: nn.Module) -> ParameterKinds:
    """Sorts the trainable parameters of a network, each into exactly one kind."""
    latents = {
        id(layer.weight)
        for layer in module.modules()
        if isinstance(layer, QuantLayer) and layer.weight_quantizer is not None
    }
    scales = {
        id(parameter)
        for part in module.modules()
        if isinstance(part, Quantizer)
        for parameter in part.parameters()
    }
    kinds = ParameterKinds([], [], [])
    for parameter in _trainable(module):
        if id(parameter) in latents:
            kinds.latents.append(parameter)
        elif id(parameter) in scales:
            kinds.scales.append(parameter)
        else:
            kinds.real.append(parameter)
    return kinds


def build(module: nn.Module, table: TrainTable) -> torch.optim.Optimizer:
    """Builds the optimizer of a recipe, once for the whole run.

    Raises:
        RecipeError: If the optimizer is unknown.
    """
    return _REGISTRY.builder(table.optimizer)(parameter_kinds(module), table)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Sets the rate of every group."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def groups(kinds: ParameterKinds, table: TrainTable) -> list[dict[str, Any]]:
    """Returns the torch parameter groups that are not empty, each kind with its weight decay."""
    matrices = [parameter for parameter in kinds.real if parameter.ndim > 1]
    vectors = [parameter for parameter in kinds.real if parameter.ndim <= 1]
    decays = [
        (kinds.latents, table.latent_weight_decay),
        (kinds.scales, 0.0),
        (matrices, table.weight_decay),
        (vectors, 0.0),
    ]
    return [{"params": params, "weight_decay": decay} for params, decay in decays if params]


def _trainable(module: nn.Module) -> Iterator[nn.Parameter]:
    return (parameter for parameter in module.parameters() if parameter.requires_grad)


# fused: one pass over the parameters instead of a dozen, the same numbers from run to run.
@_REGISTRY.register("adam")
def _adam(kinds: ParameterKinds, table: TrainTable) -> torch.optim.Optimizer:
    return torch.optim.Adam(groups(kinds, table), lr=table.lr, fused=True)


@_REGISTRY.register("adamw")
def _adamw(kinds: ParameterKinds, table: TrainTable) -> torch.optim.Optimizer:
    return torch.optim.AdamW(groups(kinds, table), lr=table.lr, fused=True)


@_REGISTRY.register("sgd")
def _sgd(kinds: ParameterKinds, table: TrainTable) -> torch.optim.Optimizer:
    return torch.optim.SGD(groups(kinds, table), lr=table.lr, momentum=table.momentum)
