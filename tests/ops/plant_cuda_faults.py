"""Plants faults in the CUDA kernels and asserts that the tests on the host catch each one.

    python tests/ops/plant_cuda_faults.py BUILD_FOLDER

Each fault changes one line of a copy of custom_ops/; the library for the host is built anew, and
tests/ops/test_product_tiles.py must fail. The untouched copy must pass.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TILE = "kernels/product/tensor_bits.cuh"
WEIGHTS = "kernels/product/tensor_weights.h"
LIBRARY = "libbnndeploy_ops_cuda_on_host.so"

FAULTS = {
    "missing barrier": (
        TILE, "cuda::Barrier();  // the stage has arrived for all, and", "//"
    ),
    "a wait for one group too few": (TILE, "WaitCopies<kStages - 2>", "WaitCopies<kStages - 1>"),
    "the wrong stage": (
        TILE, "shared + step % kStages * kStageSize", "shared + (step + 1) % kStages * kStageSize"
    ),
    "a read that is not swizzled": (
        TILE, "stage + ChunkAt(row, chunk + lane / 16)",
        "stage + row * kStageWords + (chunk + lane / 16) * kChunkWords",
    ),
    "a bound off by one": (TILE, "column < call.width", "column <= call.width"),
    "the wrong border": (
        WEIGHTS, "(extent - first + dilation - 1) / dilation", "(extent - first) / dilation"
    ),
    "a few positions without a barrier": (
        "kernels/product/few_positions.cuh", "    cuda::Barrier();\n", "\n"
    ),
}  # fmt: skip


def build(source: Path, folder: Path) -> None:
    configure = ["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DBNN_CUDA_ON_HOST=ON",
                 "-DCMAKE_BUILD_TYPE=Release"]  # fmt: skip
    target = ["cmake", "--build", folder, "--target", LIBRARY.removeprefix("lib").split(".")[0]]
    for command in (configure, target):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def passes(library: Path) -> bool:
    environment = {**os.environ, "BNNDEPLOY_LIBRARY": str(library)}
    tests = str(ROOT / "tests/ops/test_product_tiles.py")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # neither passed nor failed
        sys.exit(done.stdout + done.stderr)
    return done.returncode == 0


def main(folder: Path) -> None:
    source = folder / "source"
    shutil.copytree(ROOT / "custom_ops", source, dirs_exist_ok=True)
    build(source, folder / "build")
    if not passes(folder / "build" / LIBRARY):
        sys.exit("the tests fail without a fault")
    missed = []
    for name, (file, right, wrong) in FAULTS.items():
        path = source / file
        text = path.read_text()
        if text.count(right) != 1:
            sys.exit(f"{file}: {right!r} is there {text.count(right)} times, expected once")
        path.write_text(text.replace(right, wrong))
        build(source, folder / "build")
        caught = not passes(folder / "build" / LIBRARY)
        path.write_text(text)
        print(f"{name:36}{'caught' if caught else 'MISSED'}", flush=True)
        missed += [] if caught else [name]
    if missed:
        sys.exit(f"not caught: {', '.join(missed)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
