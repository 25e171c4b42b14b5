"""The declared value of a convolution's border."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F
from torch.nn.modules.conv import _ConvNd

from bnndeploy.errors import RecipeError

PAD_VALUES = (-1, 0, 1)


def check_pad_value(pad_value: int) -> int:
    """Returns ``pad_value`` if it is one that the operators know.

    Raises:
        RecipeError: If it is none of -1, 0, 1.
    """
    if pad_value not in PAD_VALUES:
        raise RecipeError(f"convolution: got pad_value {pad_value}, expected -1, 0 or 1")
    return pad_value


def pad_border(layer: _ConvNd, x: Tensor, pad_value: int) -> tuple[Tensor, str | tuple[int, ...]]:
    """Puts the border around ``x`` unless it is of zeros, which the convolution adds itself.

    Returns:
        The input of the convolution and the padding that is left to it.
    """
    if pad_value == 0:
        return x, layer.padding
    border = F.pad(x, layer._reversed_padding_repeated_twice, value=float(pad_value))
    return border, (0,) * len(layer.kernel_size)
