"""BinaryNet.pytorch: its two layers, and a reader of its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from bnndeploy.errors import CheckpointError
from bnndeploy.layers._base import QuantLayer
from bnndeploy.layers.quant_conv2d import QuantConv2d
from bnndeploy.layers.quant_linear import QuantLinear
from bnndeploy.layers.rprelu import RPReLU
from bnndeploy.quantizers import Quantizer, SteSign

# Inputs of this many features or channels are taken for images, which stay real.
_IMAGE_FEATURES = 784
_IMAGE_CHANNELS = 3
_ORG_SUFFIXES = (".org", "_org")
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
# A bias cannot pass these on its way into a batch-norm; poolings and dropout let it.
_BENDS = (nn.ReLU, nn.PReLU, nn.LeakyReLU, nn.Hardtanh, nn.Tanh, nn.Sigmoid, RPReLU, Quantizer)

Group = dict[str, Tensor]


class BinarizeLinear(QuantLinear):
    """Stands in for the layer of the same name: binary weights, binary inputs but for images.

    An input of 784 features is taken for an MNIST image and stays real, as it was there.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        image = in_features == _IMAGE_FEATURES
        super().__init__(
            in_features,
            out_features,
            bias,
            input_quantizer=None if image else SteSign(gate="identity"),
            weight_quantizer=SteSign(gate="identity"),
        )


class BinarizeConv2d(QuantConv2d):
    """Stands in for the layer of the same name: binary weights, binary inputs but for images.

    An input of 3 channels is taken for a colour image and stays real, as it was there.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        image = in_channels == _IMAGE_CHANNELS
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            input_quantizer=None if image else SteSign(gate="identity"),
            weight_quantizer=SteSign(gate="identity"),
        )


@dataclass
class LoadReport:
    """What was found in a checkpoint.

    Attributes:
        pairs: Path in the checkpoint and path in the network of each layer, in order.
        from_org: Layers whose latent weights came from ``org`` tensors.
        signs_only: Layers whose weights are all -1 or +1: their latents are lost, and training
            goes on from signs.
        zeros: Weights that are exactly 0; their code was 0 there and is +1 here.
        folded: Batch-norms that took up the bias of the layer before them.
        unused: Batch-norms that the checkpoint has and the network lacks: the last block of
            ``resnet_binary`` stores one that it never runs.
    """

    pairs: list[tuple[str, str]] = field(default_factory=list)
    from_org: list[str] = field(default_factory=list)
    signs_only: list[str] = field(default_factory=list)
    zeros: int = 0
    folded: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


@torch.no_grad()
def load_binarynet(module: nn.Module, checkpoint: Mapping[str, Any]) -> LoadReport:
    """Loads the weights of a BinaryNet.pytorch checkpoint.

    Takes what ``read_checkpoint`` gives: a state_dict, or the training script's dictionary that
    holds one. Real weights become the latents; where there are ``org`` tensors
    (``fc1.weight.org`` or ``fc1.weight_org``) these do.

    Layers are matched by path if all paths fit, otherwise one after the other, which wants the
    same layers in the same order. A bias that the network lacks goes into the running mean of
    the batch-norm that follows. A batch-norm without scale and shift gets 1 and 0.

    Raises:
        CheckpointError: If the checkpoint does not fit the network, which is then unchanged.
    """
    theirs, latents = _groups(checkpoint)
    ours = {
        path: part
        for path, part in module.named_modules()
        if not isinstance(part, Quantizer) and list(part.parameters(recurse=False))
    }
    pairs = _match(theirs, ours)
    origin = {path: their_path for their_path, path in pairs}
    report = LoadReport(pairs, unused=sorted(set(theirs) - set(origin.values())))
    barriers = _barriers(module)
    values: list[tuple[Tensor, Tensor]] = []
    pending: tuple[str, Tensor] | None = None  # a layer and its bias, looking for a batch-norm
    for path, part in module.named_modules():
        if path in barriers or (path in origin and not isinstance(part, _NORMS)):
            _refuse(pending)
        if path not in origin:
            continue
        group = dict(theirs[origin[path]])
        if isinstance(part, _NORMS):
            _complete_norm(path, part, group, pending, report)
            pending = None
        elif isinstance(part, QuantLayer) and part.weight_quantizer is not None:
            _take_latent(path, group, latents.get(origin[path]), report)
        if "bias" in group and getattr(part, "bias", None) is None:
            pending = (path, group.pop("bias"))
        values += _values(origin[path], path, part, group)
    _refuse(pending)
    for target, value in values:
        target.copy_(value)
    return report


def _barriers(module: nn.Module) -> set[str]:
    """Returns the paths of the activations, but for the quantizers inside layers."""
    inner = {
        id(part)
        for layer in module.modules()
        if isinstance(layer, QuantLayer)
        for part in layer.modules()
    }
    return {
        path
        for path, part in module.named_modules()
        if isinstance(part, _BENDS) and id(part) not in inner
    }


def _complete_norm(
    path: str,
    part: nn.BatchNorm1d | nn.BatchNorm2d,
    group: Group,
    pending: tuple[str, Tensor] | None,
    report: LoadReport,
) -> None:
    """Puts the bias before it into the mean, and scale and shift where there are none."""
    if pending is not None and "running_mean" in group:
        group["running_mean"] = group["running_mean"] - pending[1]
        report.folded.append(path)
    group.setdefault("weight", torch.ones_like(part.weight))
    group.setdefault("bias", torch.zeros_like(part.bias))


def _take_latent(path: str, group: Group, org: Tensor | None, report: LoadReport) -> None:
    if org is not None:
        group["weight"] = org
        report.from_org.append(path)
    elif "weight" in group and bool((group["weight"].abs() == 1).all()):
        report.signs_only.append(path)
    report.zeros += int((group["weight"] == 0).sum()) if "weight" in group else 0


def _refuse(pending: tuple[str, Tensor] | None) -> None:
    if pending is not None:
        raise CheckpointError(
            f"checkpoint: it has a bias for {pending[0]!r}, which has none, nor a batch-norm right "
            "behind it that could take it up; build the layer with bias=True"
        )


def _groups(checkpoint: Mapping[str, Any]) -> tuple[dict[str, Group], dict[str, Tensor]]:
    """Returns the tensors of each layer by name, and the org tensor of each weight."""
    state = checkpoint.get("state_dict", checkpoint)
    theirs: dict[str, Group] = {}
    latents: dict[str, Tensor] = {}
    for key, value in state.items():
        if not isinstance(value, Tensor):
            raise CheckpointError(
                f"checkpoint: {key!r} is a {type(value).__name__}, expected a state_dict of "
                "tensors or a dictionary with one under 'state_dict'"
            )
        # DataParallel, around the network or a part of it, puts "module" into the path.
        path = ".".join(step for step in key.split(".") if step != "module")
        org = next((suffix for suffix in _ORG_SUFFIXES if path.endswith(suffix)), None)
        layer, _, name = path.removesuffix(org or "").rpartition(".")
        if org is None and name != "num_batches_tracked":
            theirs.setdefault(layer, {})[name] = value
            if name == "weight" and isinstance(kept := getattr(value, "org", None), Tensor):
                latents[layer] = kept
            value = getattr(value, "org", None)
        if name == "weight" and isinstance(value, Tensor):
            latents[layer] = value
    return theirs, latents


def _match(theirs: Mapping[str, Group], ours: Mapping[str, nn.Module]) -> list[tuple[str, str]]:
    surplus = set(theirs) - set(ours)
    if set(ours) <= set(theirs) and all("running_mean" in theirs[path] for path in surplus):
        return [(path, path) for path in ours]
    if len(theirs) != len(ours):
        raise CheckpointError(
            f"checkpoint: got {len(theirs)} layers ({', '.join(theirs)}), expected "
            f"{len(ours)} ({', '.join(ours)}); build the network of the checkpoint"
        )
    return list(zip(theirs, ours, strict=True))


def _values(
    their_path: str, path: str, part: nn.Module, group: Group
) -> list[tuple[Tensor, Tensor]]:
    """Returns each tensor of the layer with the value that it takes."""
    targets = {
        name: tensor
        for name, tensor in part.state_dict().items()
        if "." not in name and name != "num_batches_tracked"
    }
    for name in sorted(set(targets) | set(group)):
        there, here = (
            tuple(tensors[name].shape) if name in tensors else "nothing"
            for tensors in (group, targets)
        )
        if there != here:
            raise CheckpointError(
                f"checkpoint: {name} of {their_path!r} is {there}, expected {here} for "
                f"{path!r}; build the network of the checkpoint"
            )
    return [(tensor, group[name]) for name, tensor in targets.items()]
