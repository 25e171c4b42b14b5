"""The library as a whole: what it exports, which kernels it chooses and says it chose."""

import ctypes
import shutil
import subprocess

import numpy as np
import onnxruntime as ort
import pytest

from bnndeploy.errors import ModelFileError
from bnndeploy.runtime import InferenceSession, get_library_path
from bnndeploy.runtime.library import kernel_report

KERNELS = kernel_report()["kernels"]
LADDERS = [["scalar", "avx2", "avx512bw", "avx512vpopcnt", "amx"], ["scalar", "neon", "neondot"]]
ONE = np.ones(1, np.float32)
WORD = np.zeros((1, 1), np.uint32)
EPILOGUE = [ONE] * 6
# kernel -> a node that needs it
NODES = {
    "sign": ("Sign", [ONE], {}),
    "ternary": ("Ternary", [np.ones((1, 1), np.float32), ONE], {}),
    "pack_bits": ("PackBits", [np.ones((1, 1), np.float32), ONE, ONE], {}),
    "unpack_bits": ("UnpackBits", [WORD], {"channels": 1}),
    "max_pool_bits": (
        "MaxPoolBits",
        [np.zeros((1, 1, 1, 1), np.uint32), np.zeros(1, np.uint32)],
        {"kernel_shape": [1, 1], "strides": [1, 1], "pads": [0, 0, 0, 0]},
    ),
    "product_bits": ("XnorGemm", [WORD, WORD, *EPILOGUE], {"k": 1, "acc_min": 0.0}),
    "product_float": (
        "XnorGemm",
        [np.ones((1, 256), np.float32), np.zeros((256, 8), np.uint32), *EPILOGUE],
        {"k": 256, "acc_min": 0.0},  # the tiles pay only where there is something to compute
    ),
}


def rung(variant):
    """Returns the instruction set of a variant: products name the type of X too (bits_avx2)."""
    return variant.removeprefix("bits_").removeprefix("float_")


def created(kernel):
    return kernel_report()["kernels"][kernel]["created"]


def test_exports_the_two_entry_points_and_nothing_else():
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not installed")
    found = subprocess.run(
        [nm, "-D", "--defined-only", str(get_library_path())],
        capture_output=True,
        text=True,
        check=True,
    )

    symbols = {line.split()[-1].split("@")[0] for line in found.stdout.splitlines()}
    assert symbols == {"RegisterCustomOps", "BnnDeployKernels"}


def test_every_kernel_has_a_portable_variant_listed_last():
    assert set(KERNELS) == set(NODES)
    for kernel in KERNELS.values():
        assert rung(kernel["variants"][-1]) == "scalar"


def test_the_report_names_the_machine_and_the_cap(monkeypatch):
    machine = kernel_report()["isa"]
    assert "scalar" in machine["supported"]
    assert machine["allowed"] == machine["supported"]

    monkeypatch.setenv("BNNDEPLOY_ISA", "scalar")

    assert kernel_report()["isa"] == machine | {"allowed": ["scalar"], "cap": "scalar"}


@pytest.mark.parametrize("kernel", NODES)
def test_the_best_variant_below_the_cap_is_created(run_op, isa, kernel):
    below = next(ladder[: ladder.index(isa) + 1] for ladder in LADDERS if isa in ladder)
    before = created(kernel)
    op_type, inputs, attributes = NODES[kernel]

    run_op(op_type, inputs, **attributes)

    variants = KERNELS[kernel]["variants"]
    new = [name for name, count in created(kernel).items() if count != before.get(name, 0)]
    assert new == [kernel_report()["kernels"][kernel]["chosen"]]
    assert rung(new[0]) in below
    best = max((below.index(rung(v)) for v in variants if rung(v) in below), default=0)
    assert rung(new[0]) == below[best]


def test_a_cap_of_another_architecture_leaves_portable_code(monkeypatch):
    other = "neon" if "neon" not in kernel_report()["isa"]["supported"] else "avx2"
    monkeypatch.setenv("BNNDEPLOY_ISA", other)

    assert kernel_report()["isa"]["allowed"] == ["scalar"]


def test_a_cap_above_the_machine_changes_nothing(monkeypatch):
    machine = kernel_report()["isa"]["supported"]
    top = LADDERS[1 if "neon" in machine else 0][-1]
    monkeypatch.setenv("BNNDEPLOY_ISA", top)

    assert kernel_report()["isa"]["allowed"] == machine


def test_plain_onnxruntime_runs_the_ops_and_sessions_may_coexist(make_model):
    model, feeds = make_model("Sign", [np.array([-2.0, 0.0, 3.0], np.float32)], {})
    sessions = []
    for _ in range(3):
        options = ort.SessionOptions()
        options.register_custom_ops_library(str(get_library_path()))
        sessions.append(ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]))
        sessions = sessions[-2:]

        for session in sessions:
            np.testing.assert_array_equal(session.run(None, feeds)[0], [-1, 1, 1])


def test_an_onnxruntime_that_is_too_old_is_told_so(tmp_path):
    """Plays an ONNX Runtime that knows API version 1 only."""
    said = []
    create_status = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(
        lambda code, message: said.append((code, message.decode())) or 1
    )
    table = (ctypes.c_void_p * 1)(ctypes.cast(create_status, ctypes.c_void_p))
    get_api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(
        lambda version: ctypes.addressof(table) if version == 1 else None
    )
    get_version = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(version_string))
    version_string = ctypes.create_string_buffer(b"0.9.9")
    base = (ctypes.c_void_p * 2)(
        ctypes.cast(get_api, ctypes.c_void_p), ctypes.cast(get_version, ctypes.c_void_p)
    )
    fresh = ctypes.CDLL(str(shutil.copy(get_library_path(), tmp_path / "fresh.so")))
    fresh.RegisterCustomOps.restype = ctypes.c_void_p

    status = fresh.RegisterCustomOps(None, ctypes.byref(base))

    assert status == 1
    assert said == [
        (
            2,
            "bnndeploy operator library: got ONNX Runtime 0.9.9, expected one with API version "
            "18, such as 1.23 or later",
        )
    ]


def test_a_pool_size_that_is_no_number_is_refused(make_model):
    options = ort.SessionOptions()
    options.add_session_config_entry("bnndeploy.threads", "many")
    model, _ = make_model("Sign", [ONE], {})

    with pytest.raises(ModelFileError, match=r"bnndeploy\.threads: got many, expected a number"):
        InferenceSession(model, options=options)
