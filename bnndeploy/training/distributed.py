"""Several processes that train one network, started by torchrun."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class World:
    """The processes of a run; alone, every operation returns at once."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def is_main(self) -> bool:
        """Whether this process writes the files and speaks to the user."""
        return self.rank == 0

    @property
    def device(self) -> torch.device:
        if not torch.cuda.is_available():
            return torch.device("cpu")
        return torch.device("cuda", self.local_rank)

    def barrier(self) -> None:
        if self.size > 1:
            dist.barrier()

    def broadcast(self, value: Any) -> Any:
        """Returns the main process's value in every process."""
        if self.size == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, src=0)
        return values[0]

    def sum(self, values: list[float]) -> list[float]:
        """Adds each value up over the processes."""
        if self.size == 1:
            return values
        # gloo and nccl both take tensors of the device the training runs on.
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        total: list[float] = tensor.tolist()
        return total

    def leave(self) -> None:
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()


def join() -> World:
    """Joins the processes that torchrun started, or returns a world of one."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return World()
    world = World(int(os.environ["RANK"]), size, int(os.environ.get("LOCAL_RANK", "0")))
    if not dist.is_initialized():
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    if torch.cuda.is_available():
        torch.cuda.set_device(world.local_rank)
    return world


def is_main() -> bool:
    """Tells whether this is the process that speaks to the user."""
    return os.environ.get("RANK", "0") == "0"
