"""What all quantized layers share: latent weight, quantizers, product before scales."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.quantizers import (
    FixedCodes,
    Quantizer,
    WeightCodes,
    WeightQuantizer,
    get,
    options,
)

QuantizerLike = Quantizer | str | None


class QuantLayer(nn.Module):
    """Mixes quantized inputs and weights into a torch layer.

    ``weight`` stays the latent (real) Parameter; its codes are a function of it, computed in
    every forward, so loading a state_dict, saving and copying need nothing special.
    The output is ``product(quantized input, codes)``, then ``* scale``, then ``+ bias``, each
    step rounded: the arithmetic of the deployed operators.
    """

    weight: Tensor
    bias: Tensor | None
    input_quantizer: Quantizer | None
    weight_quantizer: Quantizer | None

    def set_quantizers(
        self, input_quantizer: QuantizerLike, weight_quantizer: QuantizerLike, channels: int
    ) -> None:
        """Installs the quantizers, given as modules, as names or as None for none."""
        self.input_quantizer = resolve(input_quantizer, channels)
        self.weight_quantizer = resolve(weight_quantizer, 1)
        if isinstance(self.input_quantizer, WeightQuantizer):
            raise RecipeError(
                f"input quantizer: {type(self.input_quantizer).__name__} yields weight codes; "
                "use an activation quantizer"
            )
        if self.weight_quantizer is not None:
            self.weight_quantizer.attach(self.weight)

    def weight_codes(self) -> WeightCodes:
        """Returns the codes and scales that the layer multiplies by now."""
        if self.weight_quantizer is None:
            return WeightCodes(self.weight)
        return self.weight_quantizer.codes_and_scales(self.weight)

    def quantize_input(self, x: Tensor) -> Tensor:
        return x if self.input_quantizer is None else self.input_quantizer(x)

    def scaled_product(self, product: Callable[[Tensor], Tensor], spatial: int) -> Tensor:
        """Multiplies by the codes, then by the scales, then adds the bias.

        Args:
            product: The layer's product of its input with a weight.
            spatial: How many axes follow the output channels.
        """

        def along_channels(vector: Tensor) -> Tensor:
            return vector.reshape(-1, *(1,) * spatial)

        quantizer = self.weight_quantizer
        if self.training and isinstance(quantizer, WeightQuantizer) and quantizer.two_scales:
            y = product(quantizer(self.weight))
        else:
            y = _scaled(product, self.weight_codes(), along_channels)
        return y if self.bias is None else y + along_channels(self.bias)


def _scaled(
    product: Callable[[Tensor], Tensor],
    weights: WeightCodes,
    along_channels: Callable[[Tensor], Tensor],
) -> Tensor:
    if weights.w_pos is not None and weights.w_neg is not None:
        positive, negative = weights.split()
        return product(positive) * along_channels(weights.w_pos) - product(
            negative
        ) * along_channels(weights.w_neg)
    y = product(weights.codes)
    return y if weights.scale is None else y * along_channels(weights.scale)


def resolve(quantizer: QuantizerLike, channels: int) -> Quantizer | None:
    """Builds a quantizer given by name, telling it the channel count where it asks for one."""
    if not isinstance(quantizer, str):
        return quantizer
    settings = {"channels": channels} if "channels" in options(quantizer) else {}
    return get(quantizer, **settings)


@torch.no_grad()
def clip_latents(module: nn.Module) -> None:
    """Clips the latent weights of binarised layers to their quantizer's bound.

    Call it after every optimiser step. Real weights and weights of quantizers without a
    bound are left alone. Parameters of quantizers (scales) come back into their range too.
    """
    for part in module.modules():
        if isinstance(part, Quantizer):
            part.constrain()
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
    for layer in module.modules():
        if isinstance(layer, QuantLayer) and layer.weight_quantizer is not None:
            bits = layer.weight_quantizer.bits
            layer.weight_quantizer = FixedCodes(layer.weight_codes(), bits)
    return module
