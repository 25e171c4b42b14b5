"""Real-to-binary network: binary convolutions whose output is scaled by what they read."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from bnndeploy.networks._base import register
from bnndeploy.networks._parts import (
    Residual,
    binary_conv,
    check_input,
    head,
    is_small,
    pooled_shortcut,
    stages,
    stem,
)

WIDTHS = (64, 128, 256, 512)
SQUEEZE = 8


class ScaledBinaryConv(nn.Module):
    """Convolves signs and scales each output channel by a function of the real input.

    ``y = conv(sign(x)) * sigmoid(expand(relu(reduce(mean over the map of x))))``.

    Shape: ``(N, C, H, W)`` to ``(N, O, H / stride, W / stride)``.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv = binary_conv(inputs, outputs, stride=stride)
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(inputs, inputs // SQUEEZE, bias=False),
            nn.ReLU(),
            nn.Linear(inputs // SQUEEZE, outputs, bias=False),
            nn.Sigmoid(),
            nn.Unflatten(1, (outputs, 1, 1)),
        )

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x) * self.scale(x)
        return y


@register("real-to-binary-18")
def real_to_binary_18(input_shape: Sequence[int] = (3, 224, 224), classes: int = 1000) -> nn.Module:
    """Builds the last stage (binary weights and inputs) of the real-to-binary ResNet-18.

    A block is ``shortcut(x) + prelu(scaled_conv(batch_norm(x)))``.

    Shape: ``(N, *input_shape)`` to ``(N, classes)``; sides are multiples of 32, or of 8 below
    50 pixels, where the stem keeps the map.
    Reference: Martinez et al., "Training Binary Neural Networks with Real-to-Binary
    Convolutions", 2020, arXiv:2003.11535; layout of the larq zoo
    (``literature/real_to_bin_nets.py``).
    """
    small = is_small(input_shape)
    check_input("real-to-binary-18", input_shape, 8 if small else 32)
    return nn.Sequential(
        *stem(input_shape[0], WIDTHS[0], nn.PReLU(WIDTHS[0]), small=small),
        *stages((4, 4, 4, 4), WIDTHS, _block),
        *head(WIDTHS[-1], classes),
    )


def _block(inputs: int, outputs: int) -> list[nn.Module]:
    halve = inputs != outputs
    body = nn.Sequential(
        nn.BatchNorm2d(inputs),
        ScaledBinaryConv(inputs, outputs, stride=2 if halve else 1),
        nn.PReLU(outputs),
    )
    return [Residual(body, pooled_shortcut(inputs, outputs) if halve else None)]
