"""The bundle's own program against Python, on the same images."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
import toy_models

from bnndeploy.bundle.edge import RUNNER, write_edge_bundle
from bnndeploy.errors import ExportError, ModelFileError
from bnndeploy.runtime import Classifier, InferenceSession, get_library_path

TARGET = f"linux-{os.uname().machine}"
RGB_INPUT = {
    "shape": [3, 5, 4],
    "colour": "rgb",
    "mean": [0.1, 0.2, 0.3],
    "std": [0.5, 0.25, 2.0],
    "range": [0, 255],
}


@pytest.fixture
def library(built, monkeypatch):
    path = built / get_library_path().name
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(path))
    return path


@pytest.fixture
def bundle(library, tmp_path):
    """Makes a bundle of a toy classifier and returns its folder and model."""

    def make(**options):
        model = tmp_path / "toy.onnx"
        model.write_bytes(toy_models.classifier(**options)[0])
        write_edge_bundle(model, tmp_path / "bundle", TARGET)
        return tmp_path / "bundle", model

    return make


def run(folder, *arguments, cwd="/"):
    """Runs the bundle's program from another folder."""
    return subprocess.run(
        [folder / RUNNER, *map(str, arguments)], capture_output=True, text=True, cwd=cwd
    )


def ranking(line):
    """Returns image, classes and probabilities of one line of output."""
    image, *fields = line.split("\t")
    return image, fields[::2], [float(field) for field in fields[1::2]]


def pnm(path, pixels, maximum=255, comment=""):
    """Writes pixels [H, W] as PGM or [H, W, 3] as PPM."""
    magic = "P5" if pixels.ndim == 2 else "P6"
    height, width = pixels.shape[:2]
    data = pixels.astype(">u2" if maximum > 255 else "u1").tobytes()
    path.write_bytes(f"{magic}{comment}\n{width} {height}\n{maximum}\n".encode() + data)
    return path


def check_against_python(folder, model, image, row):
    guesses = Classifier(InferenceSession(model, portable=True)).classify([row], top=3)[0]

    done = run(folder, "--top", 3, image)

    assert done.returncode == 0, done.stderr
    name, classes, probabilities = ranking(done.stdout.strip())
    assert name == str(image)
    assert classes == [guess.label for guess in guesses]
    assert probabilities == pytest.approx([g.probability for g in guesses], abs=1e-5)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("maximum", [15, 255, 65535])
def test_a_grey_image_is_classified_as_python_does(bundle, tmp_path, flat, maximum):
    folder, model = bundle(flat=flat, classes=("null", "one two", "zwölf"))
    pixels = np.random.default_rng(6).integers(0, maximum + 1, (8, 8))
    row = ((pixels / maximum - 0.5) / 0.25).astype(np.float32)
    image = pnm(tmp_path / "a.pgm", pixels, maximum, "  # a comment")

    check_against_python(folder, model, image, row.reshape(64 if flat else (1, 8, 8)))


def test_a_colour_image_is_classified_as_python_does(bundle, tmp_path):
    folder, model = bundle(spec=RGB_INPUT)
    pixels = np.random.default_rng(7).integers(0, 256, (5, 4, 3))
    mean, std = np.array(RGB_INPUT["mean"]), np.array(RGB_INPUT["std"])
    row = ((pixels / 255 - mean) / std).transpose(2, 0, 1).astype(np.float32)

    check_against_python(folder, model, pnm(tmp_path / "a.ppm", pixels), row)


def test_raw_floats_are_taken_as_they_are(bundle, tmp_path):
    folder, model = bundle()
    row = np.random.default_rng(8).standard_normal((1, 8, 8), np.float32)
    (tmp_path / "a.f32").write_bytes(row.tobytes())

    check_against_python(folder, model, tmp_path / "a.f32", row)


def test_several_images_and_their_time_are_printed_in_order(bundle, tmp_path):
    folder, _ = bundle()
    images = [pnm(tmp_path / f"{name}.pgm", np.zeros((8, 8))) for name in "ba"]

    lines = run(folder, "--repeat", 3, *images).stdout.splitlines()

    assert [line.split("\t")[0] for line in lines] == [str(i) for i in images for _ in range(2)]
    assert lines[1].split("\t")[1] == "median ms"
    assert float(lines[1].split("\t")[2]) > 0


def test_every_file_has_its_sum_in_the_manifest(bundle):
    folder, model = bundle()

    manifest = json.loads((folder / "manifest.json").read_text())
    checked = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True)

    assert checked.returncode == 0
    assert manifest["target"] == TARGET
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert set(manifest["files"]) == files - {"manifest.json", "SHA256SUMS"}
    assert (folder / "model.onnx").read_bytes() == model.read_bytes()
    assert manifest["files"]["model.onnx"]["bytes"] == model.stat().st_size


PGM = b"P5\n8 8\n255\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is no binary PGM image"),
        (b"P5", "got 0 x 0 pixels, expected 8 x 8"),
        (b"P2\n8 8\n255\n" + bytes(64), "is no binary PGM image"),
        (b"P6\n8 8\n255\n" + bytes(192), "is no binary PGM image"),
        (b"P5\n9 8\n255\n" + bytes(72), "got 9 x 8 pixels, expected 8 x 8"),
        (b"P5\n8 8\n0\n" + bytes(64), "pixels, expected 8 x 8"),
        (b"P5\n8 8\n65536\n" + bytes(128), "pixels, expected 8 x 8"),
        (b"P5\n-8 8\n255\n" + bytes(64), "pixels, expected 8 x 8"),
        (b"P5 8 99999999999999999999 255 ", "pixels, expected 8 x 8"),
        (b"P5\n# no end", "pixels, expected 8 x 8"),
        (PGM[:-1], "is cut off"),
        (PGM + bytes(63), "is cut off"),
        (b"P5\n8 8\n256\n" + bytes(127), "is cut off"),
    ],
)
def test_a_wrong_image_gives_one_line_and_exit_code_1(bundle, tmp_path, data, message):
    folder, _ = bundle()
    image = tmp_path / "a.pgm"
    image.write_bytes(data)

    done = run(folder, image)

    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "model.onnx").write_bytes(b"no model"), "model.onnx: "),
        (lambda folder: (folder / "input.txt").unlink(), "input.txt: cannot be read"),
        (lambda folder: (folder / "input.txt").write_text("image 1 8 8\n"), "lacks sizes, mean"),
        (lambda folder: (folder / "lib" / "libonnxruntime.so.1").unlink(), "libonnxruntime.so.1"),
        (lambda folder: (folder / "lib" / get_library_path().name).unlink(), "libbnndeploy_ops"),
    ],
)
def test_a_spoilt_bundle_gives_one_line_and_exit_code_1(bundle, tmp_path, spoil, message):
    folder, _ = bundle()
    image = pnm(tmp_path / "a.pgm", np.zeros((8, 8)))
    spoil(folder)

    done = run(folder, image)

    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["--top"], ["--top", "0", "a"], ["--top", "x", "a"], ["--what", "1", "a"]]
)
def test_a_wrong_call_shows_the_usage_and_exit_code_2(bundle, arguments):
    folder, _ = bundle()

    done = run(folder, *arguments)

    assert done.returncode == 2
    assert done.stderr.startswith("usage: bnndeploy_run")


def elf(path, machine):
    path.write_bytes(b"\x7fELF\x02\x01" + bytes(12) + machine.to_bytes(2, "little") + bytes(40))
    return path


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("windows", "target: got 'windows', expected linux-x86_64 or linux-aarch64"),
        ("linux-aarch64", r"libbnndeploy_ops\.so: got .* for linux-x86_64, expected linux-aarch64"),
    ],
)
def test_parts_for_another_machine_are_refused(library, tmp_path, monkeypatch, target, message):
    other = elf(tmp_path / library.name, 62)
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(other))
    model = tmp_path / "toy.onnx"
    model.write_bytes(toy_models.classifier()[0])

    with pytest.raises(ExportError, match=message):
        write_edge_bundle(model, tmp_path / "bundle", target)
    assert not (tmp_path / "bundle").exists()


def test_parts_built_for_another_machine_make_its_bundle(tmp_path, monkeypatch):
    for name in (get_library_path().name, RUNNER, "libonnxruntime.so"):
        elf(tmp_path / name, 183)
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(tmp_path / get_library_path().name))
    model = tmp_path / "toy.onnx"
    model.write_bytes(toy_models.classifier()[0])

    write_edge_bundle(
        model,
        tmp_path / "bundle",
        "linux-aarch64",
        onnxruntime=tmp_path / "libonnxruntime.so",
    )

    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    assert manifest["target"] == "linux-aarch64"
    assert set(manifest["files"]) == {
        "bnndeploy_run",
        "input.txt",
        "lib/libbnndeploy_ops.so",
        "lib/libonnxruntime.so.1",
        "model.onnx",
    }


def test_a_missing_runner_and_a_text_for_a_library_are_named(library, tmp_path, monkeypatch):
    alone = tmp_path / "alone"
    alone.mkdir()
    model = tmp_path / "toy.onnx"
    model.write_bytes(toy_models.classifier()[0])
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", shutil.copy(library, alone))
    with pytest.raises(ExportError, match=r"bnndeploy_run: got nothing at .* install bnndeploy"):
        write_edge_bundle(model, tmp_path / "bundle", TARGET)

    (alone / RUNNER).write_text("#!/bin/sh\n")
    with pytest.raises(ExportError, match="bnndeploy_run: is no 64-bit Linux library"):
        write_edge_bundle(model, tmp_path / "bundle", TARGET)


def test_a_model_that_classifies_no_images_is_refused(library, tmp_path):
    model = tmp_path / "toy.onnx"
    model.write_bytes(toy_models.identity())

    with pytest.raises(ModelFileError, match=r"bnndeploy\.input: got none"):
        write_edge_bundle(model, tmp_path / "bundle", TARGET)
