"""Batch normalisation by shifts instead of multiplications."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers import Logarithmic


class ShiftBatchNorm(nn.Module):
    r"""Normalises each channel with factors rounded to powers of two.

    With ``p(z) = sign(z) 2^round(log2|z|)`` and c = x - mean: the variance is approximated by
    ``v = mean(c * p(c))``, and ``y = c * p(1 / sqrt(v + eps)) * p(weight) + bias``. While
    training, mean and v are those of the batch, and running averages of them are kept for eval.
    Backward: p passes its gradient unchanged.

    Shape: ``(N, C, *)`` to ``(N, C, *)``. Deploys as standard operators: at eval the factor is
    a constant.
    Reference: Hubara et al., "Binarized Neural Networks", 2016, arXiv:1602.02830, algorithm 3.
    """

    running_mean: Tensor
    running_var: Tensor
    fixed_factor: Tensor | None

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        if channels < 1:
            raise RecipeError(f"ShiftBatchNorm: channels must be at least 1, got {channels}")
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.power = Logarithmic()
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))
        self.register_buffer("fixed_factor", None)

    def forward(self, x: Tensor) -> Tensor:
        shape = (1, -1, *(1,) * (x.ndim - 2))
        if self.training:
            axes = [axis for axis in range(x.ndim) if axis != 1]
            mean = x.mean(axes)
            centred = x - mean.view(shape)
            variance = (centred * self.power(centred)).mean(axes)
            self._follow(mean.detach(), variance.detach())
        else:
            centred = x - self.running_mean.view(shape)
            variance = self.running_var
        factor = self._factor(variance) if self.fixed_factor is None else self.fixed_factor
        return centred * factor.view(shape) + self.bias.view(shape)

    def fix_constants(self) -> None:
        """Makes the factor of eval a constant, which a graph can hold."""
        self.fixed_factor = self._factor(self.running_var).detach()

    def _factor(self, variance: Tensor) -> Tensor:
        factor: Tensor = self.power((variance + self.eps).rsqrt()) * self.power(self.weight)
        return factor

    @torch.no_grad()
    def _follow(self, mean: Tensor, variance: Tensor) -> None:
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
        self.running_var.lerp_(variance.to(self.running_var.dtype), self.momentum)

    def extra_repr(self) -> str:
        return f"channels={self.weight.numel()}, eps={self.eps}, momentum={self.momentum}"
