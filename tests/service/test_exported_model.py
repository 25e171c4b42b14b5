"""A network of the zoo, exported as users export it, run and served; and the pages' examples."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from service_helpers import running, tensor

from bnndeploy.runtime import InferenceSession
from bnndeploy.runtime.classifier import classify_files
from bnndeploy.service.server import Server
from bnndeploy.service.settings import Settings

torch = pytest.importorskip("torch")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def run():
    from bnndeploy.training import load_run

    return load_run("bnn-cnn-digits", "random")


@pytest.fixture(scope="module")
def digits_file(run, tmp_path_factory):
    from bnndeploy.export import export_run

    path = tmp_path_factory.mktemp("exported") / "digits.onnx"
    export_run(run, path)
    return path


@pytest.fixture(scope="module", params=["kernels", "portable"])
def exported_server(request, digits_file):
    settings = Settings(portable=request.param == "portable", threads=1, max_batch=8)
    with running(Server(digits_file, settings)) as server:
        yield server


def scans(count):
    from sklearn.datasets import load_digits

    return load_digits().images[:count]


def normalised(images, spec):
    x = images[:, None].astype(np.float32) / np.float32(spec["range"][-1])
    return (x - np.float32(spec["mean"][0])) / np.float32(spec["std"][0])


def trained_answer(run, x):
    with torch.no_grad():
        return run.module(torch.from_numpy(x)).numpy()


@pytest.mark.parametrize("rows", [1, 2, 7, 20])
def test_the_service_answers_as_the_trained_module(triton, connect, exported_server, run, rows):
    x = normalised(scans(rows), run.input_spec)

    result = connect(exported_server).infer("digits", [tensor(triton, "input", x)])

    np.testing.assert_allclose(
        result.as_numpy("logits"), trained_answer(run, x), rtol=1e-4, atol=1e-4
    )


def test_predict_sees_what_the_training_saw(digits_file, run, tmp_path):
    images = scans(20)
    paths = [tmp_path / f"{index}.npy" for index in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        np.save(path, image)

    answers = classify_files(InferenceSession(digits_file, threads=1), paths)

    best = trained_answer(run, normalised(images, run.input_spec)).argmax(axis=1)
    assert [guesses[0].label for guesses in answers] == [run.classes[index] for index in best]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S)


def test_the_examples_of_running_run(digits_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits.onnx").write_bytes(digits_file.read_bytes())
    Image.fromarray(np.full((20, 20), 99, np.uint8)).save("three.png")

    blocks = python_blocks("running.md")
    assert len(blocks) == 3
    exec("\n".join(blocks), {})


def test_the_examples_of_serving_run(triton, exported_server, capsys):
    (block,) = python_blocks("serving.md")

    exec(block.replace("127.0.0.1:8000", exported_server.url), {})

    assert re.search(rb"-?\d+\.\d+:\d:\d", capsys.readouterr().out.encode())
