"""An exponential moving average of a network's weights."""

from __future__ import annotations

import copy

import torch
from torch import nn


class Ema:
    """Keeps ``average <- decay * average + (1 - decay) * weight`` beside the training.

    Batch-norm statistics are averaged as the weights are; counters are copied. Evaluations
    and the best checkpoint take the average.
    Reference: Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.module = copy.deepcopy(module).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, module: nn.Module) -> None:
        """Takes the weights of one more step into the average."""
        pairs = zip(self.module.state_dict().values(), module.state_dict().values(), strict=True)
        for average, value in pairs:
            if average.is_floating_point():
                average.lerp_(value, 1.0 - self.decay)
            else:
                average.copy_(value)
