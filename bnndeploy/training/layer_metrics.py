"""What happens inside the quantized layers: flips, zeros, scales, latent weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from bnndeploy.layers import QuantLayer
from bnndeploy.quantizers import WeightCodes

_PREFIX = "codes."
_BINS = 40


class LayerMetrics:
    """Follows the binary and ternary layers of a network from epoch to epoch.

    ``flips`` is the share of the codes that differ from those an epoch before: it falls as a
    network settles, and stays high where the learning rate is too large. ``zeros`` is the share
    of zero codes: near 1 the ternary threshold starves the layer.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._previous = {name: codes(layer) for name, layer in quantized_layers(module)}

    @torch.no_grad()
    def rows(self, epoch: int, step: int) -> list[dict[str, Any]]:
        """Returns one row of layers.csv for each layer."""
        found = []
        for name, layer in quantized_layers(self._module):
            weights = layer.weight_codes()
            now = weights.codes.to(torch.int8)
            w_pos, w_neg = _scales(weights)
            found.append(
                {
                    "epoch": epoch,
                    "step": step,
                    "layer": name,
                    "flips": float((now != self._previous[name]).double().mean()),
                    "zeros": float((now == 0).double().mean()),
                    "w_pos": w_pos,
                    "w_neg": w_neg,
                    "latent_mean": float(layer.weight.abs().mean()),
                }
            )
            self._previous[name] = now
        return found

    def pack(self) -> dict[str, Tensor]:
        """Returns the codes of the epoch before as named tensors."""
        return {f"{_PREFIX}{name}": value for name, value in self._previous.items()}

    def unpack(self, tensors: dict[str, Tensor]) -> None:
        device = next(self._module.parameters()).device
        for name in self._previous:
            self._previous[name] = tensors[f"{_PREFIX}{name}"].to(device)


def quantized_layers(module: nn.Module) -> Iterator[tuple[str, QuantLayer]]:
    """Yields the layers with binary or ternary weights, by name."""
    for name, layer in module.named_modules():
        quantizer = layer.weight_quantizer if isinstance(layer, QuantLayer) else None
        if isinstance(layer, QuantLayer) and quantizer is not None and quantizer.bits in (1, 2):
            yield name, layer


@torch.no_grad()
def codes(layer: QuantLayer) -> Tensor:
    """Returns the layer's codes as int8."""
    return layer.weight_codes().codes.to(torch.int8)


@torch.no_grad()
def latent_histograms(module: nn.Module) -> dict[str, dict[str, Any]]:
    """Counts the latent weights of each layer in 40 bins from their least to their greatest."""
    histograms = {}
    for name, layer in quantized_layers(module):
        weight = layer.weight.detach().float().cpu()
        low, high = float(weight.min()), float(weight.max())
        counts = torch.histc(weight, _BINS, low, high).long().tolist()
        histograms[name] = {"low": low, "high": high, "counts": counts}
    return histograms


def _scales(weights: WeightCodes) -> tuple[float, float]:
    if weights.w_pos is not None and weights.w_neg is not None:
        return float(weights.w_pos.mean()), float(weights.w_neg.mean())
    scale = 1.0 if weights.scale is None else float(weights.scale.mean())
    return scale, scale
