"""A packed network's weights, the kernels' own copies included, stay small in memory."""

import ctypes
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

SHARE = 1 / 6  # of what the same weights take as float32
COPIES = 2  # that a kernel keeps: one layout for many positions, one for few
SESSION = 3 << 19  # bytes of ONNX Runtime's own nodes, functions and kernels: no weights
NETWORKS = ["bnn-vgg-cifar10", "birealnet-18-imagenet"]
PRODUCTS = {"XnorGemm", "XnorConv", "TernaryGemm", "TernaryConv"}


@pytest.fixture(scope="module", params=NETWORKS)
def packed_file(request, tmp_path_factory):
    from bnndeploy.export import export_run
    from bnndeploy.training import load_run

    path = tmp_path_factory.mktemp("packed") / "model.onnx"
    export_run(load_run(request.param, weights="random"), path)
    return path


def count_weights(path):
    """Returns bytes of all initializers as float32, and bytes of those that hold packed codes."""
    import onnx

    graph = onnx.load(path).graph
    numbers = {tensor.name: math.prod(tensor.dims) for tensor in graph.initializer}
    packed = 0
    for node in graph.node:
        if node.domain == "ai.bnndeploy" and node.op_type in PRODUCTS:
            words = numbers[node.input[1]]
            packed += 4 * words
            numbers[node.input[1]] = words * 32 // (2 if node.op_type.startswith("Ternary") else 1)
    return 4 * sum(numbers.values()), packed


def resident_growth(path):
    """Returns the bytes that a session of the file keeps, in a process that had one before."""
    done = subprocess.run(
        [sys.executable, __file__, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_weights_take_at_most_a_sixth_of_float32(packed_file):
    float32, packed = count_weights(packed_file)

    grown = resident_growth(packed_file)

    assert grown > packed_file.stat().st_size, "the measure saw no weights"
    assert grown <= SHARE * float32 + SESSION, f"{grown} bytes, {float32} as float32"
    assert grown <= packed_file.stat().st_size + COPIES * packed + SESSION, f"{packed} packed"


def anonymous_bytes():
    """Returns this process's memory that no file backs, after the heap gave back what is free."""
    ctypes.CDLL(None).malloc_trim(0)
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


def main(path):
    """Prints how much a second session adds to the first one's memory."""
    from bnndeploy.runtime import InferenceSession

    sessions = [InferenceSession(path, threads=1)]  # brings in code, registries and pools
    before = anonymous_bytes()
    sessions.append(InferenceSession(path, threads=1))
    print(anonymous_bytes() - before)


if __name__ == "__main__":
    main(sys.argv[1])
