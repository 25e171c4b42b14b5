"""bnndeploy data, as a user calls it."""

import json
import tarfile

from typer.testing import CliRunner

from bnndeploy.cli import app
from bnndeploy.training import data


def bnndeploy(*arguments):
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


def test_without_a_name_every_data_set_is_listed_with_its_files():
    listed = json.loads(bnndeploy("--json").stdout)["data_sets"]

    assert [item["name"] for item in listed] == data.names()
    assert all(item["about"] and item["files"] for item in listed)
    assert "MNIST/raw" in bnndeploy().stdout


def test_a_data_set_is_counted_class_by_class():
    report = json.loads(bnndeploy("digits", "--json").stdout)

    assert sum(report["images"].values()) == 1797
    for part, counts in report["histogram"].items():
        assert sum(counts.values()) == report["images"][part]
    assert report["input"]["shape"] == [1, 8, 8]


def test_a_recipe_shows_the_data_it_trains_on():
    result = bnndeploy("bnn-cnn-digits")

    assert result.exit_code == 0
    assert result.stdout.startswith("digits: 10 classes, images 1x8x8 grey, values 0 to 16")
    assert "█" in result.stdout


def test_imagenet_is_sorted_from_the_command_line(tmp_path):
    (tmp_path / "a.JPEG").write_bytes(b"image a")
    with tarfile.open(tmp_path / "val.tar", "w") as tar:
        tar.add(tmp_path / "a.JPEG", "a.JPEG")
    (tmp_path / "labels.txt").write_text("a.JPEG n01\n")

    result = bnndeploy(
        *("--sort-imagenet", tmp_path / "val.tar", "--labels", tmp_path / "labels.txt"),
        *("--out", tmp_path / "val"),
    )

    assert result.stdout == f"1 images in 1 classes, in {tmp_path / 'val'}\n"
    assert (tmp_path / "val" / "n01" / "a.JPEG").read_bytes() == b"image a"


def test_sorting_without_labels_is_a_usage_error(tmp_path):
    assert bnndeploy("--sort-imagenet", tmp_path / "val.tar").exit_code == 2


def test_samples_are_written_and_listed(tmp_path):
    result = bnndeploy("digits", "--samples", 2, "--out", tmp_path, "--json")

    assert result.exit_code == 0
    files = json.loads(result.stdout)["files"]
    assert sorted(files) == sorted(str(path) for path in tmp_path.glob("*.png"))
    assert len(files) == 2


def test_samples_without_a_folder_are_a_usage_error():
    result = bnndeploy("digits", "--samples", 2)

    assert result.exit_code == 2
    assert "--out" in result.output
