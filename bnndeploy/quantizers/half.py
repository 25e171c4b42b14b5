"""Values rounded to half precision."""

from __future__ import annotations

import torch
from torch import Tensor

from bnndeploy.quantizers._base import Quantizer, register
from bnndeploy.quantizers._gradient import pass_where

LARGEST = torch.finfo(torch.float16).max


@register("half")
class Half(Quantizer):
    r"""Rounds to float16 and back; values beyond its range saturate.

    Forward, element-wise: ``q(x) = float16(clip(x, -65504, 65504))`` (NaN stays NaN).
    Backward: ``dq/dx = 1 if |x| <= 65504 else 0``.

    Shape: ``(*)`` to ``(*)``, dtype kept. Deploys as real weights, or as standard operators.
    Reference: IEEE 754-2019, binary16; TensorQuant's "half", 2017, arXiv:1710.05758.
    """

    def forward(self, x: Tensor) -> Tensor:
        latent = x.detach()
        value = latent.clamp(-LARGEST, LARGEST).to(torch.float16).to(x.dtype)
        return pass_where(x, value, latent.abs() <= LARGEST)
