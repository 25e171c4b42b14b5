"""The two-dimensional convolution, plain, grouped or depthwise."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from bnndeploy.errors import RecipeError
from bnndeploy.layers._base import QuantizerLike, QuantLayer

PAD_VALUES = (-1, 0, 1)


class QuantConv2d(QuantLayer, nn.Conv2d):
    """Convolves quantized inputs with quantized weights, then scales and adds the bias.

    ``y = conv(q_in(x) padded with pad_value, codes) * scale + bias``, or with two scales
    ``conv(x, P) * w_pos - conv(x, N) * w_neg + bias``.

    Zero padding of a binary input makes a third level; ``pad_value`` declares what the border
    holds: 0 as in float networks, +1 or -1 for an input that is binary everywhere.

    Shape: ``(N, C, H, W)`` to ``(N, O, Ho, Wo)``. Deploys as XnorConv or TernaryConv.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: str | int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        input_quantizer: QuantizerLike = None,
        weight_quantizer: QuantizerLike = None,
        pad_value: int = 0,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        )
        self.pad_value = check_pad_value(pad_value)
        self.set_quantizers(input_quantizer, weight_quantizer, channels=in_channels)

    def forward(self, input: Tensor) -> Tensor:
        x = self.quantize_input(input)
        padding = self.padding if self.pad_value == 0 else (0, 0)
        if self.pad_value != 0:
            x = F.pad(x, self._reversed_padding_repeated_twice, value=float(self.pad_value))
        return self.scaled_product(
            lambda weight: F.conv2d(
                x, weight, None, self.stride, padding, self.dilation, self.groups
            ),
            spatial=2,
        )

    def extra_repr(self) -> str:
        convolution: str = super().extra_repr()  # type: ignore[no-untyped-call]
        return f"{convolution}, pad_value={self.pad_value}"


def check_pad_value(pad_value: int) -> int:
    """Returns ``pad_value`` if it is one that the operators know.

    Raises:
        RecipeError: If it is none of -1, 0, 1.
    """
    if pad_value not in PAD_VALUES:
        raise RecipeError(f"convolution: got pad_value {pad_value}, expected -1, 0 or 1")
    return pad_value
