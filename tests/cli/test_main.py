"""The frame around every command: one line for an expected error, help for everybody."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from bnndeploy import cli
from bnndeploy.cli import app
from bnndeploy.errors import DataError


def fail_with(error, monkeypatch, capsys):
    def broken():
        raise error

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return stopped.value.code, capsys.readouterr().err


def test_an_expected_error_is_one_line_and_exit_code_1(monkeypatch, capsys):
    code, printed = fail_with(DataError("cat.png: got text"), monkeypatch, capsys)

    assert (code, printed) == (1, "bnndeploy: cat.png: got text\n")


@pytest.mark.parametrize(
    ("module", "extra"),
    [("torch", "train"), ("onnx_ir", "tools"), ("PIL.Image", "cpu"), ("fastapi", "serve")],
)
def test_a_missing_package_is_named_with_its_extra(module, extra, monkeypatch, capsys):
    code, printed = fail_with(ModuleNotFoundError(name=module), monkeypatch, capsys)

    assert code == 1
    assert f'pip install "bnndeploy[{extra}]"' in printed
    assert printed.count("\n") == 1


def test_a_package_of_no_extra_is_not_explained_away(monkeypatch):
    def broken():
        raise ModuleNotFoundError("No module named 'nonsense'", name="nonsense")

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(ModuleNotFoundError, match="nonsense"):
        cli.main()


def test_every_command_has_help_and_a_usage_error_exits_with_2():
    commands = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert {"train", "export", "bench", "predict", "serve"} <= set(commands)

    for command in commands:
        result = CliRunner().invoke(app, [command.replace("_", "-"), "--help"])
        assert result.exit_code == 0, command
        wrong = CliRunner().invoke(app, [command.replace("_", "-"), "--no-such-option"])
        assert wrong.exit_code == 2, command


def test_the_package_runs_as_a_module():
    result = subprocess.run(
        [sys.executable, "-m", "bnndeploy", "--help"], capture_output=True, text=True, check=True
    )

    assert "verify-parity" in result.stdout
