"""Layers with quantized inputs and weights."""

from bnndeploy.layers._base import QuantLayer, clip_latents, freeze_codes
from bnndeploy.layers.quant_conv2d import QuantConv2d
from bnndeploy.layers.quant_linear import QuantLinear

__all__ = ["QuantConv2d", "QuantLayer", "QuantLinear", "clip_latents", "freeze_codes"]
