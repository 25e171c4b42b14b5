"""Packed models for the CUDA provider; everything here skips where no device answers."""

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("torch")

from bnndeploy.export import export_run
from bnndeploy.runtime import InferenceSession
from bnndeploy.runtime.providers import CPU, cuda_runs
from bnndeploy.training import load_run

# Every kind of node: packed chains, max-pool on bits, residuals, ternary weights, float X.
MODELS = ["bnn-mlp-digits", "bnn-cnn-digits", "resnet-binary-cifar10", "ttq-lenet-digits"]


def pytest_collection_modifyitems(items):
    here = [item for item in items if "tests/gpu/" in item.path.as_posix()]
    if here and not cuda_runs():
        skip = pytest.mark.skip(reason="no CUDA device, onnxruntime-gpu or CUDA library here")
        for item in here:
            item.add_marker(skip)


class Packed:
    """A model file, inputs for it and what the CPU makes of them."""

    def __init__(self, path, seed):
        self.path = str(path)
        self.session = InferenceSession(self.path, [CPU])
        self.input = self.session.get_inputs()[0]
        self.output = self.session.get_outputs()[0].name
        self.rng = np.random.default_rng(seed)

    def feed(self, batch):
        shape = [batch, *self.input.shape[1:]]
        return {self.input.name: self.rng.normal(size=shape).astype(np.float32)}

    def on_cpu(self, feed):
        return self.session.run([self.output], feed)[0]


@pytest.fixture(scope="session", params=MODELS)
def packed(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("gpu") / f"{request.param}.onnx"
    export_run(load_run(request.param, weights="random"), path)
    return Packed(path, seed=1)
