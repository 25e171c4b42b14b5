"""Runs: what they leave, the same seed, an interruption at any point, what is refused."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch

from bnndeploy.errors import CheckpointError, RecipeError
from bnndeploy.training import load_run, train, zoo
from bnndeploy.training import recipe as recipes
from bnndeploy.training.evaluate import evaluate
from bnndeploy.training.listener import Listener
from bnndeploy.training.run_folder import RunFolder, load_tensors


class StopAt(Listener):
    """Breaks a run off after a step, as a failing machine would."""

    def __init__(self, step):
        self.last = step

    def step(self, step, loss):
        if step == self.last:
            raise KeyboardInterrupt


def metrics(run):
    return (run / "metrics.csv").read_text()


def best(run):
    return load_tensors(run / "best.safetensors")


def assert_same_run(left, right):
    assert metrics(left) == metrics(right)
    for key, value in best(left).items():
        assert torch.equal(value, best(right)[key]), key


@pytest.fixture(scope="module")
def finished(tiny, tmp_path_factory):
    """A finished run of the tiny recipe, with its report."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("finished") / "run"
    return folder, train(tiny(), None, folder)


def test_a_run_leaves_its_files(finished):
    run, report = finished

    names = {path.name for path in run.iterdir()}
    wanted = {"recipe.toml", "metrics.csv", "curves.png", "last.json", "best.safetensors"}
    assert wanted | {"report.json"} <= names
    assert len([name for name in names if name.startswith("last-")]) == 1
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((run / "report.json").read_text()) == report
    assert len(metrics(run).splitlines()) == 4
    assert sum(map(sum, report["confusion"])) == report["images"]["test"]


def test_the_report_agrees_with_an_evaluation_of_the_loaded_run(finished):
    from bnndeploy.training import data, losses

    run, report = finished
    loaded = load_run(run)
    splits = data.load(loaded.recipe.data)

    scores = evaluate(loaded.module, splits.test, losses.build(loaded.recipe.train))

    assert scores.accuracy == report["test_accuracy"] == loaded.metrics["test_accuracy"]
    diagonal = sum(report["confusion"][k][k] for k in range(10))
    assert diagonal == round(scores.accuracy * len(splits.test))


def test_the_same_seed_gives_the_same_run(finished, tiny, tmp_path):
    train(tiny(), None, tmp_path / "again")

    assert_same_run(finished[0], tmp_path / "again")


def test_another_seed_gives_another_run(finished, tiny, tmp_path):
    train(tiny("train.seed=1"), None, tmp_path / "other")

    assert metrics(finished[0]) != metrics(tmp_path / "other")


@pytest.mark.parametrize("step", [1, 5, 6, 9, 15])
def test_an_interrupted_run_goes_on_to_the_same_numbers(finished, tiny, tmp_path, step):
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(tiny(), None, run, listener=StopAt(step))

    train(tiny(), None, run)

    assert_same_run(finished[0], run)


def test_checkpoints_within_an_epoch_keep_its_running_sums(tiny, tmp_path):
    recipe = tiny("train.checkpoint_steps=2")
    train(recipe, None, tmp_path / "straight")
    with pytest.raises(KeyboardInterrupt):
        train(recipe, None, tmp_path / "run", listener=StopAt(9))
    assert json.loads((tmp_path / "run" / "last.json").read_text())["step"] == 8

    train(recipe, None, tmp_path / "run")

    assert_same_run(tmp_path / "straight", tmp_path / "run")


def test_rows_after_the_checkpoint_are_cut_off(finished, tiny, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(tiny(), None, run, listener=StopAt(11))
    with (run / "metrics.csv").open("a") as file:
        file.write("3,15,0,0,0,0,1\n")  # written by a run that was killed before its checkpoint

    train(tiny(), None, run)

    assert_same_run(finished[0], run)


def test_a_finished_run_is_returned_and_not_trained_again(finished, tiny):
    run, report = finished
    before = {path.name: path.stat().st_mtime_ns for path in run.glob("[!.]*")}

    assert train(tiny(), None, run) == report
    assert {path.name: path.stat().st_mtime_ns for path in run.glob("[!.]*")} == before


def test_a_run_of_another_recipe_is_refused_and_untouched(finished, tiny):
    run, _ = finished
    before = {path.name: path.read_bytes() for path in run.glob("[!.]*")}

    with pytest.raises(CheckpointError, match=r"another recipe \(differs in train.lr\)"):
        train(tiny("train.lr=0.5"), None, run)
    assert {path.name: path.read_bytes() for path in run.glob("[!.]*")} == before


def test_a_folder_with_other_files_is_refused(tiny, tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")

    with pytest.raises(CheckpointError, match="holds other files"):
        train(tiny(), None, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_two_trainings_never_share_a_folder(tiny, tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.open(tiny())

    with pytest.raises(CheckpointError, match="another training is writing here"):
        train(tiny(), None, tmp_path / "run")
    folder.close()


def test_a_damaged_checkpoint_is_named(tiny, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(tiny(), None, run, listener=StopAt(8))
    (run / "last-5.safetensors").write_bytes(b"\x10\x00")

    with pytest.raises(CheckpointError, match=r"last-5.safetensors: cannot be read"):
        train(tiny(), None, run)


def test_accumulated_micro_batches_see_the_images_of_the_whole_batch(tiny, tmp_path):
    # Batch-norm differs between the two; the images of a step and their number do not.
    whole = train(tiny(), None, tmp_path / "whole")
    parts = train(tiny("train.accumulate=2"), None, tmp_path / "parts")

    assert whole["images"] == parts["images"]
    assert abs(whole["test_accuracy"] - parts["test_accuracy"]) < 0.1


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.batch=5000", "train.batch: got 5000, expected at most the 1294 training images"),
        ("train.accumulate=3", "got 3 for 1 process.es., expected their product to divide"),
        ("model.network=bnn-mpl", "did you mean 'bnn-mlp'"),
        ("model.options.depth=3", "option 'depth' is unknown"),
        ("model.options.classes=7", "model.options.classes: got 7, expected 10"),
        ("train.lr=1e38", "got a loss of .* expected a number"),
    ],
)
def test_what_cannot_be_trained_is_refused(tiny, tmp_path, override, message):
    with pytest.raises(RecipeError, match=message):
        train(tiny(override), None, tmp_path / "run")


def test_latents_stay_within_their_clip(finished):
    weight = best(finished[0])["1.weight"]

    assert float(weight.abs().max()) <= 1.0


def test_scales_stay_positive_where_latents_are_not_clipped(tiny, tmp_path):
    options = ("model.network=ttq-lenet", "model.options={padding=2}", "train.optimizer=sgd")
    train(
        tiny(*options, "train.lr=0.5", "train.epochs=1", "train.clip_latents=false"),
        None,
        tmp_path / "run",
    )

    scales = {key: x for key, x in best(tmp_path / "run").items() if key.endswith(("pos", "neg"))}
    assert len(scales) == 4
    assert all(float(scale) > 0 for scale in scales.values())


def test_early_stop_ends_a_run_that_no_longer_improves(tiny, tmp_path):
    report = train(tiny("train.early_stop=1", "train.epochs=60"), None, tmp_path / "run")

    assert report["epochs"] < 60
    assert report["epochs"] == report["best_epoch"] + 1


TRAIN = [sys.executable, "-m", "bnndeploy", "train", "bnn-mlp-digits", "--set"]
TRAIN += ["train.epochs=12", "--set", "train.checkpoint_steps=7", "--out"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    run = tmp_path_factory.mktemp("uninterrupted") / "run"
    subprocess.run([*TRAIN, str(run)], check=True, capture_output=True)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("fraction", random.Random(7).sample(range(5, 95), 3))
def test_kill_9_at_a_random_moment_then_resume_gives_the_same_run(
    uninterrupted, tmp_path, fraction
):
    killed = tmp_path / "killed"
    seconds = json.loads((uninterrupted / "report.json").read_text())["seconds"]

    process = subprocess.Popen([*TRAIN, str(killed)], stdout=subprocess.DEVNULL)
    while not (killed / "last.json").is_file():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(fraction / 100 * seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    subprocess.run([*TRAIN, str(killed)], check=True, capture_output=True)

    assert_same_run(uninterrupted, killed)


@pytest.mark.slow
@pytest.mark.skipif("BNNDEPLOY_DATA" not in os.environ, reason="BNNDEPLOY_DATA names no data")
def test_two_epochs_of_real_mnist_pass_95_percent(tmp_path):
    overrides = ["train.epochs=2", "train.batch=256", "model.options.hidden=[256, 256]"]
    recipe = recipes.load(zoo.folder("bnn-mlp-mnist") / "recipe.toml", overrides)

    report = train(recipe, os.environ["BNNDEPLOY_DATA"], tmp_path / "run")

    assert report["test_accuracy"] > 0.95
