"""Optimizer state as named tensors, for safetensors files."""

from __future__ import annotations

import torch
from torch import Tensor

_PREFIX = "optimizer."


def pack_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Names the state tensors ``optimizer.<parameter index>.<key>``.

    Groups are left out: they are a function of the recipe and the step.
    """
    return {
        f"{_PREFIX}{index}.{key}": torch.as_tensor(value)
        for index, state in optimizer.state_dict()["state"].items()
        for key, value in state.items()
        if value is not None
    }


def unpack_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Puts packed state back into an optimizer over the same parameters."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith(_PREFIX):
            index, key = name[len(_PREFIX) :].split(".", 1)
            state.setdefault(int(index), {})[key] = tensor
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
