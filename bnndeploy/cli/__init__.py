"""The command line: one file per command, heavy imports inside each."""

from __future__ import annotations

import sys

import typer

from bnndeploy.errors import BnnDeployError

app = typer.Typer(
    name="bnndeploy",
    help="Binary and ternary neural networks: train, export, verify, measure, serve.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Runs the command line; an expected error is one line on standard error and exit code 1."""
    try:
        app()
    except BnnDeployError as error:
        typer.echo(f"bnndeploy: {error}", err=True)
        sys.exit(1)
