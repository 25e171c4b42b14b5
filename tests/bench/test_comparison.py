"""Measuring one file against its float32 and int8 forms."""

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from bnndeploy.bench import bench
from bnndeploy.bench.plot import plot
from bnndeploy.cli import app
from bnndeploy.errors import ModelFileError
from bnndeploy.export import export_model
from bnndeploy.layers import QuantLinear

SECONDS = 0.03


@pytest.fixture(scope="module")
def packed_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "model.onnx"
    torch.manual_seed(0)
    binary = {"input_quantizer": "ste_sign", "weight_quantizer": "ste_sign", "bias": False}
    network = torch.nn.Sequential(
        QuantLinear(64, 256, **binary), torch.nn.BatchNorm1d(256), QuantLinear(256, 10, **binary)
    )
    export_model(network, torch.zeros(2, 64), path)
    return path


def test_three_forms_are_measured_at_every_batch_size(packed_file, tmp_path):
    report = bench(packed_file, batches=(1, 3), seconds=SECONDS)
    plot(report, tmp_path / "bench.png")

    assert [(row.form, row.batch) for row in report.rows] == [
        (form, batch) for batch in (1, 3) for form in ("packed", "float32", "int8")
    ]
    assert report.bytes["packed"] == packed_file.stat().st_size
    assert report.bytes["float32"] > (64 + 10) * 256 * 4  # the weights alone, as floats
    assert all(row.ratio == 1 for row in report.rows if row.form == "packed")
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_one_json_object(packed_file):
    arguments = ["bench", str(packed_file), "--batch", "2", "--seconds", "0.05", "--json"]

    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["schema"] == 1
    assert {row["form"] for row in report["rows"]} == {"packed", "float32", "int8"}


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "No graph was found"), (b"no model at all", "cannot load it")],
)
def test_a_file_that_is_no_model_is_refused(content, message, tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)

    with pytest.raises(ModelFileError, match=message):
        bench(path, seconds=SECONDS)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"missing\.onnx: .*expected an ONNX model"):
        bench(tmp_path / "missing.onnx", seconds=SECONDS)


def test_random_inputs_do_not_change_between_runs(packed_file):
    first, second = (bench(packed_file, batches=(1,), seconds=SECONDS) for _ in range(2))

    assert first.bytes == second.bytes
    assert np.isfinite([row.timing.p99 for row in (*first.rows, *second.rows)]).all()
