"""The CUDA library as a file: it loads without a device and holds the code that it should."""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from bnndeploy.runtime import InferenceSession, get_library_path
from bnndeploy.runtime.library import cuda_library_fault, get_cuda_library_path, kernel_report

ARCHITECTURES = {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}
MOST_BYTES = 4 << 20
# Of a thread; a block of 256 threads takes all registers of a multiprocessor at 256.
MOST_REGISTERS = 254
MOST_STACK_BYTES = 64
_DISASSEMBLED = {}


@pytest.fixture
def library():
    path = get_cuda_library_path()
    if path is None:
        pytest.skip("no CUDA library beside the operator library: it was built without an nvcc")
    return path


@pytest.fixture
def cuobjdump(monkeypatch):
    """Runs cuobjdump, the system's or the one of the wheel nvidia-cuda-cuobjdump."""
    wheels = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin"
    monkeypatch.setenv("PATH", str(wheels), prepend=":")
    if shutil.which("cuobjdump") is None or shutil.which("nvdisasm") is None:
        pytest.skip("cuobjdump and nvdisasm are not installed (the extra [dev] brings them)")

    def run(*arguments):
        return subprocess.run(
            ["cuobjdump", *map(str, arguments)], capture_output=True, text=True, check=True
        ).stdout

    return run


@pytest.fixture
def disassemble(library, cuobjdump):
    """Returns the machine code of an architecture as text."""

    def run(architecture):
        if (library, architecture) not in _DISASSEMBLED:
            code = cuobjdump("-sass", "-arch", architecture, library)
            _DISASSEMBLED[library, architecture] = code
        return _DISASSEMBLED[library, architecture]

    return run


def test_it_loads_and_joins_the_domain_without_a_device(library, make_model):
    model, feeds = make_model("Sign", [np.array([-2.0, 0.0, 3.0], np.float32)], {})
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(get_library_path()))

    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    np.testing.assert_array_equal(session.run(None, feeds)[0], [-1, 1, 1])
    assert cuda_library_fault() is None
    assert set(kernel_report()["cuda"]) == {"kernels", "nodes"}


def test_it_is_small_and_needs_no_library_of_cuda(library):
    assert library.stat().st_size < MOST_BYTES
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed")
    found = subprocess.run(
        [readelf, "-d", str(library)], capture_output=True, text=True, check=True
    ).stdout

    needed = re.findall(r"NEEDED.*\[(.*)\]", found)
    assert needed
    assert not [name for name in needed if "cuda" in name or "cu" in name.split(".")[0][3:]]


def test_it_holds_machine_code_for_every_architecture_and_ptx_for_later_ones(library, cuobjdump):
    assert set(re.findall(r"sm_\d+", cuobjdump("--list-elf", library))) == ARCHITECTURES
    assert set(re.findall(r"sm_\d+", cuobjdump("--list-ptx", library))) == {"sm_100"}


def test_registers_and_stack_stay_within_bounds(library, cuobjdump):
    found = cuobjdump("--dump-resource-usage", library)

    usage = re.findall(r"REG:(\d+) STACK:(\d+)", found)
    assert len(usage) >= 9 * len(ARCHITECTURES)
    assert max(int(registers) for registers, _ in usage) <= MOST_REGISTERS
    assert max(int(stack) for _, stack in usage) <= MOST_STACK_BYTES


def test_products_use_the_tensor_core_instruction_of_each_architecture(disassemble):
    """Where an instruction is not native the assembler would write other ones in its place."""
    native = {
        "sm_75": "BMMA.88128.XOR.POPC",
        "sm_80": "BMMA.168256.XOR.POPC",
        "sm_90": "BMMA.168256.AND.POPC",
        "sm_100": "IMMA.16832.U8.U8",
        "sm_120": "IMMA.16832.U8.U8",
    }
    counts = {}
    for architecture, instruction in native.items():
        code = disassemble(architecture)
        found = re.findall(r"\b[BI]MMA[.A-Z0-9]*", code)
        assert set(found) == {instruction}
        counts[architecture] = len(found)
        of_floats = set(re.findall(r"\bHMMA[.A-Z0-9]*", code))
        assert of_floats == (set() if architecture == "sm_75" else {"HMMA.16816.F32.BF16"})

    assert counts["sm_80"] == counts["sm_90"]
    assert counts["sm_100"] == counts["sm_120"] == 8 * counts["sm_80"]


def test_rounding_steps_are_not_fused(disassemble):
    """An FFMA would round the steps of the epilogue together."""
    for architecture in sorted(ARCHITECTURES):
        code = disassemble(architecture)
        assert "FMUL" in code
        assert not re.findall(r"\bFFMA\b.*", code)


@pytest.mark.parametrize("content", [b"", b"no library"])
def test_a_damaged_cuda_library_leaves_the_cpu_and_is_reported(
    tmp_path, monkeypatch, make_model, content
):
    copy = shutil.copy(get_library_path(), tmp_path / "libbnndeploy_ops.so")
    (tmp_path / "libbnndeploy_ops_cuda.so").write_bytes(content)
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(copy))
    model, feeds = make_model("Sign", [np.array([-2.0, 0.0, 3.0], np.float32)], {})

    np.testing.assert_array_equal(InferenceSession(model).run(None, feeds)[0], [-1, 1, 1])
    assert cuda_library_fault().startswith("cannot be loaded (")


def test_a_cuda_library_of_another_build_is_refused(tmp_path, monkeypatch):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    copy = shutil.copy(get_library_path(), tmp_path / "libbnndeploy_ops.so")
    other = tmp_path / "other.cc"
    other.write_text('extern "C" int BnnDeployCudaOps0() { return 0; }\n')
    built = tmp_path / "libbnndeploy_ops_cuda.so"
    subprocess.run([compiler, "-shared", "-fPIC", str(other), "-o", str(built)], check=True)
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(copy))

    assert "is not of the same build" in cuda_library_fault()
