import json

import pytest
from typer.testing import CliRunner

from bnndeploy.cli import app
from bnndeploy.training import overview, zoo


def run(*arguments):
    result = CliRunner().invoke(app, ["models", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def two(monkeypatch):
    """A zoo that lists two of its networks."""
    monkeypatch.setattr(zoo, "names", lambda: ["bnn-cnn-digits", "bnn-mlp-digits"])


@pytest.mark.usefixtures("two")
def test_lists_every_network_with_its_counts():
    lines = run().splitlines()

    assert lines[0].split()[:4] == ["name", "network", "input", "layers"]
    assert [line.split()[:4] for line in lines[2:]] == [
        ["bnn-cnn-digits", "bnn-cnn", "1x8x8", "5"],
        ["bnn-mlp-digits", "bnn-mlp", "1x8x8", "3"],
    ]


@pytest.mark.usefixtures("two")
def test_prints_the_table_of_the_docs():
    entries = [overview.describe("bnn-cnn-digits"), overview.describe("bnn-mlp-digits")]

    assert run("--markdown") == overview.to_markdown(entries)


@pytest.mark.usefixtures("two")
def test_prints_json():
    found = json.loads(run("--json"))

    assert found["schema"] == 1
    assert [entry["name"] for entry in found["models"]] == ["bnn-cnn-digits", "bnn-mlp-digits"]
    assert found["models"][0]["packed_bytes"] > 0


def test_shows_the_layers_of_one_network():
    lines = run("bnn-mlp-digits").splitlines()

    assert lines[2].split()[:3] == ["0", "Flatten", "64"]
    total = next(line for line in lines if line.startswith("total")).split()
    counts = overview.describe("bnn-mlp-digits").counts
    assert total[1:] == [str(value) for value in vars(counts).values()]
    assert any(line.startswith("source: Hubara et al.") for line in lines)


def test_shows_the_layers_of_one_network_as_json():
    found = json.loads(run("bnn-mlp-digits", "--json"))

    assert found["network"] == "bnn-mlp"
    assert sum(row["binary_parameters"] for row in found["rows"]) == found["binary_parameters"]
