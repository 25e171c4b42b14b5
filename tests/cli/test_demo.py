"""The demo: the main job, offline, on the bundled digits."""

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_demo_trains_exports_proves_measures_and_predicts(tmp_path):
    out = tmp_path / "demo"

    ran = subprocess.run(
        [sys.executable, "-m", "bnndeploy", "demo", "--out", str(out), "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "BNNDEPLOY_DATA": str(tmp_path)},  # no data set to be found there
    )

    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert report["test_accuracy"] >= 0.95
    assert report["parity"] is True
    assert report["bytes"]["packed"] * 5 < report["bytes"]["float32"]
    assert {row["form"] for row in report["speed"]} == {"packed", "float32", "int8"}
    assert len(report["predictions"]) == len(list((out / "samples").glob("*.png"))) == 6
    assert (out / "digits.onnx").is_file()
    assert (out / "bench.png").is_file()
