"""Loads checkpoints of BinaryNet.pytorch and of plain torch networks trained like it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bnndeploy.errors import CheckpointError
from bnndeploy.layers import QuantLayer, RPReLU

# Where checkpoints of the field put the state_dict, and the prefix that DataParallel adds.
_WRAPPERS = ("state_dict", "model_state_dict", "model")
_PARALLEL = "module."
# How copies of the code name the real weight that they kept beside the signs.
_ORIGINALS = ("weight.org", "weight_org", "org")
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_PRODUCTS = (nn.Linear, nn.Conv1d, nn.Conv2d)
# A bias cannot pass these on its way into a batch-norm; poolings and dropout let it.
_ACTIVATIONS = (nn.ReLU, nn.PReLU, nn.LeakyReLU, nn.Hardtanh, nn.Tanh, nn.Sigmoid, RPReLU)
_STATISTICS = ("running_mean", "running_var")


@dataclass(frozen=True)
class Migration:
    """Tells what a checkpoint gave.

    Attributes:
        layers: Layer of the network to layer of the checkpoint.
        from_originals: Layers whose latent weights came from an ``org`` tensor.
        signs_only: Binary layers that got nothing but signs: right for evaluation and export,
            but training goes on from latents at the clip bound.
        folded_biases: Layers whose bias went into the mean of the batch-norm that follows.
        zero_weights: Binary layers to the number of their weights that are exactly 0, which
            BinaryNet.pytorch takes as 0 and bnndeploy as +1.
        left_out: Layers of the checkpoint that the network does not have.
    """

    layers: dict[str, str] = field(default_factory=dict)
    from_originals: list[str] = field(default_factory=list)
    signs_only: list[str] = field(default_factory=list)
    folded_biases: list[str] = field(default_factory=list)
    zero_weights: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def read_checkpoint(path: Path | str) -> dict[str, Any]:
    """Reads a checkpoint file of torch without running any code that it may hold.

    Raises:
        CheckpointError: If the file is missing, damaged, or holds more than tensors.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise CheckpointError(
            f"checkpoint {path}: is no file of torch, or holds Python objects besides tensors; "
            "save model.state_dict() where it was trained"
        ) from None
    except (OSError, RuntimeError, EOFError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise CheckpointError(
            f"checkpoint {path}: cannot be read ({reason}), expected a file written by torch.save"
        ) from None
    if not isinstance(content, dict):
        raise CheckpointError(
            f"checkpoint {path}: got a {type(content).__name__}, expected a state_dict"
        )
    return content


def load_binarynet(module: nn.Module, checkpoint: Mapping[str, Any]) -> Migration:
    """Copies the weights of a BinaryNet.pytorch network into ``module``.

    ``checkpoint`` is a state_dict or a dict that holds one. Its binary weights may be real
    latents, signs, or signs with the latents in ``org`` tensors (entries, or attributes of the
    tensors, as the code keeps them). Layers are matched by name if every layer of ``module`` has
    its name in the checkpoint, otherwise in order: products to products, batch-norms to
    batch-norms. A bias that ``module`` has no place for moves into the following batch-norm:
    ``bn(x + b)`` is ``bn(x)`` with the mean lowered by b. ``module`` changes only if everything
    fits.

    Raises:
        CheckpointError: If layers are missing or have other shapes.
    """
    source = _layers_of(_state_dict(checkpoint))
    target = {
        name: part for name, part in module.named_modules() if isinstance(part, _NORMS + _PRODUCTS)
    }
    report = Migration(_match(target, source))
    report.left_out.extend(name for name in source if name not in report.layers.values())
    staged: list[tuple[Tensor, Tensor]] = []
    pending: tuple[str, Tensor] | None = None
    for name, part in module.named_modules():
        if isinstance(part, _ACTIVATIONS):
            _refuse_pending(pending)
        if name not in target:
            continue
        entries = source[report.layers[name]]
        if isinstance(part, _NORMS):
            shift = None
            if pending is not None:
                shift = pending[1]
                report.folded_biases.append(pending[0])
                pending = None
            staged += _norm_copies(name, part, entries, shift)
        else:
            _refuse_pending(pending)
            staged += _weight_copies(name, part, entries, report)
            pending = _unplaced_bias(name, part, entries)
    _refuse_pending(pending)
    with torch.no_grad():
        for destination, value in staged:
            destination.copy_(value)
    return report


def _state_dict(checkpoint: Mapping[str, Any]) -> dict[str, Tensor]:
    state: Mapping[str, Any] = checkpoint
    for wrapper in _WRAPPERS:
        if isinstance(checkpoint.get(wrapper), Mapping):
            state = checkpoint[wrapper]
            break
    tensors = {
        key.removeprefix(_PARALLEL): value
        for key, value in state.items()
        if isinstance(value, Tensor)
    }
    if not tensors:
        raise CheckpointError(
            "checkpoint: got no tensors, expected a state_dict or a dict with "
            f"one under {' or '.join(_WRAPPERS)}"
        )
    return tensors


def _layers_of(state: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Groups the entries by layer: ``{"fc1": {"weight": …, "org": …, "bias": …}}``."""
    layers: dict[str, dict[str, Tensor]] = {}
    for key, value in state.items():
        original = next((end for end in _ORIGINALS if key.endswith(f".{end}")), None)
        if original is not None:
            layers.setdefault(key.removesuffix(f".{original}"), {})["org"] = value
            continue
        name, _, leaf = key.rpartition(".")
        entries = layers.setdefault(name, {})
        entries[leaf] = value
        kept = getattr(value, "org", None)
        if leaf == "weight" and isinstance(kept, Tensor):
            entries["org"] = kept
    return {name: entries for name, entries in layers.items() if _is_layer(entries)}


def _is_layer(entries: Mapping[str, Tensor]) -> bool:
    return "running_mean" in entries or _is_product(entries)


def _is_product(entries: Mapping[str, Tensor]) -> bool:
    return "weight" in entries and entries["weight"].ndim >= 2


def _match(
    target: Mapping[str, nn.Module], source: Mapping[str, Mapping[str, Tensor]]
) -> dict[str, str]:
    if all(
        name in source and _is_product(source[name]) == isinstance(part, _PRODUCTS)
        for name, part in target.items()
    ):
        return {name: name for name in target}
    matched: dict[str, str] = {}
    for kind, wanted in (("products", True), ("batch-norms", False)):
        ours = [n for n, part in target.items() if isinstance(part, _PRODUCTS) == wanted]
        theirs = [n for n, entries in source.items() if _is_product(entries) == wanted]
        if len(ours) != len(theirs):
            raise CheckpointError(
                f"checkpoint: got {len(theirs)} {kind} ({', '.join(theirs) or 'none'}), expected "
                f"{len(ours)} ({', '.join(ours) or 'none'}); build the network with the layers "
                "of the checkpoint"
            )
        matched |= dict(zip(ours, theirs, strict=True))
    return {name: matched[name] for name in target}


def _weight_copies(
    name: str, part: nn.Module, entries: Mapping[str, Tensor], report: Migration
) -> Iterator[tuple[Tensor, Tensor]]:
    weight, bias = part.weight, part.bias
    assert isinstance(weight, Tensor)
    latent = entries.get("org", entries["weight"]).float()
    _check_shape(f"{name}.weight", weight, latent)
    if isinstance(part, QuantLayer) and part.weight_quantizer is not None:
        if "org" in entries:
            report.from_originals.append(name)
        elif bool(((latent.abs() == 1) | (latent == 0)).all()):
            report.signs_only.append(name)
        zeros = int((latent == 0).sum())
        if zeros:
            report.zero_weights[name] = zeros
    yield weight, latent
    if isinstance(bias, Tensor):
        value = entries.get("bias", torch.zeros_like(bias))
        _check_shape(f"{name}.bias", bias, value)
        yield bias, value


def _unplaced_bias(
    name: str, part: nn.Module, entries: Mapping[str, Tensor]
) -> tuple[str, Tensor] | None:
    if part.bias is not None or "bias" not in entries:
        return None
    return name, entries["bias"].float()


def _refuse_pending(pending: tuple[str, Tensor] | None) -> None:
    if pending is not None:
        raise CheckpointError(
            f"checkpoint: layer {pending[0]} has a bias, and the network has neither a bias there "
            "nor a batch-norm right after it; build the layer with bias=True"
        )


def _norm_copies(
    name: str, part: nn.Module, entries: Mapping[str, Tensor], shift: Tensor | None
) -> Iterator[tuple[Tensor, Tensor]]:
    values = dict(entries)
    if shift is not None:
        _check_shape(f"{name}.running_mean", values["running_mean"], shift)
        values["running_mean"] = values["running_mean"].float() - shift
    for leaf in _STATISTICS:
        yield _checked(name, part, leaf, values[leaf])
    if part.weight is not None:
        yield _checked(
            name, part, "weight", values.get("weight", torch.ones_like(values["running_mean"]))
        )
        yield _checked(
            name, part, "bias", values.get("bias", torch.zeros_like(values["running_mean"]))
        )
    elif "weight" in values:
        raise CheckpointError(
            f"checkpoint: batch-norm {name} has a weight, the network's has none; build it with "
            "affine=True"
        )
    if "num_batches_tracked" in values and part.num_batches_tracked is not None:
        yield _checked(name, part, "num_batches_tracked", values["num_batches_tracked"])


def _checked(name: str, part: nn.Module, leaf: str, value: Tensor) -> tuple[Tensor, Tensor]:
    destination = getattr(part, leaf)
    _check_shape(f"{name}.{leaf}", destination, value)
    return destination, value


def _check_shape(subject: str, ours: Tensor, theirs: Tensor) -> None:
    if ours.shape != theirs.shape:
        raise CheckpointError(
            f"checkpoint: {subject} has the shape {tuple(theirs.shape)}, expected "
            f"{tuple(ours.shape)}; build the network with the widths of the checkpoint"
        )
