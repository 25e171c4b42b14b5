"""The two-dimensional convolution, plain, grouped or depthwise."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from bnndeploy.layers._base import QuantizerLike, QuantLayer
from bnndeploy.layers._padding import check_pad_value, pad_border


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
        output_quantizer: QuantizerLike = None,
        pad_value: int = 0,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        )
        self.pad_value = check_pad_value(pad_value)
        self.set_quantizers(
            input_quantizer,
            weight_quantizer,
            output_quantizer,
            channels=(in_channels, out_channels),
        )

    def forward(self, input: Tensor) -> Tensor:
        x, padding = pad_border(self, self.quantize_input(input), self.pad_value)
        return self.scaled_product(
            lambda weight: F.conv2d(
                x, weight, None, self.stride, padding, self.dilation, self.groups
            ),
            lambda vector: vector.reshape(-1, 1, 1),
        )

    def extra_repr(self) -> str:
        convolution: str = super().extra_repr()  # type: ignore[no-untyped-call]
        return f"{convolution}, pad_value={self.pad_value}"
