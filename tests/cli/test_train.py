"""bnndeploy train, as a user calls it."""

import json
import os
import subprocess
import sys

ARGUMENTS = ["bnn-mlp-digits", "--set", "train.epochs=2", "--set", "model.options.hidden=[16]"]


def bnndeploy(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "bnndeploy", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def test_train_prints_one_json_object_and_resumes_to_the_same_report(tmp_path):
    first = bnndeploy("train", *ARGUMENTS, "--out", tmp_path / "run", "--json")
    again = bnndeploy("train", *ARGUMENTS, "--out", tmp_path / "run", "--json")

    assert first.returncode == 0, first.stderr
    assert first.stderr == ""
    report = json.loads(first.stdout)
    assert report["schema"] == 1
    assert 0 < report["test_accuracy"] <= 1
    assert json.loads(again.stdout) == report


def test_another_recipe_in_the_same_folder_is_one_line_and_exit_code_1(tmp_path):
    bnndeploy("train", *ARGUMENTS, "--out", tmp_path / "run")

    other = bnndeploy("train", *ARGUMENTS, "--seed", 5, "--out", tmp_path / "run")

    assert other.returncode == 1
    assert other.stdout == ""
    assert other.stderr.count("\n") == 1
    assert "differs in train.seed" in other.stderr


def test_a_wrong_key_is_one_line_that_names_the_nearest(tmp_path):
    result = bnndeploy("train", "bnn-mlp-digits", "--set", "train.epoch=1", "--out", tmp_path / "r")

    assert result.returncode == 1
    assert "unknown key 'epoch' (did you mean 'epochs'?)" in result.stderr
    assert not (tmp_path / "r").exists()


def test_no_output_folder_is_a_usage_error():
    assert bnndeploy("train", "bnn-mlp-digits").returncode == 2
