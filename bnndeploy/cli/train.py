"""bnndeploy train."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option, echo

from bnndeploy.cli._output import Json, emit_json

if TYPE_CHECKING:
    from bnndeploy.training.listener import Listener


def train(
    recipe: Annotated[str, Argument(help="A recipe file, a run directory or a zoo name.")],
    out: Annotated[
        Path | None, Option("--out", "-o", help="Run directory to write or to resume.")
    ] = None,
    data: Annotated[
        Path | None, Option("--data", envvar="BNNDEPLOY_DATA", help="Folder of the data sets.")
    ] = None,
    settings: Annotated[
        list[str] | None, Option("--set", help="Override, as in train.epochs=3; repeatable.")
    ] = None,
    seed: Annotated[int | None, Option(help="Seed, instead of the recipe's.")] = None,
    download: Annotated[bool, Option("--download", help="Fetch the data set first.")] = False,
    evaluate: Annotated[
        bool, Option("--evaluate", help="Train nothing: evaluate the weights of a run.")
    ] = False,
    json: Json = False,
) -> None:
    """Train a recipe; an unfinished run of the same recipe goes on where it stopped."""
    from bnndeploy.training import distributed, evaluate_run, zoo
    from bnndeploy.training import recipe as recipes
    from bnndeploy.training import train as run_training

    if evaluate:
        report = evaluate_run(recipe, data)
    elif out is None:
        raise typer.BadParameter("give the run directory to write", param_hint="--out")
    else:
        overrides = list(settings or []) + ([f"train.seed={seed}"] if seed is not None else [])
        wanted = recipes.load(zoo.find_recipe(recipe), overrides)
        listener = _listener(out, silent=json)
        report = run_training(wanted, data, out, download=download, listener=listener)
    if not distributed.is_main():
        return
    if json:
        emit_json(report)
    else:
        echo(_sentence(report))


def _listener(out: Path, silent: bool) -> Listener:
    """A progress bar on a terminal, and TensorBoard's files where it is installed."""
    from bnndeploy.training import tensorboard
    from bnndeploy.training.listener import Listeners

    listeners: list[Listener] = []
    if sys.stderr.isatty() and not silent:
        from bnndeploy.training.progress import ProgressBar

        listeners.append(ProgressBar())
    if tensorboard.installed():
        listeners.append(tensorboard.TensorBoard(out / "tensorboard"))
    return Listeners(listeners)


def _sentence(report: dict[str, Any]) -> str:
    text = f"{report['name']}: test accuracy {100 * report['test_accuracy']:.2f} %"
    if "epochs" in report:
        text += (
            f", validation {100 * report['validation_accuracy']:.2f} % in epoch "
            f"{report['best_epoch']} of {report['epochs']}, {report['seconds']:.0f} s"
        )
    return f"{text}, in {report['run']}"
