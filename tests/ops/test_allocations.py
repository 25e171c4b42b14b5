"""A run takes no memory but what ONNX Runtime's own allocator hands out."""

import ctypes
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bnndeploy.runtime import get_library_path

SHIM = Path(__file__).with_name("count_allocations.cc")
ONE = np.ones(1, np.float32)
ZERO = np.full(1, -0.0, np.float32)
EPILOGUE = [ONE, ZERO, ZERO, ONE, ZERO, ONE]
CONV = {
    "channels": 70,
    "strides": [1, 1],
    "pads": [1, 1, 1, 1],
    "dilations": [1, 1],
    "group": 1,
    "pad_value": 0,
    "acc_min": float("-inf"),
}
GEMM = {"k": 200, "acc_min": float("-inf")}
POOL = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0]}


def words(rng, *shape, length):
    """Returns rows of `length` random bits with pad bits 0."""
    found = rng.integers(0, 2**32, (*shape, -(-length // 32)), np.uint32)
    found[..., -1] &= np.uint32(2 ** (length % 32 or 32) - 1)
    return found


def nodes(rng):
    """Returns (op type, inputs, attributes) that reach every operator, both types of X."""
    image = rng.normal(size=(2, 70, 9, 9)).astype(np.float32)
    packed = words(rng, 2, 9, 9, length=70)
    plus = words(rng, 40, 3, 3, length=70)
    ternary = np.stack([plus & 0x0F0F0F0F, plus & 0xF0F0F0F0])
    row, row_bits = rng.normal(size=(3, 200)).astype(np.float32), words(rng, 3, length=200)
    matrix = words(rng, 40, length=200)
    return [
        ("Sign", [image], {}),
        ("Ternary", [image, ONE], {}),
        ("PackBits", [image, ONE, ZERO], {}),
        ("UnpackBits", [packed], {"channels": 70}),
        ("MaxPoolBits", [packed, np.zeros(3, np.uint32)], POOL),
        ("XnorConv", [packed, plus, *EPILOGUE], CONV),
        ("XnorConv", [image, plus, *EPILOGUE], CONV),
        ("TernaryConv", [packed, ternary, ONE, ONE, *EPILOGUE], CONV),
        ("XnorGemm", [row_bits, matrix, *EPILOGUE], GEMM),
        ("XnorGemm", [row, matrix, *EPILOGUE], GEMM),
    ]


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    compiler = shutil.which("c++")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C++ compiler on Linux")
    path = tmp_path_factory.mktemp("shim") / "count_allocations.so"
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-ldl"]
    done = subprocess.run([compiler, str(SHIM), "-o", str(path), *flags], capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"the counter does not build here: {done.stderr.decode()[:200]}")
    return path


def count(shim, tmp_path, models, threads):
    """Returns for each model how often creation and three runs allocate, in a fresh process."""
    if b"__asan_init" in Path(get_library_path()).read_bytes():
        pytest.skip("the sanitizer owns the allocator")
    file = tmp_path / "models.pickle"
    file.write_bytes(pickle.dumps((models, threads)))
    done = subprocess.run(
        [sys.executable, __file__, str(file)],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(shim)},
    )
    assert done.returncode == 0, done.stderr
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_allocates_nothing_from_the_heap(shim, tmp_path, make_model, rng, threads):
    wanted = nodes(rng)
    models = [make_model(op, inputs, attributes) for op, inputs, attributes in wanted]

    counts = count(shim, tmp_path, models, threads)

    assert len(counts) == len(wanted)
    for (op, _, _), (created, run) in zip(wanted, counts, strict=True):
        assert created > 0, f"{op}: the counter saw nothing"
        assert run == 0, op


def library_range(path):
    """Returns first and last address of a mapped library."""
    lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if path in line]
    edges = [int(edge, 16) for line in lines for edge in line.split()[0].split("-")]
    return min(edges), max(edges)


def main(file):
    """Prints the counts of each model; runs with the counter preloaded."""
    from bnndeploy.runtime import InferenceSession

    counter = ctypes.CDLL(None)
    counter.CountAllocationsOf.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    counter.AllocationCount.restype = ctypes.c_long
    models, threads = pickle.loads(Path(file).read_bytes())
    ctypes.CDLL(str(get_library_path()))
    begin, end = library_range(str(Path(get_library_path()).resolve()))
    for model, feeds in models:
        counter.CountAllocationsOf(begin, end)
        session = InferenceSession(model, threads=threads)
        created = counter.AllocationCount()
        session.run(None, feeds)
        counter.CountAllocationsOf(begin, end)
        for _ in range(3):
            session.run(None, feeds)
        print(created, counter.AllocationCount())


if __name__ == "__main__":
    main(sys.argv[1])
