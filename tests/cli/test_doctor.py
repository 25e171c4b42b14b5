import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bnndeploy.cli import app
from bnndeploy.errors import BnnDeployError
from bnndeploy.runtime import diagnosis, idle_gpu
from bnndeploy.runtime.idle_gpu import GpuFacts, why_idle
from bnndeploy.runtime.machine import Gpu
from bnndeploy.runtime.providers import CPU, CUDA

KERNELS = {
    "isa": {
        "supported": ["scalar", "avx2", "avx512bw", "avx512vpopcnt"],
        "allowed": ["scalar", "avx2", "avx512bw", "avx512vpopcnt"],
        "cap": None,
    },
    "kernels": {"sign": {"variants": ["avx2", "scalar"], "chosen": "avx2"}},
}


class FakeOnnxRuntime:
    __version__ = "1.32.0"
    providers = (CPU,)

    class SessionOptions:
        def register_custom_ops_library(self, path):
            pass

    def get_available_providers(self):
        return list(self.providers)

    def get_build_info(self):
        return "Release"


@pytest.fixture
def machine(monkeypatch):
    """A machine without a fault; tests spoil one thing each through the returned patcher."""
    set_ = monkeypatch.setattr
    set_(diagnosis, "get_library_path", lambda: Path("/lib/ops.so"))
    set_(diagnosis, "get_cuda_library_path", lambda: None)
    set_(diagnosis, "nvidia_on_bus", lambda: False)
    set_(diagnosis, "kernel_report", lambda: KERNELS)
    set_(diagnosis, "load_onnxruntime", FakeOnnxRuntime)
    set_(diagnosis, "installed_wheels", lambda: {"onnxruntime": "1.32.0"})
    set_(diagnosis.machine, "cpu_quota", lambda: None)
    set_(diagnosis.machine, "gpus", list)
    set_(diagnosis.platform, "machine", lambda: "x86_64")
    return monkeypatch


def run(*arguments):
    return CliRunner().invoke(app, ["doctor", *arguments])


def report():
    return json.loads(run("--json").stdout)


def failing(message):
    def fail():
        raise BnnDeployError(message)

    return fail


def test_a_sound_machine_has_no_problem_and_exit_code_0(machine):
    result = run()

    assert result.exit_code == 0
    assert "problem: none found" in result.output
    assert "faster:" not in result.output
    assert "sign: avx2" in result.output


def test_json_holds_what_the_text_says(machine):
    found = report()

    assert found["schema"] == 1
    assert found["kernels"] == KERNELS
    assert found["library"] == "/lib/ops.so"
    assert found["problems"] == found["faster"] == []


def test_each_problem_is_one_line_and_the_exit_code_is_1(machine):
    machine.setattr(diagnosis, "get_library_path", failing("operator library: got nothing"))
    machine.setattr(diagnosis, "load_onnxruntime", failing("onnxruntime is not installed"))

    result = run()

    assert result.exit_code == 1
    problems = [line for line in result.output.splitlines() if line.startswith("problem: ")]
    assert problems == [
        "problem: operator library: got nothing",
        "problem: onnxruntime is not installed",
    ]


def test_two_wheels_of_onnxruntime_are_a_problem(machine):
    both = {"onnxruntime": "1.32.0", "onnxruntime-gpu": "1.31.1"}
    machine.setattr(diagnosis, "installed_wheels", lambda: both)

    assert "are both installed" in report()["problems"][0]


def test_an_old_onnxruntime_is_a_problem(machine):
    machine.setattr(FakeOnnxRuntime, "__version__", "1.20.1")

    assert report()["problems"][0].startswith("onnxruntime 1.20.1: is older")


def test_a_library_that_onnxruntime_refuses_is_a_problem(machine):
    class Refusing:
        def register_custom_ops_library(self, path):
            raise RuntimeError("undefined symbol\nmore")

    machine.setattr(FakeOnnxRuntime, "SessionOptions", Refusing)

    (problem,) = report()["problems"]
    assert "refuses it (undefined symbol); install bnndeploy again" in problem


H100 = Gpu("H100", "80 GiB", "580", "9.0")
# A machine whose GPU is used; each row below spoils one thing.
USED = {
    "gpus": [H100],
    "on_bus": True,
    "driver_cuda": (13, 0),
    "devices": 1,
    "providers": [CUDA, CPU],
    "provider_fault": None,
    "library_fault": None,
}


@pytest.mark.parametrize(
    ("spoiled", "hint"),
    [
        ({"gpus": [], "driver_cuda": None}, "an NVIDIA device is idle: the driver is missing"),
        ({"driver_cuda": (12, 4)}, "H100 is idle: the driver speaks CUDA 12.4, .* need 13.0"),
        ({"devices": 0}, "H100 is idle: the CUDA driver answers for no device"),
        (
            {"gpus": [Gpu("V100", "16 GiB", "580", "7.0")]},
            "V100 is idle: it has compute capability 7.0, the kernels need 7.5",
        ),
        (
            {"providers": [CPU]},
            'H100 is idle: this onnxruntime has no CUDA; .*"bnndeploy\\[gpu\\]"',
        ),
        (
            {"provider_fault": "libcublas.so.13: cannot open shared object file"},
            "CUDA provider cannot be loaded \\(libcublas.so.13: .*onnxruntime-gpu\\[cuda,cudnn\\]",
        ),
        ({"library_fault": "are not built"}, "the CUDA kernels are not built; .*BNNDEPLOY_CUDA=1"),
        ({"library_fault": "cannot be loaded (x)"}, "the CUDA kernels cannot be loaded \\(x\\);"),
        ({}, None),
        ({"gpus": [], "on_bus": False, "driver_cuda": None, "devices": 0}, None),
    ],
)
def test_an_idle_device_is_explained_in_one_line(spoiled, hint):
    line = why_idle(GpuFacts(**USED | spoiled))

    if hint is None:
        assert line is None
    else:
        assert re.search(hint, line)
        assert "\n" not in line


def test_the_line_about_an_idle_device_is_a_hint_of_the_report(machine):
    machine.setattr(diagnosis.machine, "gpus", lambda: [H100])
    machine.setattr(diagnosis, "driver_cuda", lambda: (13, 0))
    machine.setattr(diagnosis, "cuda_devices", lambda: 1)
    machine.setattr(diagnosis, "cuda_library_fault", lambda: None)

    (line,) = report()["faster"]

    assert line.startswith("H100 is idle: this onnxruntime has no CUDA")


def test_a_device_on_the_bus_is_seen_without_a_driver(monkeypatch, tmp_path):
    for name, vendor, kind in [("0", "0x8086", "0x030000"), ("1", "0x10de", "0x030200")]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
        (tmp_path / name / "class").write_text(f"{kind}\n")
    monkeypatch.setattr(idle_gpu, "_PCI", tmp_path)
    assert idle_gpu.nvidia_on_bus()

    (tmp_path / "1" / "class").write_text("0x020000\n")  # a network card
    assert not idle_gpu.nvidia_on_bus()


def test_a_cuda_provider_that_does_not_load_says_what_it_lacks(monkeypatch):
    monkeypatch.setattr(
        idle_gpu, "_LOAD_PROVIDER", "import ctypes; ctypes.CDLL('libno_such_thing.so.13')"
    )

    assert idle_gpu.provider_fault().startswith("libno_such_thing.so.13: cannot open shared object")


def test_a_containers_limit_below_the_threads_is_a_hint(machine):
    machine.setattr(diagnosis.machine, "cpu_quota", lambda: 2)
    machine.setattr(diagnosis.machine, "visible_threads", lambda: 64)

    assert "pass threads=2 (--threads 2)" in report()["faster"][0]


@pytest.mark.parametrize(
    ("isa", "variants", "hint"),
    [
        ({"cap": "avx2", "allowed": ["scalar", "avx2"]}, ["avx2"], "BNNDEPLOY_ISA=avx2 holds"),
        ({"supported": ["scalar", "avx2"]}, ["avx2"], "this processor has no avx512vpopcnt"),
        ({}, ["scalar"], "sign: this build has portable code only"),
    ],
)
def test_kernels_that_could_be_faster_are_a_hint(machine, isa, variants, hint):
    kernels = {
        "isa": KERNELS["isa"] | isa,
        "kernels": {"sign": {"variants": variants, "chosen": variants[0]}},
    }
    machine.setattr(diagnosis, "kernel_report", lambda: kernels)

    assert report()["faster"][0].startswith(hint)


def test_the_real_machine_is_described_in_one_json_object():
    result = subprocess.run(
        [sys.executable, "-m", "bnndeploy", "doctor", "--json"], capture_output=True, text=True
    )

    found = json.loads(result.stdout)
    assert found["threads"] >= 1
    assert CPU in found["providers"]
    assert result.returncode == (1 if found["problems"] else 0)
