"""The README's tour: every command and every line of Python in it runs, in order."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.S)


def tour_commands() -> list[str]:
    lines = "".join(blocks("console")).splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    return tmp_path_factory.mktemp("tour")


@pytest.fixture(scope="module")
def environment():
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def run(command: str, workplace: Path, environment: dict[str, str]) -> None:
    result = subprocess.run(
        ["sh", "-c", command], cwd=workplace, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(address: str, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=5) as response:
                return response.status == 200
        except OSError:
            time.sleep(0.2)
    return False


def serve_and_ask(command: str, workplace: Path, environment: dict[str, str]) -> None:
    port = free_port()
    server = subprocess.Popen(
        [*shlex.split(command), "--port", str(port)], cwd=workplace, env=environment
    )
    try:
        assert answers(f"http://127.0.0.1:{port}/v2/health/ready", 60)
        assert answers(f"http://127.0.0.1:{port}/", 5)
    finally:
        server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0


@pytest.mark.slow
def test_every_command_and_snippet_of_the_tour_runs(workplace, environment):
    commands = tour_commands()
    assert len(commands) >= 8
    for command in commands:
        if command.startswith("bnndeploy serve"):
            serve_and_ask(command, workplace, environment)
        else:
            run(command, workplace, environment)

    program = workplace / "program.py"
    program.write_text("".join(blocks("python")))
    run(f"{shlex.quote(sys.executable)} program.py", workplace, environment)

    assert (workplace / "own.onnx").is_file()
    assert (workplace / "bench.png").is_file()


def test_every_page_that_the_readme_links_to_exists():
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text())

    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
