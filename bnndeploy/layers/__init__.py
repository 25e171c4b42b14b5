"""Layers with quantized inputs and weights."""

from bnndeploy.layers._base import QuantLayer
from bnndeploy.layers.convert import quantize
from bnndeploy.layers.findings import Finding, check
from bnndeploy.layers.layer_map import Choice, format_plan, plan
from bnndeploy.layers.quant_conv1d import QuantConv1d
from bnndeploy.layers.quant_conv2d import QuantConv2d
from bnndeploy.layers.quant_embedding import QuantEmbedding
from bnndeploy.layers.quant_linear import QuantLinear
from bnndeploy.layers.rprelu import RPReLU
from bnndeploy.layers.shift_batch_norm import ShiftBatchNorm
from bnndeploy.layers.walk import clip_latents, constrain_scales, freeze_codes

__all__ = [
    "Choice",
    "Finding",
    "QuantConv1d",
    "QuantConv2d",
    "QuantEmbedding",
    "QuantLayer",
    "QuantLinear",
    "RPReLU",
    "ShiftBatchNorm",
    "check",
    "clip_latents",
    "constrain_scales",
    "format_plan",
    "freeze_codes",
    "plan",
    "quantize",
]
