"""Finds what commonly spoils the training of a binary or ternary network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bnndeploy.layers._base import QuantLayer
from bnndeploy.quantizers import Quantizer

STARVED = 0.95
FEW_CHANNELS = 4
_POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d)


@dataclass(frozen=True)
class Finding:
    """One thing that is probably wrong, and what to do about it."""

    layer: str
    problem: str
    advice: str

    def __str__(self) -> str:
        return f"{self.layer}: {self.problem}; {self.advice}"


@torch.no_grad()
def check(module: nn.Module, example_input: Tensor | None = None) -> list[Finding]:
    """Looks for mistakes that training does not report by itself.

    Always: latent weights outside the gate of their quantizer, a binarised first layer, ternary
    weights that are nearly all zero. With an example input, which runs through the network
    once in eval mode: a sign that is the same everywhere, as behind a ReLU, and a max-pooling
    of signs.

    Args:
        module: The network; unchanged.
        example_input: A batch as in training; pooling by function calls is not seen.

    Returns:
        The findings, in the order of the layers.
    """
    findings = [
        finding
        for path, layer in module.named_modules()
        if isinstance(layer, QuantLayer)
        for finding in _check_weights(path, layer)
    ]
    findings += _check_first_layer(module)
    if example_input is not None:
        findings += _check_values(module, example_input)
    order = {path: index for index, (path, _) in enumerate(module.named_modules())}
    return sorted(findings, key=lambda finding: order[finding.layer])


def _check_weights(path: str, layer: QuantLayer) -> Iterator[Finding]:
    quantizer = layer.weight_quantizer
    if quantizer is None:
        return
    bound = quantizer.latent_clip
    outside = 0 if bound is None else int((layer.weight.abs() > bound).sum())
    if outside:
        yield Finding(
            path,
            f"{outside} of {layer.weight.numel()} latent weights lie outside [-{bound:g}, "
            f"{bound:g}], where they hardly move",
            "call clip_latents(model) after each optimiser step",
        )
    if quantizer.bits == 2:
        zeros = (layer.weight_codes().codes == 0).double().mean().item()
        if zeros > STARVED:
            yield Finding(
                path,
                f"{zeros:.1%} of the ternary weights are 0, so the layer passes little on",
                "lower the quantizer's threshold, or give ttq a sparsity target",
            )


def _check_first_layer(module: nn.Module) -> Iterator[Finding]:
    kinds = (nn.Linear, nn.Conv1d, nn.Conv2d)
    path, layer = next(
        ((path, part) for path, part in module.named_modules() if isinstance(part, kinds)),
        ("", None),
    )
    if not isinstance(layer, QuantLayer):
        return
    advice = "keep the first layer real"
    if layer.input_quantizer is not None and layer.input_quantizer.bits in (1, 2):
        yield Finding(path, "the first layer sees only the signs of the network's input", advice)
    quantizer = layer.weight_quantizer
    few = not isinstance(layer, nn.Linear) and layer.in_channels <= FEW_CHANNELS
    if few and quantizer is not None and quantizer.bits in (1, 2):
        yield Finding(
            path, f"the first layer has {quantizer.bits}-bit weights on few channels", advice
        )


def _check_values(module: nn.Module, example_input: Tensor) -> list[Finding]:
    findings: list[Finding] = []

    def after_sign(path: str) -> Callable[..., None]:
        def look(_: nn.Module, __: Any, y: Tensor) -> None:
            if y.numel() > 1 and bool((y == y.flatten()[0]).all()):
                findings.append(
                    Finding(
                        path,
                        f"all {y.numel()} quantized activations are {y.flatten()[0].item():+g}",
                        "binarise before the ReLU, or use ste_heaviside or rsign",
                    )
                )

        return look

    def before_pool(path: str) -> Callable[..., None]:
        def look(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            if bool((inputs[0].abs() == 1).all()):
                findings.append(
                    Finding(
                        path,
                        "max-pooling of signs: nearly every window has a +1",
                        "pool before batch-norm and sign: conv, max-pool, batch-norm, sign",
                    )
                )

        return look

    inner = {
        id(part)
        for outer in module.modules()
        if isinstance(outer, Quantizer)
        for part in outer.children()
    }
    with _in_eval(module), _hooks() as handles:
        for path, part in module.named_modules():
            if isinstance(part, Quantizer) and id(part) not in inner:
                handles.append(part.register_forward_hook(after_sign(path)))
            elif isinstance(part, _POOLS):
                handles.append(part.register_forward_pre_hook(before_pool(path)))
        module(example_input)
    return findings


@contextmanager
def _hooks() -> Iterator[list[Any]]:
    """Yields a list; the hooks put into it are removed in the end."""
    handles: list[Any] = []
    try:
        yield handles
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _in_eval(module: nn.Module) -> Iterator[None]:
    """Puts every part into eval mode and back into the mode that it had."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
