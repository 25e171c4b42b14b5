"""The command line: one file per command, heavy imports inside each."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

from bnndeploy.cli import (
    bench,
    bundle,
    data,
    demo,
    doctor,
    export,
    inspect_model,
    models,
    predict,
    serve,
    train,
    verify_parity,
)
from bnndeploy.cli._extras import explain
from bnndeploy.errors import BnnDeployError

app = typer.Typer(
    name="bnndeploy",
    help="Binary and ternary neural networks: train, export, verify, measure, serve.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

# In the order in which --help lists them; a file and its one command share their name.
for command in (
    demo.demo,
    train.train,
    export.export,
    verify_parity.verify_parity,
    bench.bench,
    serve.serve,
    predict.predict,
    inspect_model.inspect,
    bundle.bundle,
    models.models,
    data.data,
    doctor.doctor,
):
    app.command()(command)


@app.callback()
def _root() -> None:
    """Binary and ternary neural networks: train, export, verify, measure, serve."""


def main() -> None:
    """Runs the command line; an expected error is one line on standard error and exit code 1."""
    try:
        app()
    except BnnDeployError as error:
        _fail(error)
    except ModuleNotFoundError as error:
        missing = explain(error)
        if missing is None:
            raise
        _fail(missing)


def _fail(error: BnnDeployError) -> NoReturn:
    typer.echo(f"bnndeploy: {error}", err=True)
    sys.exit(1)
