"""Which images a step trains on: a pure function of the seed and the step."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.training._seeds import generator_for
from bnndeploy.training.data import Split, TensorSplit
from bnndeploy.training.distributed import World
from bnndeploy.training.recipe import TrainTable

MicroBatches = list[tuple[Tensor, Tensor]]


class Batches:
    """Cuts an epoch's shuffled images into steps, and a step into micro-batches for processes.

    A step always covers ``train.batch`` images; ``train.accumulate`` and the number of
    processes only say in how many equal parts. The images left over at the end of an epoch
    change from one to the next. Images that must be decoded are read one step ahead.
    """

    def __init__(self, split: Split, table: TrainTable, world: World) -> None:
        self.split, self.table, self.world = split, table, world
        self.per_epoch = len(split) // table.batch
        if self.per_epoch == 0:
            raise RecipeError(
                f"train.batch: got {table.batch}, expected at most the {len(split)} training images"
            )
        if table.batch % (table.accumulate * world.size):
            raise RecipeError(
                f"train.accumulate: got {table.accumulate} for {world.size} process(es), expected "
                f"their product to divide the batch of {table.batch}"
            )
        self._order = torch.empty(0)
        self._order_epoch = -1
        slow = not isinstance(split, TensorSplit)
        self._reader = ThreadPoolExecutor(1) if slow else None
        self._ahead: tuple[int, Future[MicroBatches]] | None = None

    def at(self, step: int) -> MicroBatches:
        """Returns this process's micro-batches of a step: images and labels."""
        if self._reader is None:
            return self._read(step)
        if self._ahead is not None and self._ahead[0] == step:
            batches = self._ahead[1].result()
        else:
            batches = self._reader.submit(self._read, step).result()
        self._ahead = step + 1, self._reader.submit(self._read, step + 1)
        return batches

    def close(self) -> None:
        if self._reader is not None:
            self._reader.shutdown(cancel_futures=True)

    def _read(self, step: int) -> MicroBatches:
        epoch, place = divmod(step, self.per_epoch)
        if self._order_epoch != epoch:
            generator = generator_for(self.table.seed, "order", epoch)
            self._order = torch.randperm(len(self.split), generator=generator)
            self._order_epoch = epoch
        batch = self._order[place * self.table.batch :][: self.table.batch]
        parts = self.table.accumulate * self.world.size
        return [
            self._part(batch[part::parts], step, part)
            for part in range(self.world.rank, parts, self.world.size)
        ]

    def _part(self, index: Tensor, step: int, part: int) -> tuple[Tensor, Tensor]:
        generator = generator_for(self.table.seed, "augment", step, part)
        return self.split.batch(index, generator), self.split.labels[index]
