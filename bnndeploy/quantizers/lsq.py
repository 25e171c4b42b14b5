"""Learned step size quantization."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as dist

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers._base import Quantizer, WeightCodes, register

SMALLEST_STEP = 1e-6


@register("lsq")
class Lsq(Quantizer):
    r"""Maps to integer levels times a learned step; for weights and for activations.

    Forward, element-wise: ``q(x) = s round(clip(x / s, -Qn, Qp))``, halves to even, with
    ``Qn = 2^(k-1), Qp = 2^(k-1) - 1`` signed and ``Qn = 0, Qp = 2^k - 1`` unsigned.
    Backward: ``dq/dx = 1 if -Qn <= x / s <= Qp else 0``; ``dq/ds = round(x / s) - x / s`` inside,
    ``-Qn`` below, ``Qp`` above, summed and times ``1 / sqrt(n Qp)``, n being the number of
    weights, or of activations of one sample.

    The step starts at ``2 mean|x| / sqrt(Qp)``: of the weight, or of the first training batch.
    It stays positive (:func:`bnndeploy.layers.clip_latents`) and wants no weight decay.

    Shape: ``(*)`` to ``(*)``. Deploys as real weights; activations as k bit planes in front of
    binary or ternary weights and for k up to 4, elsewhere as standard operators (Clip, Round).
    Reference: Esser et al., "Learned Step Size Quantization", 2019, arXiv:1902.08153.
    """

    started: Tensor

    def __init__(self, bits: int = 4, signed: bool = True) -> None:
        super().__init__()
        if not 2 <= bits <= 16:
            raise RecipeError(f"lsq: bits must lie in 2..16, got {bits}")
        self.k = bits
        self.low = -(2 ** (bits - 1)) if signed else 0
        self.high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
        self.step = nn.Parameter(torch.ones(1))
        self.register_buffer("started", torch.tensor(False))

    @torch.no_grad()
    def attach(self, weight: Tensor) -> None:
        """Starts the step at the scale of this tensor."""
        self._start(weight.abs().mean())

    def _start(self, magnitude: Tensor) -> None:
        start = 2 * magnitude.reshape(1) / math.sqrt(self.high)
        self.step.data = start.clamp(min=SMALLEST_STEP).to(self.step.dtype)
        self.started.fill_(True)

    @torch.no_grad()
    def constrain(self) -> None:
        self.step.clamp_(min=SMALLEST_STEP)

    def forward(self, x: Tensor) -> Tensor:
        if self.training and not self.started:
            self._start(_mean_over_processes(x.detach().abs().mean()))
        per_sample = x.shape[1:].numel() if x.ndim > 1 else x.numel()
        return self._levels(x, per_sample) * self.step

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        return WeightCodes(self._levels(weight, weight.numel()), self.step)

    def _levels(self, x: Tensor, count: int) -> Tensor:
        if torch.onnx.is_in_onnx_export():
            return (x / self.step).clamp(self.low, self.high).round()
        factor = 1 / math.sqrt(max(count, 1) * self.high)
        levels: Tensor = _Levels.apply(x, self.step, self.low, self.high, factor)
        return levels

    def extra_repr(self) -> str:
        return f"bits={self.k}, signed={self.low < 0}"


def _mean_over_processes(value: Tensor) -> Tensor:
    """Averages over the processes of a distributed run, which must all start alike."""
    if not (dist.is_available() and dist.is_initialized()):
        return value
    dist.all_reduce(value)
    return value / dist.get_world_size()


class _Levels(torch.autograd.Function):
    """Gives the levels gradients such that ``levels * step`` gets those of the paper."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, step: Tensor, low: int, high: int, factor: float) -> Tensor:
        ctx.save_for_backward(x, step)
        ctx.low, ctx.high, ctx.factor = low, high, factor
        return (x / step).clamp(low, high).round()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, step = ctx.saved_tensors
        g = grads[0]  # of the levels: the step times that of the quantized value
        ratio = x / step
        inside = (ratio >= ctx.low) & (ratio <= ctx.high)
        d_x = torch.where(inside, g / step, 0)
        # The product levels * step adds its own share: sum of (g / step) * levels, unscaled.
        levels = ratio.clamp(ctx.low, ctx.high).round()
        wanted = torch.where(inside, levels - ratio, levels) * ctx.factor
        d_step = ((g / step) * (wanted - levels)).sum().reshape(1)
        return d_x, d_step, None, None, None
