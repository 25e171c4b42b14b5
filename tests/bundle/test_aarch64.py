"""The cross build for 64-bit ARM under emulation: its kernels, and a bundle's own program.

``make test-aarch64`` makes the build, fetches ONNX Runtime for ARM and runs these tests.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bnndeploy.bundle.edge import RUNNER, write_edge_bundle
from bnndeploy.export import export_run
from bnndeploy.runtime import get_library_path
from bnndeploy.training import load_run

BUILD = Path(os.environ.get("BNNDEPLOY_AARCH64", ""))
COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64"
HOST = f"linux-{os.uname().machine}"

# The newest CPU that the emulator knows, and one without the dot product extension.
CPUS = {"max": "scalar neon neondot", "cortex-a53": "scalar neon"}

# ONNX Runtime reads this file before it runs anything, and does not survive that of an x86 machine.
CPUINFO = """\
processor\t: {index}
BogoMIPS\t: 100.00
Features\t: fp asimd evtstrm cpuid
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd03
CPU revision\t: 4

"""

pytestmark = [
    pytest.mark.skipif(
        "BNNDEPLOY_AARCH64" not in os.environ,
        reason="BNNDEPLOY_AARCH64 names no cross build; make test-aarch64 makes one",
    ),
    pytest.mark.skipif(
        shutil.which(COMPILER) is None or shutil.which(EMULATOR) is None,
        reason=f"no {COMPILER} or no {EMULATOR}; install g++-aarch64-linux-gnu and qemu-user",
    ),
]


@pytest.fixture(scope="session")
def emulate(tmp_path_factory):
    """Runs a program on one of the emulated CPUs and returns what it prints."""
    root = tmp_path_factory.mktemp("root")  # the emulator looks for files here first
    libc = subprocess.check_output([COMPILER, "-print-file-name=libc.so.6"], text=True)
    (root / "lib").symlink_to(Path(libc.strip()).resolve().parent)
    (root / "proc").mkdir()
    cpuinfo = "".join(CPUINFO.format(index=index) for index in range(os.cpu_count() or 1))
    (root / "proc" / "cpuinfo").write_text(cpuinfo)

    def run(cpu, *command, isa=""):
        emulator = [EMULATOR, "-L", root, "-cpu", cpu, "-E", f"BNNDEPLOY_ISA={isa}"]
        done = subprocess.run([*emulator, *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_every_arm_kernel_equals_plain_loops(emulate):
    printed = emulate("max", BUILD / "bnn_kernels_test")

    assert printed.splitlines()[0] == f"instruction sets: {CPUS['max']}"


@pytest.mark.parametrize("cpu", CPUS)
def test_the_cpu_has_the_variants_of_its_instruction_sets(emulate, cpu):
    printed = emulate(cpu, BUILD / "bnn_kernels_test", "a cap on the instruction set")

    assert printed.splitlines()[0] == f"instruction sets: {CPUS[cpu]}"


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    paths = [folder / f"{index}.pgm" for index in range(4)]
    for path, pixels in zip(paths, np.random.default_rng(1).integers(0, 256, (4, 64)), strict=True):
        path.write_bytes(b"P5\n8 8\n255\n" + pixels.astype(np.uint8).tobytes())
    return paths


@pytest.fixture(scope="module")
def bundles(built, tmp_path_factory):
    """Returns the bundles of a network of the zoo for this machine and for ARM; makes each once."""

    @functools.cache
    def make(network):
        folder = tmp_path_factory.mktemp(network)
        model = folder / "model.onnx"
        export_run(load_run(network, "random"), model)
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("BNNDEPLOY_LIBRARY", str(built / get_library_path().name))
            write_edge_bundle(model, folder / "host", HOST)
            environment.setenv("BNNDEPLOY_LIBRARY", str(BUILD / get_library_path().name))
            onnxruntime = BUILD / "libonnxruntime.so"
            write_edge_bundle(model, folder / "arm", "linux-aarch64", onnxruntime=onnxruntime)
        return folder / "host", folder / "arm"

    return make


def classify(runner, images, emulate=None, **options):
    """Returns the lines of fields that a bundle's program prints, on this machine or emulated."""
    command = [runner, "--top", "10", *images]
    if emulate is None:
        printed = subprocess.check_output(command, text=True)
    else:
        printed = emulate(options.pop("cpu"), *command, **options)
    return [line.split("\t") for line in printed.splitlines()]


@pytest.mark.parametrize(("cpu", "isa"), [("max", ""), ("max", "scalar"), ("cortex-a53", "")])
def test_a_binary_network_answers_as_on_this_machine(emulate, bundles, images, cpu, isa):
    host, arm = bundles("bnn-cnn-digits")
    expected = classify(host / RUNNER, images)

    answers = classify(arm / RUNNER, images, emulate, cpu=cpu, isa=isa)

    assert len({tuple(answer[1:]) for answer in expected}) == len(images)
    assert answers == expected


@pytest.mark.parametrize("cpu", CPUS)
def test_real_valued_inputs_answer_within_rounding(emulate, bundles, images, cpu):
    host, arm = bundles("ttq-lenet-digits")  # ternary weights: the order of its sums is free
    expected = classify(host / RUNNER, images)

    answers = classify(arm / RUNNER, images, emulate, cpu=cpu)

    for answer, right in zip(answers, expected, strict=True):
        assert answer[0] == right[0]
        probabilities = dict(zip(right[1::2], map(float, right[2::2]), strict=True))
        found = dict(zip(answer[1::2], map(float, answer[2::2]), strict=True))
        assert found == pytest.approx(probabilities, abs=5e-6)
