"""What all quantized layers share: latent weight, quantizers, product before scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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

QuantizerLike = Quantizer | str | Mapping[str, Any] | None
Product = Callable[[Tensor], Tensor]


class QuantLayer(nn.Module):
    """Mixes quantized inputs, weights and outputs into a torch layer.

    ``weight`` stays the latent (real) Parameter; its codes are a function of it, computed in
    every forward, so loading a state_dict, saving and copying need nothing special.
    The output is ``product(quantized input, codes)``, then ``* scale``, then ``+ bias``, each
    step rounded: the arithmetic of the deployed operators. An output quantizer comes after it.
    """

    weight: Tensor
    bias: Tensor | None
    input_quantizer: Quantizer | None
    weight_quantizer: Quantizer | None
    output_quantizer: Quantizer | None

    def set_quantizers(
        self,
        input_quantizer: QuantizerLike,
        weight_quantizer: QuantizerLike,
        output_quantizer: QuantizerLike,
        *,
        channels: tuple[int, int],
        axis: int = 1,
    ) -> None:
        """Installs the quantizers: modules, names, tables of name and options, or None.

        Args:
            input_quantizer: What the input goes through.
            weight_quantizer: What the latent weight goes through.
            output_quantizer: What the scaled and biased product goes through.
            channels: Channels of the input and of the output.
            axis: Where they are.

        Raises:
            RecipeError: If a quantizer is unknown or does not fit its place.
        """
        self.input_quantizer = build_quantizer(input_quantizer, channels=channels[0], axis=axis)
        self.weight_quantizer = build_quantizer(weight_quantizer)
        self.output_quantizer = build_quantizer(output_quantizer, channels=channels[1], axis=axis)
        for place in ("input", "output"):
            quantizer = getattr(self, f"{place}_quantizer")
            if isinstance(quantizer, WeightQuantizer):
                raise RecipeError(
                    f"{place} quantizer: {type(quantizer).__name__} yields weight codes; "
                    "use an activation quantizer"
                )
        if self.weight_quantizer is not None:
            self.weight_quantizer.attach(self.weight)

    def weight_codes(self) -> WeightCodes:
        """Returns the codes and scales that the layer multiplies by now."""
        if self.weight_quantizer is None:
            return WeightCodes(self.weight)
        return self.weight_quantizer.codes_and_scales(self.weight)

    def fix_constants(self) -> None:
        """Makes the codes and scales constants; the latent weight has no effect any more."""
        if self.weight_quantizer is not None:
            self.weight_quantizer = FixedCodes(self.weight_codes(), self.weight_quantizer.bits)

    def quantize_input(self, x: Tensor) -> Tensor:
        return x if self.input_quantizer is None else self.input_quantizer(x)

    def scaled_product(self, product: Product, spread: Product) -> Tensor:
        """Multiplies by the codes, then by the scales, adds the bias and quantizes the output.

        Args:
            product: The layer's product of its input with a weight.
            spread: Shapes a vector over output channels so that it broadcasts over the product.
        """
        quantizer = self.weight_quantizer
        if self.training and isinstance(quantizer, WeightQuantizer) and quantizer.two_scales:
            y = product(quantizer(self.weight))
        else:
            y = _scaled(self.weight_codes(), product, spread)
        y = y if self.bias is None else y + spread(self.bias)
        return y if self.output_quantizer is None else self.output_quantizer(y)


def _scaled(weights: WeightCodes, product: Product, spread: Product) -> Tensor:
    if weights.w_pos is not None and weights.w_neg is not None:
        positive, negative = weights.split()
        above = product(positive) * spread(weights.w_pos)
        return above - product(negative) * spread(weights.w_neg)
    y = product(weights.codes)
    return y if weights.scale is None else y * spread(weights.scale)


def build_quantizer(quantizer: QuantizerLike, **place: int) -> Quantizer | None:
    """Builds a quantizer given by name or by a table of its name and options.

    Args:
        quantizer: A module is taken as it is, None stands for none.
        place: What is known about where it will stand; it is told the options that it has.

    Raises:
        RecipeError: If the name or an option is unknown or missing, or a value is wrong.
    """
    if quantizer is None or isinstance(quantizer, Quantizer):
        return quantizer
    table = {"name": quantizer} if isinstance(quantizer, str) else dict(quantizer)
    name = table.pop("name", None)
    if not isinstance(name, str):
        raise RecipeError(
            f"quantizer: got {quantizer!r}, expected a name or a table such as "
            '{name = "ttq", sparsity = 0.5}'
        )
    known = options(name)
    return get(name, **{key: value for key, value in place.items() if key in known} | table)
