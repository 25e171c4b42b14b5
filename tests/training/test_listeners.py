"""Who watches a training: several listeners at once, the progress bar, TensorBoard's files."""

import sys
import types

from bnndeploy.training import train
from bnndeploy.training.listener import Listener, Listeners
from bnndeploy.training.progress import ProgressBar
from bnndeploy.training.tensorboard import TensorBoard


class Recorder(Listener):
    def __init__(self):
        self.heard = []

    def start(self, total_steps, done):
        self.heard.append(("start", total_steps, done))

    def step(self, step, loss):
        self.heard.append(("step", step))

    def epoch(self, row, layers):
        self.heard.append(("epoch", row["epoch"], [layer["layer"] for layer in layers]))

    def stop(self):
        self.heard.append(("stop",))


def test_every_listener_hears_a_run_from_start_to_stop(tiny, tmp_path):
    first, second = Recorder(), Recorder()

    train(tiny("train.epochs=1"), None, tmp_path / "run", listener=Listeners([first, second]))

    steps = [("step", step) for step in range(1, 6)]
    assert first.heard == [("start", 5, 0), *steps, ("epoch", 1, ["1"]), ("stop",)]
    assert second.heard == first.heard


def test_the_progress_bar_counts_steps_and_shows_loss_and_accuracy(tiny, tmp_path, monkeypatch):
    bar = ProgressBar()

    train(tiny("train.epochs=1"), None, tmp_path / "run", listener=bar)

    task = bar._progress.tasks[0]
    assert (task.completed, task.total) == (5, 5)
    assert task.description.startswith("loss ")
    assert bar._accuracy.startswith("  validation ")


def test_tensorboard_gets_every_metric_of_an_epoch_and_drops_what_follows_a_checkpoint(
    tiny, tmp_path, monkeypatch
):
    written, opened = [], []

    class Writer:
        def __init__(self, folder, purge_step):
            opened.append((folder, purge_step))

        def add_scalar(self, name, value, step):
            written.append((name, step))

        def flush(self):
            pass

        def close(self):
            opened.append("closed")

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)

    train(tiny("train.epochs=2"), None, tmp_path / "run", listener=TensorBoard(tmp_path / "events"))

    assert opened == [(str(tmp_path / "events"), 1), "closed"]
    names = {name for name, _ in written}
    assert {"validation_accuracy", "train_loss", "lr", "flips/1", "zeros/1"} <= names
    assert {step for _, step in written} == {5, 10}
