"""Optimizers over three kinds of parameters: latent weights, quantizer scales, real ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantLayer
from bnndeploy.quantizers import Quantizer
from bnndeploy.registry import Registry
from bnndeploy.training.bop import Bop
from bnndeploy.training.case_optimizer import CaseOptimizer
from bnndeploy.training.recipe import TrainTable

_REGISTRY: Registry[CaseOptimizer] = Registry("optimizer")
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


def build(module: nn.Module, table: TrainTable) -> CaseOptimizer:
    """Builds the optimizer of a recipe, once for the whole run.

    Raises:
        RecipeError: If the optimizer is unknown, or has nothing to optimize.
    """
    return _REGISTRY.builder(table.optimizer)(module, table)


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
def _adam(module: nn.Module, table: TrainTable) -> CaseOptimizer:
    found = groups(parameter_kinds(module), table)
    return CaseOptimizer([torch.optim.Adam(found, lr=table.lr, fused=True)])


@_REGISTRY.register("adamw")
def _adamw(module: nn.Module, table: TrainTable) -> CaseOptimizer:
    found = groups(parameter_kinds(module), table)
    return CaseOptimizer([torch.optim.AdamW(found, lr=table.lr, fused=True)])


@_REGISTRY.register("sgd")
def _sgd(module: nn.Module, table: TrainTable) -> CaseOptimizer:
    found = groups(parameter_kinds(module), table)
    return CaseOptimizer([torch.optim.SGD(found, lr=table.lr, momentum=table.momentum)])


@_REGISTRY.register("bop")
def _bop(module: nn.Module, table: TrainTable) -> CaseOptimizer:
    """Bop flips the binary weights, Adam moves everything else."""
    binary = [
        layer.weight
        for layer in module.modules()
        if isinstance(layer, QuantLayer)
        and layer.weight_quantizer is not None
        and layer.weight_quantizer.bits == 1
    ]
    if not binary:
        raise RecipeError(
            "optimizer 'bop': got a network without binary weights, expected some; use adam"
        )
    kinds = parameter_kinds(module)
    flipped = {id(weight) for weight in binary}
    kinds.latents[:] = [weight for weight in kinds.latents if id(weight) not in flipped]
    rest = groups(kinds, table)
    optimizers: list[torch.optim.Optimizer] = [
        Bop(binary, lr=table.bop.gamma, threshold=table.bop.threshold)
    ]
    if rest:
        optimizers.append(torch.optim.Adam(rest, lr=table.lr, fused=True))
    return CaseOptimizer(optimizers)
