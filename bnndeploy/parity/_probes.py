"""Reads the trained module's binary activations at the values that the export marked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from bnndeploy.errors import CheckpointError, ModelFileError
from bnndeploy.ops.packing import pack_bits
from bnndeploy.parity._model import Array, Model


@dataclass(frozen=True)
class Probe:
    """Says that a value of the graph equals the output of a quantizer of the trained module."""

    value: str
    module: str
    kind: str  # "bits" or "float"
    channels: int

    def expected(self, output: Tensor, like: Array) -> Array:
        """Brings the quantizer's output into the layout of the graph's value ``like``.

        Bits are packed channels last. A quantizer behind a flatten gives ``(N, C * H * W)``
        where the graph keeps the map ``(N, H, W, words)``.
        """
        values = output.detach().cpu().numpy()
        if self.kind != "bits":
            return values.reshape(like.shape).astype(like.dtype)
        spatial = like.shape[1:-1]
        lead = (like.shape[0], self.channels, *spatial) if spatial else (-1, self.channels)
        return pack_bits(np.moveaxis(values.reshape(lead), 1, -1))


def read_probes(model: Model, module: nn.Module) -> dict[str, Probe]:
    """Returns the probes of the file by the value they describe.

    Raises:
        ModelFileError: If the file has none, so that nothing could be compared layer by layer.
        CheckpointError: If the module lacks a quantizer that the file was made from.
    """
    entries = model.metadata.values.get("probes")
    if not isinstance(entries, Mapping):
        raise ModelFileError(
            f"{model.path}: got no metadata bnndeploy.probes, expected which value is which "
            "activation of the trained module; export the run again"
        )
    known = dict(module.named_modules())
    probes = {}
    for value, entry in entries.items():
        try:
            probe = Probe(value, entry["module"], entry["kind"], int(entry["channels"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{model.path}: metadata bnndeploy.probes: got {entry!r} for {value}, expected "
                "module, kind and channels; export the run again"
            ) from error
        if probe.module not in known:
            raise CheckpointError(
                f"run: its network has no module {probe.module}, from which {model.path} was "
                "exported; give the run that the file was made from"
            )
        probes[value] = probe
    return probes


@dataclass
class Recording:
    """What the trained module computed for one batch."""

    outputs: list[Array]
    activations: dict[str, list[Tensor]]  # of each probed module, one for each call


@torch.no_grad()
def record(module: nn.Module, inputs: Sequence[Array], paths: Sequence[str]) -> Recording:
    """Runs the trained module and keeps the outputs of the modules at ``paths``."""
    with _hooks(module, paths) as activations:
        result = module(*map(torch.from_numpy, inputs))
    leaves = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
    return Recording([leaf.numpy() for leaf in leaves], activations)


@contextmanager
def _hooks(module: nn.Module, paths: Sequence[str]) -> Iterator[dict[str, list[Tensor]]]:
    activations: dict[str, list[Tensor]] = defaultdict(list)

    def keep(path: str) -> Any:
        return lambda _module, _inputs, output: activations[path].append(output)

    handles = [module.get_submodule(p).register_forward_hook(keep(p)) for p in set(paths)]
    try:
        yield activations
    finally:
        for handle in handles:
            handle.remove()


def activation(recording: Recording, probe: Probe, like: Array) -> Array:
    """Returns what the trained module gives for a value, in the layout of ``like``.

    Raises:
        CheckpointError: If its size is another one: the run is not that of the file.
    """
    (output,) = recording.activations[probe.module]
    try:
        return probe.expected(output, like)
    except ValueError as error:
        raise CheckpointError(
            f"run: module {probe.module} gives {tuple(output.shape)}, the file {like.shape} "
            f"with {probe.channels} channels; give the run that the file was made from"
        ) from error
