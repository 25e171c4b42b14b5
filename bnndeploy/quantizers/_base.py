"""What every quantizer is, and the registry that finds one by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from bnndeploy.quantizers._scales import per_filter
from bnndeploy.registry import Registry


@dataclass(frozen=True, eq=False)
class WeightCodes:
    """Weights as codes and the scales that are applied after the product with the codes.

    ``w ~ codes * scale``, or with two scales ``w ~ w_pos`` where the code is +1 and ``-w_neg``
    where it is -1. Codes of a binary or ternary quantizer lie in {-1, 0, +1}.

    Attributes:
        codes: Shape of the weight.
        scale: ``[1]`` or ``[O]``; None stands for 1.
        w_pos: ``[1]`` or ``[O]``, or None with one scale.
        w_neg: As ``w_pos``, positive for a negative weight.
        planes: The masks ``codes == 1`` and ``codes == -1`` where they were computed before.
    """

    codes: Tensor
    scale: Tensor | None = None
    w_pos: Tensor | None = None
    w_neg: Tensor | None = None
    planes: tuple[Tensor, Tensor] | None = None

    def split(self) -> tuple[Tensor, Tensor]:
        """Returns the masks of the positive and of the negative codes, in the codes' dtype."""
        if self.planes is not None:
            return self.planes
        return (self.codes > 0).to(self.codes.dtype), (self.codes < 0).to(self.codes.dtype)


class Quantizer(nn.Module):
    """Maps a tensor to fewer levels, with a gradient rule of its own.

    An activation quantizer defines ``forward``. Used on weights it yields its output as codes
    with scale 1; a quantizer made for weights is a :class:`WeightQuantizer`.

    Attributes:
        bits: Packed bits of a value, 1 where values (of weights: codes) are -1 and +1, 2 where
            they are -1, 0 and +1. None for all other levels, which no operator packs, however
            few: an *option* ``bits`` of k-bit quantizers says that there are 2^k of them.
        latent_clip: Bound at which latent weights are clipped after a step, None for no clip.
    """

    bits: int | None = None
    latent_clip: float | None = None

    def forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        """Returns the weight's codes and scales, differentiable with respect to the weight."""
        return WeightCodes(self(weight))

    def attach(self, weight: Tensor) -> None:
        """Prepares for one latent weight; a layer calls it once, when it is built."""

    def constrain(self) -> None:
        """Brings the quantizer's parameters back into their range after an optimiser step."""

    def set_progress(self, progress: float) -> None:
        """Takes the share of training that is done, in [0, 1]; for rules that change with it."""


class WeightQuantizer(Quantizer):
    """Yields codes and scales of a latent weight; ``forward`` gives the effective weight.

    Attributes:
        two_scales: Positive and negative codes have scales of their own. While training, a
            layer then multiplies by the effective weight, which takes one product, not two.
    """

    two_scales = False

    def codes_and_scales(self, weight: Tensor) -> WeightCodes:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Returns the effective weight ``codes * scale`` or ``P * w_pos - N * w_neg``.

        Shape: ``(O, *)`` to ``(O, *)``.
        """
        quantized = self.codes_and_scales(x)
        if quantized.w_pos is not None and quantized.w_neg is not None:
            positive, negative = quantized.split()
            return positive * per_filter(quantized.w_pos, x) - negative * per_filter(
                quantized.w_neg, x
            )
        if quantized.scale is None:
            return quantized.codes
        return quantized.codes * per_filter(quantized.scale, x)


_REGISTRY: Registry[Quantizer] = Registry("quantizer")
register = _REGISTRY.register
names = _REGISTRY.names
builder = _REGISTRY.builder
options = _REGISTRY.options


def get(name: str, **settings: Any) -> Quantizer:
    """Builds the quantizer ``name``; see ``names()`` and ``options(name)``.

    Raises:
        RecipeError: If the name or an option is unknown, or an option's value is wrong.
    """
    return _REGISTRY.build(name, **settings)


def set_progress(module: nn.Module, progress: float) -> None:
    """Tells every quantizer inside ``module`` which share of training is done, in [0, 1]."""
    for part in module.modules():
        if isinstance(part, Quantizer):
            part.set_progress(progress)
