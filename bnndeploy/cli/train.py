"""bnndeploy train."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, echo

from bnndeploy.cli._output import Json, emit_json


def train(
    recipe: Annotated[str, Argument(help="A recipe file, a run directory or a zoo name.")],
    out: Annotated[Path, Option("--out", "-o", help="Run directory to write or to resume.")],
    data: Annotated[
        Path | None, Option("--data", envvar="BNNDEPLOY_DATA", help="Folder of the data sets.")
    ] = None,
    settings: Annotated[
        list[str] | None, Option("--set", help="Override, as in train.epochs=3; repeatable.")
    ] = None,
    seed: Annotated[int | None, Option(help="Seed, instead of the recipe's.")] = None,
    download: Annotated[bool, Option(help="Fetch the data set with torchvision.")] = False,
    json: Json = False,
) -> None:
    """Train a recipe; an unfinished run of the same recipe goes on where it stopped."""
    from bnndeploy.training import recipe as recipes
    from bnndeploy.training import train as run_training
    from bnndeploy.training import zoo
    from bnndeploy.training.listener import Listener

    overrides = list(settings or []) + ([f"train.seed={seed}"] if seed is not None else [])
    wanted = recipes.load(zoo.find_recipe(recipe), overrides)
    listener = Listener()
    if sys.stderr.isatty() and not json:
        from bnndeploy.training.progress import ProgressBar

        listener = ProgressBar()
    report = run_training(wanted, data, out, download=download, listener=listener)
    if json:
        emit_json(report)
        return
    echo(
        f"{report['name']}: test accuracy {100 * report['test_accuracy']:.2f} %, validation "
        f"{100 * report['validation_accuracy']:.2f} % in epoch {report['best_epoch']} of "
        f"{report['epochs']}, {report['seconds']:.0f} s, in {out}"
    )
