"""Trains a recipe: the loop, its checkpoints and its report."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from bnndeploy.errors import RecipeError
from bnndeploy.layers import check, clip_latents, constrain_scales
from bnndeploy.quantizers import set_progress
from bnndeploy.training import checkpoint, curves, data, distributed, losses, optimizers, schedules
from bnndeploy.training._seeds import seed_for
from bnndeploy.training.batches import Batches
from bnndeploy.training.build import build_module
from bnndeploy.training.data import DataSplits
from bnndeploy.training.distillation import load_teacher
from bnndeploy.training.distributed import World
from bnndeploy.training.ema import Ema
from bnndeploy.training.evaluate import evaluate
from bnndeploy.training.layer_metrics import LayerMetrics
from bnndeploy.training.listener import Listener
from bnndeploy.training.recipe import Recipe
from bnndeploy.training.report import write_report
from bnndeploy.training.run_folder import Row, RunFolder, save_tensors

_CURVES_EVERY_SECONDS = 20.0
_LOOKED_AT = 32  # images


def train(
    recipe: Recipe,
    data_root: Path | str | None,
    out: Path | str,
    *,
    download: bool = False,
    listener: Listener | None = None,
) -> dict[str, Any]:
    """Trains a recipe into a run directory and returns its report.

    An unfinished run of the same recipe goes on from its last checkpoint to the numbers that an
    uninterrupted one gives; a finished one returns its report at once. Under torchrun the
    processes share the work; the first one writes.

    Raises:
        RecipeError: If the recipe names or combines something wrong.
        DataError: If the data set cannot be used.
        CheckpointError: If the directory holds something else, or the run cannot go on.
    """
    world = distributed.join()
    listener = listener if listener is not None and world.is_main else Listener()
    splits = _load(recipe, data_root, download, world)
    torch.manual_seed(seed_for(recipe.train.seed, "weights"))
    module = build_module(recipe, data.get(recipe.data, len(splits.classes)))
    folder = RunFolder(out)
    try:
        if world.is_main:
            folder.open(recipe)
        world.barrier()
        finished = folder.read_json("report.json")
        world.barrier()
        if finished is not None:
            return finished
        return Trainer(recipe, module, splits, folder, listener, world).fit()
    finally:
        listener.stop()
        folder.close()
        world.leave()


class Trainer:
    """One training: the network, its optimizer and where in the run it is.

    Everything random is drawn from generators seeded by the step (``_seeds.py``), so the state
    of a run is its tensors, its step and the running sums of the epoch.
    """

    def __init__(
        self,
        recipe: Recipe,
        module: nn.Module,
        splits: DataSplits,
        folder: RunFolder,
        listener: Listener | None = None,
        world: World | None = None,
    ) -> None:
        table = recipe.train
        self.recipe, self.table, self.splits = recipe, table, splits
        self.folder, self.listener = folder, listener or Listener()
        self.world = world or World()
        self.device = self.world.device
        self.module = module.to(self.device)
        self.batches = Batches(splits.train, table, self.world)
        self.total_steps = table.epochs * self.batches.per_epoch
        self.loss = losses.build(table)
        self.rate = schedules.learning_rate(table, self.batches.per_epoch)
        self.optimizer = optimizers.build(self.module, table)
        self.teacher = load_teacher(table.teacher, splits.classes, splits.input_spec)
        if self.teacher is not None:
            self.teacher.module.to(self.device)
        self.ema = Ema(self.module, table.ema) if table.ema else None
        self.layers = LayerMetrics(self.module)
        self.parallel = self.module if self.world.size == 1 else _parallel(self.module, self.device)
        self.step = 0
        self.seconds = 0.0
        self.best: dict[str, Any] = {"epoch": 0, "accuracy": -1.0, "loss": 0.0}
        self.rows: list[Row] = []
        self.layer_rows: list[Row] = []
        self.loss_sum, self.right, self.seen = 0.0, 0, 0
        self._told: set[tuple[str, str]] = set()

    @property
    def averaged(self) -> nn.Module:
        """The network that is evaluated and kept: the moving average where there is one."""
        return self.module if self.ema is None else self.ema.module

    def fit(self) -> dict[str, Any]:
        """Trains to the end, or to an early stop, and writes the report."""
        try:
            checkpoint.resume(self)
            self._train()
            self._draw()
            return self._report()
        finally:
            self.batches.close()

    def _train(self) -> None:
        self.listener.start(self.total_steps, self.step)
        self._look()
        started, drawn = time.perf_counter() - self.seconds, time.perf_counter()
        while self.step < self.total_steps and not self._stops_early():
            self.backward(self.step)
            self.update(self.step)
            self.step += 1
            self.seconds = time.perf_counter() - started
            epoch_done = self.step % self.batches.per_epoch == 0
            if epoch_done:
                self._end_epoch()
            every = self.table.checkpoint_steps
            if epoch_done or (every and self.step % every == 0):
                checkpoint.save(self)
            if epoch_done and time.perf_counter() - drawn > _CURVES_EVERY_SECONDS:
                self._draw()
                drawn = time.perf_counter()

    def backward(self, step: int) -> None:
        """Leaves the gradients of a step in the parameters."""
        self.module.train()
        torch.manual_seed(seed_for(self.table.seed, "step", step, self.world.rank))
        set_progress(self.module, step / self.total_steps)
        micro_batches = self.batches.at(step)
        for part, (images, labels) in enumerate(micro_batches, start=1):
            last = part == len(micro_batches)
            if isinstance(self.parallel, DistributedDataParallel):
                self.parallel.require_backward_grad_sync = last
            loss = self._loss(images.to(self.device), labels.to(self.device))
            (loss / len(micro_batches)).backward()  # type: ignore[no-untyped-call]

    def update(self, step: int) -> None:
        """Moves the parameters along the gradients: step, clip the latents, average."""
        if self.table.clip_gradient:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.table.clip_gradient)
        self.optimizer.set_rate_share(self.rate(step) / self.table.lr)
        self.optimizer.step()
        self.optimizer.zero_grad()
        keep_in_range = clip_latents if self.table.clip_latents else constrain_scales
        keep_in_range(self.module)
        if self.ema is not None:
            self.ema.update(self.module)
        self.listener.step(step + 1, self.loss_sum / self.seen)

    def _loss(self, images: Tensor, labels: Tensor) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.table.amp):
            logits = self.parallel(images)
        logits = logits.float()
        loss = self.loss(logits, labels)
        if self.teacher is not None:
            loss = self.teacher.mix(loss, logits, images)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise RecipeError(
                f"training: got a loss of {value} at step {self.step + 1}, expected a number; "
                "lower train.lr or set train.clip_gradient"
            )
        self.loss_sum += value * len(labels)
        self.right += int((logits.detach().argmax(1) == labels).sum())
        self.seen += len(labels)
        return loss

    def _end_epoch(self) -> None:
        found = (0.0, 0.0)
        if self.world.is_main:
            scores = evaluate(self.averaged, self.splits.validation, self.loss)
            found = scores.loss, scores.accuracy
        loss, accuracy = self.world.broadcast(found)
        loss_sum, right, seen = self.world.sum([self.loss_sum, self.right, self.seen])
        epoch = self.step // self.batches.per_epoch
        row: Row = {
            "epoch": epoch,
            "step": self.step,
            "lr": self.rate(self.step - 1),
            "train_loss": loss_sum / seen,
            "train_accuracy": right / seen,
            "validation_loss": loss,
            "validation_accuracy": accuracy,
        }
        self.loss_sum, self.right, self.seen = 0.0, 0, 0
        self.rows.append(row)
        layer_rows = self.layers.rows(epoch, self.step)
        self.layer_rows += layer_rows
        # Small validation splits tie often; the lower loss then decides.
        better = (accuracy, -loss) > (self.best["accuracy"], -self.best["loss"])
        if better:
            self.best = {"epoch": epoch, "accuracy": accuracy, "loss": loss}
        if self.world.is_main:
            if better:
                save_tensors(self.folder / "best.safetensors", self.averaged.state_dict())
            self.folder.write_rows("metrics.csv", self.rows)
            self.folder.write_rows("layers.csv", self.layer_rows)
            self.listener.epoch(row, layer_rows)
            self._look()

    def _look(self) -> None:
        """Tells once what about the network will probably spoil the training."""
        if not self.world.is_main:
            return
        split = self.splits.validation
        images = split.batch(torch.arange(min(_LOOKED_AT, len(split))))
        for finding in check(self.module, images.to(self.device)):
            if (finding.layer, finding.advice) not in self._told:
                self._told.add((finding.layer, finding.advice))
                self.listener.finding(str(finding))

    def _stops_early(self) -> bool:
        patience = self.table.early_stop
        epoch, place = divmod(self.step, self.batches.per_epoch)
        return bool(patience and place == 0 and epoch - self.best["epoch"] >= patience)

    def _draw(self) -> None:
        if self.world.is_main:
            curves.draw_curves(self.rows, self.folder / "curves.png")

    def _report(self) -> dict[str, Any]:
        report = None
        if self.world.is_main:
            summary = {
                "epochs": self.step // self.batches.per_epoch,
                "best_epoch": self.best["epoch"],
                "seconds": round(self.seconds, 3),
            }
            report = write_report(self.recipe, self.module, self.splits, self.folder, summary)
        answer: dict[str, Any] = self.world.broadcast(report)
        return answer


def _load(recipe: Recipe, root: Path | str | None, download: bool, world: World) -> DataSplits:
    if not download:
        return data.load(recipe.data, root)
    if world.is_main:
        splits = data.load(recipe.data, root, download=True)
        world.barrier()
        return splits
    world.barrier()  # the main process fetches the files
    return data.load(recipe.data, root)


def _parallel(module: nn.Module, device: torch.device) -> DistributedDataParallel:
    return DistributedDataParallel(module, device_ids=[device] if device.type == "cuda" else None)
