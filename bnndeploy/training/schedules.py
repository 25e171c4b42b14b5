"""Learning rates as pure functions of the step, so that a resumed run needs no state of them."""

from __future__ import annotations

import math
from collections.abc import Callable

from bnndeploy.errors import RecipeError
from bnndeploy.registry import Registry
from bnndeploy.training.recipe import TrainTable

Schedule = Callable[[int], float]
# Each maps the share of training done, t in [0, 1], and the table to a share of the rate.
_REGISTRY: Registry[float] = Registry("schedule")
names = _REGISTRY.names


def learning_rate(table: TrainTable, steps_per_epoch: int) -> Schedule:
    """Returns the learning rate at each step, counted from 0.

    ``lr(step) = final_lr + (lr - final_lr) * s(t)`` with ``t`` the share of the steps after the
    warm-up that is done and ``s`` the schedule; during the warm-up the rate climbs linearly.

    Raises:
        RecipeError: If the schedule is unknown or its options do not fit.
    """
    shape = _REGISTRY.builder(table.schedule)
    if table.schedule == "step" and not table.step_epochs:
        raise RecipeError(
            "schedule 'step': got no train.step_epochs, expected the epochs to step at"
        )
    total = table.epochs * steps_per_epoch
    warmup = round(table.warmup_epochs * steps_per_epoch)
    if warmup >= total:
        raise RecipeError(
            f"train.warmup_epochs: got {table.warmup_epochs}, expected fewer than the "
            f"{table.epochs} epochs of the run"
        )

    def rate(step: int) -> float:
        if step < warmup:
            return table.lr * (step + 1) / warmup
        done = (step - warmup) / (total - warmup)
        epoch = step / steps_per_epoch
        return table.final_lr + (table.lr - table.final_lr) * shape(done, epoch, table)

    return rate


@_REGISTRY.register("constant")
def _constant(done: float, epoch: float, table: TrainTable) -> float:
    return 1.0


@_REGISTRY.register("linear")
def _linear(done: float, epoch: float, table: TrainTable) -> float:
    return 1.0 - done


@_REGISTRY.register("cosine")
def _cosine(done: float, epoch: float, table: TrainTable) -> float:
    """Loshchilov and Hutter, "SGDR", 2017, arXiv:1608.03983, without restarts."""
    return 0.5 * (1.0 + math.cos(math.pi * done))


@_REGISTRY.register("step")
def _step(done: float, epoch: float, table: TrainTable) -> float:
    passed = sum(epoch >= boundary for boundary in table.step_epochs)
    return float(table.step_factor**passed)
