"""Draws small networks with every pattern that the export compiler fuses."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from bnndeploy.layers import QuantConv2d, QuantLinear, RPReLU

WEIGHTS = ("ste_sign", "ste_sign", "xnor_scale", "twn", "ttq")


class Residual(nn.Module):
    def __init__(self, body: nn.Module, after: nn.Module) -> None:
        super().__init__()
        self.body, self.after = body, after

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.body(x) + x)


class Concatenated(nn.Module):
    def __init__(self, *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, *(part(x) for part in self.parts)], dim=1)


class Drawing:
    """Draws one network; ``channels``, ``height`` and ``width`` follow the value so far."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.channels = int(self.rng.integers(1, 131))
        self.height, self.width = (int(size) for size in self.rng.integers(5, 11, 2))
        self.input_shape = (self.channels, self.height, self.width)

    def one_of(self, *options: object) -> object:
        return options[self.rng.integers(len(options))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def network(self) -> nn.Module:
        parts: list[nn.Module] = []
        for _ in range(self.rng.integers(1, 4)):
            parts.append(self.one_of(self.block, self.block, self.residual, self.concatenated)())
        return nn.Sequential(*parts, *self.head())

    def conv(self, outputs: int, *, keep_map: bool = False) -> nn.Module:
        kernel = int(self.one_of(1, 3, 3, 5))
        dilation = int(self.one_of(1, 1, 2)) if kernel == 3 else 1
        stride = 1 if keep_map else int(self.one_of(1, 1, 2))
        extent = (kernel - 1) * dilation + 1
        smallest = min(self.height, self.width)
        padding = extent // 2
        if not keep_map and extent <= smallest and self.chance(0.3):
            padding = int(self.rng.integers(0, extent // 2 + 1))
        groups = 1
        if self.channels % 64 == 0 and outputs % 2 == 0 and self.chance(0.5):
            groups = 2
        layer = QuantConv2d(
            self.channels,
            outputs,
            kernel,
            stride,
            padding,
            dilation,
            groups,
            bias=self.chance(0.3),
            input_quantizer=str(self.one_of("ste_sign", "ste_sign", "rsign")),
            weight_quantizer=str(self.one_of(*WEIGHTS)),
            pad_value=int(self.one_of(-1, 0, 1)),
        )
        self.channels = outputs
        self.height, self.width = (
            (size + 2 * padding - extent) // stride + 1 for size in (self.height, self.width)
        )
        return layer

    def pool(self) -> list[nn.Module]:
        if min(self.height, self.width) < 3 or not self.chance(0.4):
            return []
        padding = int(self.one_of(0, 1))
        self.height, self.width = (
            (size + 2 * padding - 3) // 2 + 1 for size in (self.height, self.width)
        )
        return [nn.MaxPool2d(3, 2, padding)]

    def activation(self) -> list[nn.Module]:
        made = (
            nn.Hardtanh(), nn.PReLU(self.channels), RPReLU(self.channels), nn.LeakyReLU(0.1),
        )  # fmt: skip
        return [made[self.rng.integers(len(made))]] if self.chance(0.5) else []

    def block(self) -> nn.Module:
        layers = [self.conv(int(self.one_of(self.rng.integers(1, 131), 32, 64, 128)))]
        layers += self.activation()[:1] if self.chance(0.2) else []
        layers += self.pool()
        layers.append(nn.BatchNorm2d(self.channels))
        layers += [*self.activation(), *self.pool()]
        return nn.Sequential(*layers)

    def residual(self) -> nn.Module:
        body = [self.conv(self.channels, keep_map=True)]
        body += [nn.ReLU()] if self.chance(0.3) else []
        body.append(nn.BatchNorm2d(self.channels))
        return Residual(nn.Sequential(*body), nn.Sequential(*self.activation()))

    def concatenated(self) -> nn.Module:
        inputs, parts = self.channels, []
        for _ in range(self.rng.integers(1, 3)):
            self.channels = inputs
            outputs = int(self.one_of(self.rng.integers(1, 33), 32))
            norm = nn.BatchNorm2d(inputs)
            parts.append(nn.Sequential(norm, self.conv(outputs, keep_map=True)))
        self.channels = inputs + sum(int(part[1].out_channels) for part in parts)
        return Concatenated(*parts)

    def head(self) -> list[nn.Module]:
        layers: list[nn.Module] = []
        if self.chance(0.3):
            layers.append(nn.AdaptiveAvgPool2d(1))
            self.height = self.width = 1
        layers.append(nn.Flatten())
        features = self.channels * self.height * self.width
        hidden = int(self.rng.integers(1, 131))
        for inputs, outputs in ((features, hidden), (hidden, 10)):
            quantizer = str(self.one_of(*WEIGHTS))
            layer = QuantLinear(
                inputs, outputs, self.chance(0.5), input_quantizer="ste_sign",
                weight_quantizer=quantizer,
            )  # fmt: skip
            layers += [layer, nn.BatchNorm1d(outputs)]
        return layers


class Side(nn.Module):
    """Runs several networks on an input each: one trace exports them all."""

    def __init__(self, networks: list[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(net(x) for net, x in zip(self.networks, inputs, strict=True))


def draw_networks(first_seed: int, count: int) -> tuple[Side, list[Tensor]]:
    """Returns ``count`` networks in one module, and an input of two samples for each."""
    networks, inputs = [], []
    for seed in range(first_seed, first_seed + count):
        torch.manual_seed(seed)
        drawing = Drawing(seed)
        networks.append(drawing.network())
        x = drawing.rng.standard_normal((2, *drawing.input_shape), np.float32)
        inputs.append(torch.from_numpy(x))
    return Side(networks), inputs
