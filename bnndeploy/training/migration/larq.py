"""Builds our quantizers and layers from the configurations of Larq."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.quantizers import Quantizer, get
from bnndeploy.registry import nearest

Config = Mapping[str, Any]


def quantizer_from_larq(config: str | Config | None, constraint: Any = None) -> Quantizer | None:
    """Builds our quantizer for a Larq one, given by its name or by its serialised configuration.

    ``constraint`` is the kernel_constraint of the layer: a ``weight_clip`` becomes the bound at
    which latent weights are clipped, None leaves them alone, as in Larq.

    Raises:
        RecipeError: If the quantizer, an argument or the constraint is unknown.
    """
    if config is None:
        return None
    name, arguments = _parse(config, "quantizer")
    key = _plain(name)
    if key not in _QUANTIZERS:
        raise RecipeError(
            f"larq quantizer {name!r} is unknown{nearest(key, _QUANTIZERS)}; known: "
            f"{', '.join(sorted(_QUANTIZERS))}"
        )
    defaults, build = _QUANTIZERS[key]
    unknown = arguments.keys() - defaults.keys()
    if unknown:
        argument = min(unknown)
        raise RecipeError(
            f"larq quantizer {name!r}: argument {argument!r} is unknown"
            f"{nearest(argument, defaults)}; known: {', '.join(defaults) or 'none'}"
        )
    quantizer = build(**(defaults | arguments))
    quantizer.latent_clip = _clip_value(constraint)
    return quantizer


def layer_from_larq(config: Config, inputs: int) -> nn.Module:
    """Builds our layer for a serialised QuantDense, QuantConv2D or QuantDepthwiseConv2D.

    Args:
        config: ``{"class_name": …, "config": {…}}`` as Keras writes it; missing entries have
            Larq's defaults.
        inputs: Features or channels that the layer reads.

    Raises:
        RecipeError: If the layer or a setting of it cannot be expressed.
    """
    name, settings = _parse(config, "layer")
    plain = _plain(name).replace("_", "")
    if plain not in _LAYERS:
        raise RecipeError(
            f"larq layer {name!r} is unknown; known: QuantDense, QuantConv2D, QuantDepthwiseConv2D"
        )
    activation = settings.get("activation")
    if activation not in (None, "linear"):
        raise RecipeError(
            f"larq layer {name!r}: got activation {activation!r}, expected none; add it as a "
            "module of its own, before the batch-norm"
        )
    return _LAYERS[plain](settings, inputs)


def kernel_from_larq(kernel: NDArray[Any], depthwise: bool = False) -> Tensor:
    """Reorders a Keras kernel to ours.

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


def _parse(config: str | Config, kind: str) -> tuple[str, dict[str, Any]]:
    if isinstance(config, str):
        return config, {}
    if not isinstance(config, Mapping) or not isinstance(config.get("class_name"), str):
        raise RecipeError(
            f"larq {kind}: got {config!r}, expected a name or a dict with class_name and config"
        )
    return config["class_name"], dict(config.get("config") or {})


def _plain(name: str) -> str:
    """Brings ``"Larq>SteSign"``, ``"SteSign"`` and ``"ste_sign"`` to ``"ste_sign"``."""
    name = name.rpartition(">")[2]
    if name.lower().startswith("dorefa"):
        return "dorefa_quantizer"
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def _clip_value(constraint: Any) -> float | None:
    if constraint is None:
        return None
    name, arguments = _parse(constraint, "constraint")
    if _plain(name) != "weight_clip" or arguments.keys() - {"clip_value"}:
        raise RecipeError(
            f"larq constraint: got {constraint!r}, expected weight_clip, with or without clip_value"
        )
    return float(arguments.get("clip_value", 1.0))


def _ste_tern(
    threshold_value: float, ternary_weight_networks: bool, clip_value: float
) -> Quantizer:
    if ternary_weight_networks:
        if clip_value != 1:
            raise RecipeError(
                f"larq quantizer 'ste_tern': got clip_value {clip_value} with "
                "ternary_weight_networks, expected 1"
            )
        return get("twn", scaled=False)
    return get("ternary", threshold=threshold_value, clip=clip_value)


def _dorefa(k_bit: int, mode: str) -> Quantizer:
    modes = {"activations": "dorefa_activation", "weights": "dorefa_weight"}
    if mode not in modes:
        raise RecipeError(
            f"larq quantizer 'dorefa_quantizer': got mode {mode!r}, expected activations or weights"
        )
    return get(modes[mode], bits=k_bit)


# Larq's arguments with their defaults, and what builds ours from all of them.
_QUANTIZERS: dict[str, tuple[dict[str, Any], Callable[..., Quantizer]]] = {
    "ste_sign": ({"clip_value": 1.0}, lambda clip_value: get("ste_sign", clip=clip_value)),
    "approx_sign": ({}, lambda: get("approx_sign")),
    "swish_sign": ({"beta": 5.0}, lambda beta: get("swish_sign", beta=beta)),
    "magnitude_aware_sign": (
        {"clip_value": 1.0},
        lambda clip_value: get("magnitude_aware_sign", clip=clip_value),
    ),
    "ste_heaviside": (
        {"clip_value": 1.0},
        lambda clip_value: get("ste_heaviside", clip=clip_value),
    ),
    "ste_tern": (
        {"threshold_value": 0.05, "ternary_weight_networks": False, "clip_value": 1.0},
        _ste_tern,
    ),
    "dorefa_quantizer": ({"k_bit": 2, "mode": "activations"}, _dorefa),
    "no_op": ({"precision": 32}, lambda precision: get("no_op")),
}


def _dense(settings: Config, inputs: int) -> nn.Module:
    return QuantLinear(
        inputs,
        _required(settings, "units"),
        bias=settings.get("use_bias", True),
        **_quantizers(settings, "kernel"),
    )


def _convolution(settings: Config, inputs: int) -> nn.Module:
    return _conv2d(
        settings, inputs, _required(settings, "filters"), settings.get("groups", 1), "kernel"
    )


def _depthwise(settings: Config, inputs: int) -> nn.Module:
    outputs = inputs * settings.get("depth_multiplier", 1)
    return _conv2d(settings, inputs, outputs, inputs, "depthwise")


def _conv2d(settings: Config, inputs: int, outputs: int, groups: int, weight: str) -> nn.Module:
    kernel = _pair(_required(settings, "kernel_size"))
    strides = _pair(settings.get("strides", 1))
    dilation = _pair(settings.get("dilation_rate", 1))
    return QuantConv2d(
        inputs,
        outputs,
        kernel,
        strides,
        padding=_padding(settings.get("padding", "valid"), kernel, strides, dilation),
        dilation=dilation,
        groups=groups,
        bias=settings.get("use_bias", True),
        pad_value=_pad_value(settings.get("pad_values", 0.0)),
        **_quantizers(settings, weight),
    )


def _quantizers(settings: Config, weight: str) -> dict[str, Quantizer | None]:
    constraint = settings.get(f"{weight}_constraint")
    return {
        "input_quantizer": quantizer_from_larq(settings.get("input_quantizer")),
        "weight_quantizer": quantizer_from_larq(settings.get(f"{weight}_quantizer"), constraint),
    }


def _required(settings: Config, key: str) -> Any:
    if key not in settings:
        raise RecipeError(f"larq layer: {key!r} is missing, expected it in its config")
    return settings[key]


def _pair(value: int | Sequence[int]) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return int(first), int(second)


def _pad_value(value: float) -> int:
    if value not in (-1, 0, 1):
        raise RecipeError(f"larq layer: got pad_values {value}, expected -1, 0 or 1")
    return int(value)


def _padding(
    padding: str, kernel: tuple[int, int], strides: tuple[int, int], dilation: tuple[int, int]
) -> tuple[int, int]:
    if padding == "valid":
        return 0, 0
    reach = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if padding != "same" or strides != (1, 1) or any(r % 2 for r in reach):
        raise RecipeError(
            f"larq layer: got padding {padding!r} with kernel {kernel} and strides {strides}; "
            "TensorFlow pads such maps more on one side, expected valid, or same with an odd "
            "kernel and strides of 1"
        )
    return reach[0] // 2, reach[1] // 2


_LAYERS: dict[str, Callable[[Config, int], nn.Module]] = {
    "quantdense": _dense,
    "quantconv2d": _convolution,
    "quantdepthwiseconv2d": _depthwise,
}
