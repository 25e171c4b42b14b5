"""What is done to all layers of a network: after an optimiser step, and before an export."""

from __future__ import annotations

import torch
from torch import nn

from bnndeploy.layers._base import QuantLayer
from bnndeploy.layers.shift_batch_norm import ShiftBatchNorm
from bnndeploy.quantizers import Quantizer


@torch.no_grad()
def constrain_scales(module: nn.Module) -> None:
    """Brings the parameters of quantizers (scales, steps) back into their range.

    Call it after every optimiser step of a training that does not clip its latent weights;
    :func:`clip_latents` does it too.
    """
    for part in module.modules():
        if isinstance(part, Quantizer):
            part.constrain()


@torch.no_grad()
def clip_latents(module: nn.Module) -> None:
    """Clips the latent weights of binarised layers to their quantizer's bound.

    Call it after every optimiser step. Real weights and weights of quantizers without a
    bound are left alone. Parameters of quantizers (scales) come back into their range too.
    """
    constrain_scales(module)
    for part in module.modules():
        if isinstance(part, QuantLayer) and part.weight_quantizer is not None:
            bound = part.weight_quantizer.latent_clip
            if bound is not None:
                part.weight.clamp_(-bound, bound)


@torch.no_grad()
def freeze_codes(module: nn.Module) -> nn.Module:
    """Replaces the weight quantizers in ``module`` by the codes and scales they yield now.

    Works in place and gives the module back: hand in a copy. The forward in eval mode is
    unchanged; traced for export, the codes, planes and scales are constants of the graph.
    """
    for part in module.modules():
        if isinstance(part, (QuantLayer, ShiftBatchNorm)):
            part.fix_constants()
    return module
