"""Trains a recipe: the loop, its checkpoints and its report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bnndeploy.errors import CheckpointError, RecipeError
from bnndeploy.layers import clip_latents
from bnndeploy.quantizers import set_progress
from bnndeploy.training import curves, data, losses, optimizers, schedules
from bnndeploy.training._seeds import generator_for, seed_for
from bnndeploy.training.build import build_module
from bnndeploy.training.data import DataSplits
from bnndeploy.training.evaluate import evaluate
from bnndeploy.training.listener import Listener
from bnndeploy.training.optimizer_state import pack_optimizer, unpack_optimizer
from bnndeploy.training.recipe import Recipe
from bnndeploy.training.report import write_report
from bnndeploy.training.run_folder import Row, RunFolder, save_tensors

_CURVES_EVERY_SECONDS = 20.0


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
    uninterrupted one gives; a finished one returns its report at once.

    Raises:
        RecipeError: If the recipe names or combines something wrong.
        DataError: If the data set cannot be used.
        CheckpointError: If the directory holds something else, or the run cannot go on.
    """
    listener = listener or Listener()
    dataset = data.get(recipe.data)
    torch.manual_seed(seed_for(recipe.train.seed, "weights"))
    module = build_module(recipe, dataset)
    splits = data.load(recipe.data, data_root, download=download)
    folder = RunFolder(out)
    folder.open(recipe)
    try:
        finished = folder.read_json("report.json")
        if finished is not None:
            return finished
        return Trainer(recipe, module, splits, folder, listener).fit()
    finally:
        listener.stop()
        folder.close()


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
        listener: Listener,
    ) -> None:
        table = recipe.train
        self.recipe, self.table, self.splits = recipe, table, splits
        self.folder, self.listener = folder, listener
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.module = module.to(self.device)
        self.steps_per_epoch = len(splits.train) // table.batch
        if self.steps_per_epoch == 0:
            raise RecipeError(
                f"train.batch: got {table.batch}, expected at most the {len(splits.train)} "
                "training images"
            )
        if table.batch % table.accumulate:
            raise RecipeError(
                f"train.accumulate: got {table.accumulate}, expected a divisor of the batch "
                f"of {table.batch}"
            )
        self.total_steps = table.epochs * self.steps_per_epoch
        self.loss = losses.build(table)
        self.rate = schedules.learning_rate(table, self.steps_per_epoch)
        self.optimizer = optimizers.build(self.module, table)
        self.step = 0
        self.seconds = 0.0
        self.best: dict[str, Any] = {"epoch": 0, "accuracy": -1.0, "loss": 0.0}
        self.rows: list[Row] = []
        self.order_epoch = -1
        self._reset_sums()

    def fit(self) -> dict[str, Any]:
        """Trains to the end, or to an early stop, and writes the report."""
        self._resume()
        self.listener.start(self.total_steps, self.step)
        started, drawn = time.perf_counter() - self.seconds, time.perf_counter()
        for step in range(self.step, self.total_steps):
            if self._stops_early():
                break
            self._train_step(step)
            self.step = step + 1
            self.seconds = time.perf_counter() - started
            epoch_done = self.step % self.steps_per_epoch == 0
            if epoch_done:
                self._end_epoch()
                if time.perf_counter() - drawn > _CURVES_EVERY_SECONDS:
                    curves.draw_curves(self.rows, self.folder / "curves.png")
                    drawn = time.perf_counter()
            every = self.table.checkpoint_steps
            if epoch_done or (every and self.step % every == 0):
                self._save()
        curves.draw_curves(self.rows, self.folder / "curves.png")
        return write_report(self.recipe, self.module, self.splits, self.folder, self._summary())

    def _train_step(self, step: int) -> None:
        self.module.train()
        torch.manual_seed(seed_for(self.table.seed, "step", step))
        set_progress(self.module, step / self.total_steps)
        optimizers.set_learning_rate(self.optimizer, self.rate(step))
        for images, labels in self._micro_batches(step):
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.table.amp):
                logits = self.module(images)
            logits = logits.float()
            loss = self.loss(logits, labels)
            (loss / self.table.accumulate).backward()  # type: ignore[no-untyped-call]
            self._count(loss.detach(), logits.detach(), labels)
        if self.table.clip_gradient:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.table.clip_gradient)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.table.clip_latents:
            clip_latents(self.module)
        self.listener.step(step + 1, self.loss_sum / self.seen)

    def _micro_batches(self, step: int) -> Iterator[tuple[Tensor, Tensor]]:
        epoch, place = divmod(step, self.steps_per_epoch)
        if self.order_epoch != epoch:
            generator = generator_for(self.table.seed, "order", epoch)
            self.order = torch.randperm(len(self.splits.train), generator=generator)
            self.order_epoch = epoch
        batch = self.order[place * self.table.batch :][: self.table.batch]
        for part in range(self.table.accumulate):
            index = batch[part :: self.table.accumulate]
            generator = generator_for(self.table.seed, "augment", step, part)
            images = self.splits.train.batch(index, generator)
            yield images.to(self.device), self.splits.train.labels[index].to(self.device)

    def _count(self, loss: Tensor, logits: Tensor, labels: Tensor) -> None:
        value = float(loss)
        if value != value or value in (float("inf"), float("-inf")):
            raise RecipeError(
                f"training: got a loss of {value} at step {self.step + 1}, expected a number; "
                "lower train.lr or set train.clip_gradient"
            )
        self.loss_sum += value * len(labels)
        self.right += int((logits.argmax(1) == labels).sum())
        self.seen += len(labels)

    def _reset_sums(self) -> None:
        self.loss_sum, self.right, self.seen = 0.0, 0, 0

    def _end_epoch(self) -> None:
        scores = evaluate(self.module, self.splits.validation, self.loss)
        epoch = self.step // self.steps_per_epoch
        row: Row = {
            "epoch": epoch,
            "step": self.step,
            "lr": self.rate(self.step - 1),
            "train_loss": self.loss_sum / self.seen,
            "train_accuracy": self.right / self.seen,
            "validation_loss": scores.loss,
            "validation_accuracy": scores.accuracy,
        }
        self._reset_sums()
        self.rows.append(row)
        # Small validation splits tie often; the lower loss then decides.
        if (scores.accuracy, -scores.loss) > (self.best["accuracy"], -self.best["loss"]):
            self.best = {"epoch": epoch, "accuracy": scores.accuracy, "loss": scores.loss}
            save_tensors(self.folder / "best.safetensors", self.module.state_dict())
        self.folder.write_rows("metrics.csv", self.rows)
        self.listener.epoch(row)

    def _stops_early(self) -> bool:
        patience = self.table.early_stop
        epoch, place = divmod(self.step, self.steps_per_epoch)
        return bool(patience and place == 0 and epoch - self.best["epoch"] >= patience)

    def _save(self) -> None:
        tensors = {f"module.{k}": v for k, v in self.module.state_dict().items()}
        info = {
            "classes": list(self.splits.classes),
            "input_spec": self.splits.input_spec,
            "best": self.best,
            "sums": [self.loss_sum, self.right, self.seen],
            "seconds": self.seconds,
        }
        self.folder.save_last(self.step, tensors | pack_optimizer(self.optimizer), info)

    def _resume(self) -> None:
        found = self.folder.load_last()
        if found is None:
            return
        info, tensors = found
        prefix = "module."
        state = {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
        try:
            self.module.load_state_dict(state)
            unpack_optimizer(self.optimizer, tensors)
        except (RuntimeError, KeyError) as error:
            raise CheckpointError(
                f"run {self.folder.path}: {info['file']} does not fit the network ({error}), "
                "expected a checkpoint of this recipe; train into another --out"
            ) from None
        self.step, self.best, self.seconds = info["step"], info["best"], info["seconds"]
        self.loss_sum, self.right, self.seen = info["sums"]
        self.rows = self.folder.read_rows("metrics.csv", self.step)

    def _summary(self) -> dict[str, Any]:
        return {
            "epochs": self.step // self.steps_per_epoch,
            "best_epoch": self.best["epoch"],
            "seconds": round(self.seconds, 3),
        }
