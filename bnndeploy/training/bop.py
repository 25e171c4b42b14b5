"""The binary optimizer: weights are ±1 and flip; there is no latent weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from bnndeploy.errors import RecipeError


class Bop(torch.optim.Optimizer):
    r"""Flips a binary weight when its averaged gradient pushes against it long enough.

    ``m <- (1 - gamma) m + gamma g``, then ``w <- -w`` where ``|m| > threshold`` and
    ``sign(m) == sign(w)``. The weights are set to their signs when the optimizer is built.

    ``lr`` is gamma, the rate at which the gradient is averaged, so that a learning-rate schedule
    drives it.
    Reference: Helwegen et al., "Latent Weights Do Not Exist: Rethinking Binarized Neural
    Network Optimization", 2019, arXiv:1906.02107.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 1e-4, threshold: float = 1e-8) -> None:
        if not 0 < lr <= 1:
            raise RecipeError(f"bop: got gamma {lr}, expected above 0 and at most 1")
        if threshold < 0:
            raise RecipeError(f"bop: got threshold {threshold}, expected at least 0")
        super().__init__(params, {"lr": lr, "threshold": threshold})
        with torch.no_grad():
            for group in self.param_groups:
                for weight in group["params"]:
                    weight.copy_(torch.where(weight >= 0, 1.0, -1.0))

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Averages the gradients and flips."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["mean"] = torch.zeros_like(weight)
                mean = state["mean"].lerp_(weight.grad, group["lr"])
                flips = (mean.abs() > group["threshold"]) & ((mean > 0) == (weight > 0))
                weight.copy_(torch.where(flips, -weight, weight))
