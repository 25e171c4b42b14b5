"""Several optimizers over one network, each for the parameters of its case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from bnndeploy.errors import RecipeError

Case = Callable[[str, nn.Parameter], bool]
Build = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class CaseOptimizer:
    """Steps several optimizers as one; every parameter belongs to at most one of them.

    Each optimizer keeps the ratio of its first rate to that of the run: ``set_rate_share``
    scales all of them alike. State is packed into tensors named
    ``optimizer.<optimizer>.<parameter>.<key>``; groups are left out, as they are a function of
    the recipe and the step.
    """

    PREFIX = "optimizer."

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self.optimizers = list(optimizers)
        owned: set[int] = set()
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["first_lr"] = group["lr"]
                for parameter in group["params"]:
                    if id(parameter) in owned:
                        raise RecipeError(
                            f"case optimizer: a parameter of shape {list(parameter.shape)} is in "
                            "two optimizers, expected one; make the cases exclude each other"
                        )
                    owned.add(id(parameter))

    @classmethod
    def by_case(
        cls, module: nn.Module, cases: Sequence[tuple[Case, Build]], default: Build
    ) -> CaseOptimizer:
        """Gives each parameter to the first case that holds for its name and value."""
        chosen: list[list[nn.Parameter]] = [[] for _ in cases]
        rest: list[nn.Parameter] = []
        for name, parameter in module.named_parameters():
            holds = [index for index, (case, _) in enumerate(cases) if case(name, parameter)]
            (chosen[holds[0]] if holds else rest).append(parameter)
        builds = [*(build for _, build in cases), default]
        return cls([b(p) for b, p in zip(builds, [*chosen, rest], strict=True) if p])

    def step(self) -> None:
        for optimizer in self.optimizers:
            optimizer.step()

    def zero_grad(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    def set_rate_share(self, share: float) -> None:
        """Sets every rate to this share of what it was built with."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = share * group["first_lr"]

    def pack(self) -> dict[str, Tensor]:
        """Returns the state as named tensors."""
        return {
            f"{self.PREFIX}{number}.{index}.{key}": torch.as_tensor(value)
            for number, optimizer in enumerate(self.optimizers)
            for index, state in optimizer.state_dict()["state"].items()
            for key, value in state.items()
            if value is not None
        }

    def unpack(self, tensors: dict[str, Tensor]) -> None:
        """Takes packed state back; names that are not its own are ignored."""
        for number, optimizer in enumerate(self.optimizers):
            prefix = f"{self.PREFIX}{number}."
            state: dict[int, dict[str, Any]] = {}
            for name, tensor in tensors.items():
                if name.startswith(prefix):
                    index, key = name[len(prefix) :].split(".", 1)
                    state.setdefault(int(index), {})[key] = tensor
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": state, "param_groups": groups})
