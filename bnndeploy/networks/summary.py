"""Counts what a network stores and computes, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn

from bnndeploy.errors import RecipeError
from bnndeploy.layers import QuantLayer
from bnndeploy.quantizers import Quantizer

WORD_BITS = 32
BYTES_PER_FLOAT = 4
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


@dataclass(frozen=True)
class Counts:
    """What a layer or a network stores and computes for one input.

    Attributes:
        binary_parameters: Weights of one bit.
        ternary_parameters: Weights of three levels, stored in two bits.
        float_parameters: Everything else, with two for each channel of a batch-norm: the scale
            and the shift that it folds into.
        binary_macs: Multiply-accumulates of 1-bit inputs with 1-bit weights.
        ternary_macs: Those with ternary weights, whatever the input.
        float_macs: All others, also those of real inputs with 1-bit weights.
        packed_bytes: Size of the parameters in a packed file, bits padded to words
            (``docs/bit_layout.md``), floats of four bytes.
    """

    binary_parameters: int = 0
    ternary_parameters: int = 0
    float_parameters: int = 0
    binary_macs: int = 0
    ternary_macs: int = 0
    float_macs: int = 0
    packed_bytes: int = 0

    @property
    def parameters(self) -> int:
        return self.binary_parameters + self.ternary_parameters + self.float_parameters

    @property
    def macs(self) -> int:
        return self.binary_macs + self.ternary_macs + self.float_macs

    @property
    def float32_bytes(self) -> int:
        """Size of the same parameters as 32-bit floats."""
        return BYTES_PER_FLOAT * self.parameters

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Counts)))


@dataclass(frozen=True)
class LayerSummary:
    """One layer: the name of its module, its class, and the shape it gives for one input."""

    name: str
    kind: str
    output_shape: tuple[int, ...]
    counts: Counts


@dataclass(frozen=True)
class Summary:
    """The layers in the order in which they ran, and their sum."""

    input_shape: tuple[int, ...]
    layers: tuple[LayerSummary, ...]

    @property
    def total(self) -> Counts:
        return sum((layer.counts for layer in self.layers), Counts())

    def as_dict(self) -> dict[str, Any]:
        """Returns plain numbers, lists and dicts, for JSON."""
        return {
            "input_shape": list(self.input_shape),
            "layers": [
                {
                    "name": layer.name,
                    "kind": layer.kind,
                    "output_shape": list(layer.output_shape),
                    **asdict(layer.counts),
                }
                for layer in self.layers
            ],
            "total": asdict(self.total),
        }


def summary(module: nn.Module, input_shape: Sequence[int]) -> Summary:
    """Runs ``module`` on the meta device and counts every layer that ran.

    Nothing is computed and no memory is taken for values, so any size is cheap; the module may
    live on any device, the meta device too. Its mode and parameters stay as they are.

    Args:
        module: A network of bnndeploy or any torch module with one input.
        input_shape: Shape of one input, without the batch.

    Raises:
        RecipeError: If the network does not take an input of this shape.
    """
    with _recorded_outputs(module) as outputs:
        tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        on_meta = {name: tensor.detach().to("meta") for name, tensor in tensors.items()}
        example = torch.empty(1, *input_shape, device="meta")
        try:
            with torch.no_grad():
                torch.func.functional_call(module, on_meta, (example,))
        except (RuntimeError, IndexError) as error:
            raise RecipeError(
                f"network: got an input of shape {tuple(input_shape)}, which it does not take "
                f"({error}); give the input_shape that it was built for"
            ) from error
    layers = [_describe(name, part, outputs[part]) for name, part in _layers(module, outputs)]
    return Summary(tuple(input_shape), tuple(layers))


@contextmanager
def _recorded_outputs(module: nn.Module) -> Iterator[dict[nn.Module, list[Tensor]]]:
    """Collects what each part gives, in eval mode; restores hooks and modes afterwards."""
    outputs: dict[nn.Module, list[Tensor]] = {}

    def record(part: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            outputs.setdefault(part, []).append(output)

    training = [part for part in module.modules() if part.training]
    hooks = [part.register_forward_hook(record) for part in module.modules()]
    module.eval()
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()
        for part in training:
            part.training = True


def _layers(
    module: nn.Module, outputs: dict[nn.Module, list[Tensor]]
) -> list[tuple[str, nn.Module]]:
    """Lists the parts that ran, have parameters of their own or no parts, and are no quantizer."""
    named = {part: name for name, part in module.named_modules()}
    inside = {
        part
        for layer in named
        if isinstance(layer, QuantLayer | Quantizer)
        for part in layer.modules()
        if part is not layer
    }
    return [
        (named[part], part)
        for part in outputs
        if part not in inside and not isinstance(part, nn.Identity) and _is_layer(part)
    ]


def _is_layer(part: nn.Module) -> bool:
    own = next(part.parameters(recurse=False), None)
    return isinstance(part, QuantLayer) or own is not None or next(part.children(), None) is None


def _describe(name: str, part: nn.Module, outputs: list[Tensor]) -> LayerSummary:
    counts = _parameters(part) + sum((_macs(part, y) for y in outputs), Counts())
    return LayerSummary(name, type(part).__name__, tuple(outputs[0].shape[1:]), counts)


def _parameters(part: nn.Module) -> Counts:
    if isinstance(part, _NORMS):
        return _floats(2 * part.num_features)
    # A quantizer belongs to the layer that uses it; other parts are rows of their own.
    own = part.parameters(recurse=isinstance(part, QuantLayer | Quantizer))
    total = sum(parameter.numel() for parameter in own)
    bits = _weight_bits(part)
    if bits is None or not isinstance(part, QuantLayer):
        return _floats(total)
    weight = part.weight
    rest = _floats(total - weight.numel())
    outputs, depth = weight.shape[:2]
    words = outputs * weight[0, 0].numel() * math.ceil(depth / WORD_BITS)
    packed = bits * words * WORD_BITS // 8
    if bits == 1:
        return rest + Counts(binary_parameters=weight.numel(), packed_bytes=packed)
    return rest + Counts(ternary_parameters=weight.numel(), packed_bytes=packed)


def _floats(count: int) -> Counts:
    return Counts(float_parameters=count, packed_bytes=BYTES_PER_FLOAT * count)


def _macs(part: nn.Module, output: Tensor) -> Counts:
    """Counts one call: every weight meets every position of its output channel's map."""
    weight = getattr(part, "weight", None)
    if isinstance(part, nn.Linear):
        channels = output.shape[-1]
    elif isinstance(part, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        channels = output.shape[1]
    else:
        return Counts()
    assert isinstance(weight, Tensor)
    macs = weight.numel() * (output.numel() // channels)
    bits = _weight_bits(part)
    if bits == 2:
        return Counts(ternary_macs=macs)
    if bits == 1 and isinstance(part, QuantLayer) and _bits(part.input_quantizer) == 1:
        return Counts(binary_macs=macs)
    return Counts(float_macs=macs)


def _weight_bits(part: nn.Module) -> int | None:
    """Returns 1 for binary, 2 for ternary weights, None for weights that stay floats."""
    return _bits(part.weight_quantizer) if isinstance(part, QuantLayer) else None


def _bits(quantizer: Quantizer | None) -> int | None:
    return None if quantizer is None else quantizer.bits
