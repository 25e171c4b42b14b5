"""Larq: its quantizers and sequential configurations in our words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers.quant_conv2d import QuantConv2d
from bnndeploy.layers.quant_linear import QuantLinear
from bnndeploy.quantizers import Quantizer, get
from bnndeploy.registry import nearest

Config = Mapping[str, Any]


def _ternary(threshold_value: float, ternary_weight_networks: bool, clip_value: float) -> Quantizer:
    if ternary_weight_networks:
        return get("twn", scaled=False)
    return get("ternary", threshold=threshold_value, clip=clip_value)


def _dorefa(k_bit: int, mode: str) -> Quantizer:
    return get("dorefa_weight" if mode == "weights" else "dorefa_activation", bits=k_bit)


# Larq's arguments with their defaults, and what builds ours from all of them.
_QUANTIZERS: dict[str, tuple[dict[str, Any], Callable[..., Quantizer]]] = {
    "ste_sign": ({"clip_value": 1.0}, lambda clip_value: get("ste_sign", clip=clip_value)),
    "approx_sign": ({}, lambda: get("approx_sign")),
    "swish_sign": ({"beta": 5.0}, lambda beta: get("swish_sign", beta=beta)),
    "ste_heaviside": (
        {"clip_value": 1.0},
        lambda clip_value: get("ste_heaviside", clip=clip_value),
    ),
    "magnitude_aware_sign": (
        {"clip_value": 1.0},
        lambda clip_value: get("magnitude_aware_sign", clip=clip_value),
    ),
    "ste_tern": (
        {"threshold_value": 0.05, "ternary_weight_networks": False, "clip_value": 1.0},
        _ternary,
    ),
    "dorefa_quantizer": ({"k_bit": 2, "mode": "activations"}, _dorefa),
    "no_op": ({"precision": 32}, lambda precision: get("no_op")),
}
# Class names, as Keras writes them into a configuration.
_ALIASES = {
    "SteSign": "ste_sign",
    "ApproxSign": "approx_sign",
    "SwishSign": "swish_sign",
    "SteHeaviside": "ste_heaviside",
    "MagnitudeAwareSign": "magnitude_aware_sign",
    "SteTern": "ste_tern",
    "DoReFa": "dorefa_quantizer",
    "DoReFaQuantizer": "dorefa_quantizer",
    "NoOp": "no_op",
    "NoOpQuantizer": "no_op",
}
_CLIPS = ("weight_clip", "WeightClip")


def larq_quantizer(
    spec: str | Config | None, constraint: str | Config | None = None
) -> Quantizer | None:
    """Builds the quantizer that a Larq configuration names.

    Args:
        spec: ``"ste_sign"``, or ``{"class_name": "SteSign", "config": {"clip_value": 1.0}}``, or
            None for none.
        constraint: The layer's kernel_constraint. A ``weight_clip`` becomes the bound at which
            latent weights are clipped; without one they are left alone, as in Larq.

    Raises:
        RecipeError: If the quantizer, an argument or the constraint is unknown.
    """
    if spec is None:
        return None
    name, config = _parse(spec)
    name = _ALIASES.get(name, name)
    if name not in _QUANTIZERS:
        raise RecipeError(
            f"larq quantizer {name!r} is unknown{nearest(name, _QUANTIZERS)}; "
            f"known: {', '.join(_QUANTIZERS)}"
        )
    defaults, build = _QUANTIZERS[name]
    for argument in config:
        if argument not in defaults:
            raise RecipeError(
                f"larq quantizer {name!r}: argument {argument!r} is unknown"
                f"{nearest(argument, defaults)}; known: {', '.join(defaults) or 'none'}"
            )
    quantizer = build(**(defaults | config))
    quantizer.latent_clip = _clip_value(constraint)
    return quantizer


def larq_kernel(kernel: NDArray[Any], depthwise: bool = False) -> Tensor:
    """Reorders a Keras kernel to the ``weight`` of our layer.

    Shape: dense ``(I, O)`` to ``(O, I)``; convolution ``(kh, kw, I, O)`` to ``(O, I, kh, kw)``;
    depthwise ``(kh, kw, C, m)`` to ``(C * m, 1, kh, kw)``.
    """
    if kernel.ndim not in (2, 4):
        raise RecipeError(
            f"larq kernel: got {kernel.ndim} axes, expected 2 (dense) or 4 (convolution)"
        )
    if kernel.ndim == 2:
        ordered = kernel.T
    elif depthwise:
        ordered = kernel.transpose(2, 3, 0, 1).reshape(-1, 1, *kernel.shape[:2])
    else:
        ordered = kernel.transpose(3, 2, 0, 1)
    return torch.from_numpy(np.ascontiguousarray(ordered, dtype=np.float32))


def _parse(spec: str | Config) -> tuple[str, dict[str, Any]]:
    """Returns the name without its package and the arguments."""
    if isinstance(spec, str):
        return spec, {}
    if not isinstance(spec, Mapping) or not isinstance(spec.get("class_name"), str):
        raise RecipeError(
            f"larq: got {spec!r}, expected a name or a dict with class_name and config"
        )
    return spec["class_name"].rpartition(">")[2], dict(spec.get("config") or {})


def _clip_value(constraint: str | Config | None) -> float | None:
    if constraint is None:
        return None
    name, config = _parse(constraint)
    if name not in _CLIPS or config.keys() - {"clip_value"}:
        raise RecipeError(
            f"larq constraint: got {constraint!r}, expected weight_clip, with or without clip_value"
        )
    return float(config.get("clip_value", 1.0))


def _weight_quantizer(config: Config, kind: str) -> Quantizer | None:
    return larq_quantizer(config.get(f"{kind}_quantizer"), config.get(f"{kind}_constraint"))


def _pad_value(config: Config) -> int:
    value = config.get("pad_values", 0)
    if value not in (-1, 0, 1):
        raise RecipeError(
            f"larq layer {config.get('name', '')!r}: got pad_values {value}, expected -1, 0 or 1"
        )
    return int(value)


class _Builder:
    """Appends one torch layer after the other, knowing the shape between them."""

    def __init__(self, input_shape: Sequence[int]) -> None:
        self.shape = tuple(input_shape)  # channels first
        self.layers: list[nn.Module] = []

    def add(self, kind: str, config: Config) -> None:
        if kind not in _LAYERS:
            raise RecipeError(
                f"larq layer {kind!r} is unknown{nearest(kind, _LAYERS)}; "
                f"known: {', '.join(_LAYERS)}"
            )
        _LAYERS[kind](self, config)

    def conv(self, config: Config, depthwise: bool = False) -> None:
        channels, *sides = self.shape
        kernel, strides = _pair(config["kernel_size"]), _pair(config.get("strides", 1))
        dilation = _pair(config.get("dilation_rate", 1))
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        padding = _padding(config, sides, extents, strides)
        groups = channels if depthwise else config.get("groups", 1)
        filters = config.get("depth_multiplier", 1) * channels if depthwise else config["filters"]
        kind = "depthwise" if depthwise else "kernel"
        self.layers.append(
            QuantConv2d(
                channels,
                filters,
                kernel,
                strides,
                padding,
                dilation,
                groups,
                config.get("use_bias", True),
                input_quantizer=larq_quantizer(config.get("input_quantizer")),
                weight_quantizer=_weight_quantizer(config, kind),
                pad_value=_pad_value(config),
            )
        )
        self.shape = (filters, *map(_out, sides, kernel, strides, padding, dilation))
        self.activation(config)

    def depthwise(self, config: Config) -> None:
        self.conv(config, depthwise=True)

    def dense(self, config: Config) -> None:
        if len(self.shape) != 1:
            raise RecipeError(
                f"larq layer {config.get('name', '')!r}: got a map of shape {self.shape}, expected "
                "features; put a Flatten or GlobalAveragePooling2D before it"
            )
        self.layers.append(
            QuantLinear(
                self.shape[-1],
                config["units"],
                config.get("use_bias", True),
                input_quantizer=larq_quantizer(config.get("input_quantizer")),
                weight_quantizer=_weight_quantizer(config, "kernel"),
            )
        )
        self.shape = (config["units"],)
        self.activation(config)

    def norm(self, config: Config) -> None:
        kind = nn.BatchNorm2d if len(self.shape) == 3 else nn.BatchNorm1d
        # Keras keeps the old average's share, torch the new value's.
        momentum = 1 - config.get("momentum", 0.99)
        layer = kind(self.shape[0], eps=config.get("epsilon", 1e-3), momentum=momentum)
        for part, used in ((layer.weight, "scale"), (layer.bias, "center")):
            part.requires_grad_(config.get(used, True))
        self.layers.append(layer)

    def pool(self, config: Config, mean: bool = False) -> None:
        window = _pair(config.get("pool_size", 2))
        strides = _pair(config.get("strides") or window)
        channels, *sides = self.shape
        padding = _padding(config, sides, window, strides)
        if mean:
            self.layers.append(nn.AvgPool2d(window, strides, padding, count_include_pad=False))
        else:
            self.layers.append(nn.MaxPool2d(window, strides, padding))
        self.shape = (channels, *map(_out, sides, window, strides, padding, (1, 1)))

    def mean_pool(self, config: Config) -> None:
        self.pool(config, mean=True)

    def global_pool(self, config: Config) -> None:
        self.layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        self.shape = self.shape[:1]

    def flatten(self, config: Config) -> None:
        self.layers.append(nn.Flatten())
        self.shape = (math.prod(self.shape),)

    def dropout(self, config: Config) -> None:
        self.layers.append(nn.Dropout(config["rate"]))

    def activation(self, config: Config) -> None:
        name = config.get("activation") or "linear"
        if name not in _ACTIVATIONS:
            raise RecipeError(
                f"larq activation {name!r} is unknown; known: {', '.join(_ACTIVATIONS)}"
            )
        if (kind := _ACTIVATIONS[name]) is not None:
            self.layers.append(kind())

    def skip(self, config: Config) -> None:
        """Adds nothing: the input layer, or a softmax, which the loss contains."""


# A softmax at the end is dropped: training and the deployed file work on logits.
_ACTIVATIONS: dict[str, type[nn.Module] | None] = {
    "linear": None,
    "softmax": None,
    "relu": nn.ReLU,
    "hard_tanh": nn.Hardtanh,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
}
_LAYERS: dict[str, Callable[[_Builder, Config], None]] = {
    "QuantConv2D": _Builder.conv,
    "QuantDepthwiseConv2D": _Builder.depthwise,
    "QuantDense": _Builder.dense,
    "Conv2D": _Builder.conv,
    "DepthwiseConv2D": _Builder.depthwise,
    "Dense": _Builder.dense,
    "BatchNormalization": _Builder.norm,
    "MaxPooling2D": _Builder.pool,
    "AveragePooling2D": _Builder.mean_pool,
    "GlobalAveragePooling2D": _Builder.global_pool,
    "Flatten": _Builder.flatten,
    "Dropout": _Builder.dropout,
    "Activation": _Builder.activation,
    "InputLayer": _Builder.skip,
}


def larq_sequential(config: Config, input_shape: Sequence[int]) -> nn.Sequential:
    """Builds the network of a sequential Keras configuration with Larq layers.

    Args:
        config: What ``model.get_config()`` gives, or its ``layers`` in a dictionary.
        input_shape: Channels first: ``(C, H, W)``.

    Returns:
        The layers with fresh weights. A final softmax is left out: the loss contains it.

    Raises:
        RecipeError: If a layer, quantizer or option has no counterpart.
    """
    builder = _Builder(input_shape)
    for layer in config["layers"]:
        builder.add(layer["class_name"].rpartition(">")[2], layer["config"])
    return nn.Sequential(*builder.layers)


def _pair(value: int | Sequence[int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def _padding(
    config: Config, sides: Sequence[int], extents: Sequence[int], strides: Sequence[int]
) -> tuple[int, int]:
    """Returns the pixels to add on both sides, vertically and horizontally, for Keras' rule."""
    if config.get("padding", "valid") == "valid":
        return (0, 0)
    totals = [
        max((math.ceil(side / stride) - 1) * stride + extent - side, 0)
        for side, extent, stride in zip(sides, extents, strides, strict=True)
    ]
    if any(total % 2 for total in totals):
        raise RecipeError(
            f"larq layer {config.get('name', '')!r}: padding 'same' of a map {tuple(sides)} with a "
            f"window {tuple(extents)} and strides {tuple(strides)} adds more pixels after than "
            "before; torch pads both sides alike, change the geometry"
        )
    return (totals[0] // 2, totals[1] // 2)


def _out(side: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    return (side + 2 * padding - (kernel - 1) * dilation - 1) // stride + 1
