"""Writes down where a training stands, and takes it up again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from bnndeploy.errors import CheckpointError

if TYPE_CHECKING:
    from bnndeploy.training.trainer import Trainer


def save(trainer: Trainer) -> None:
    """Writes the weights, their average, the optimizer, the codes of the epoch before, the sums.

    The random generators are not in it: they are seeded by the step.
    """
    # The sums of the processes are added up: a resumed run gives them all to the first one.
    sums = trainer.world.sum([trainer.loss_sum, trainer.right, trainer.seen])
    if not trainer.world.is_main:
        return
    tensors = {f"module.{k}": v for k, v in trainer.module.state_dict().items()}
    if trainer.ema is not None:
        tensors |= {f"ema.{k}": v for k, v in trainer.ema.module.state_dict().items()}
    tensors |= trainer.optimizer.pack() | trainer.layers.pack()
    info = {
        "classes": list(trainer.splits.classes),
        "input_spec": trainer.splits.input_spec,
        "best": trainer.best,
        "sums": sums,
        "seconds": trainer.seconds,
    }
    trainer.folder.save_last(trainer.step, tensors, info)


def resume(trainer: Trainer) -> None:
    """Puts the last checkpoint of the run, if there is one, into a fresh trainer.

    Raises:
        CheckpointError: If it cannot be read or is not of the trainer's network.
    """
    found = trainer.folder.load_last()
    trainer.world.barrier()  # nobody writes before everybody has read
    if found is None:
        return
    info, tensors = found
    try:
        trainer.module.load_state_dict(_below("module.", tensors))
        if trainer.ema is not None:
            trainer.ema.module.load_state_dict(_below("ema.", tensors))
        trainer.optimizer.unpack(tensors)
        trainer.layers.unpack(tensors)
    except (RuntimeError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(
            f"run {trainer.folder.path}: {info['file']} does not fit the network ({reason}), "
            "expected a checkpoint of this recipe; train into another --out"
        ) from None
    trainer.step, trainer.best, trainer.seconds = info["step"], info["best"], info["seconds"]
    if trainer.world.is_main:
        trainer.loss_sum, right, seen = info["sums"]
        trainer.right, trainer.seen = int(right), int(seen)
    trainer.rows = trainer.folder.read_rows("metrics.csv", trainer.step)
    trainer.layer_rows = trainer.folder.read_rows("layers.csv", trainer.step)


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
