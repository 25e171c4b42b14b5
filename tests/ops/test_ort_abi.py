"""Our declaration of ONNX Runtime's C ABI against ONNX Runtime's own header."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CHECK = Path(__file__).with_name("check_ort_abi.cc")


@pytest.fixture
def header():
    """Debian's libonnxruntime-dev, or the header that BNNDEPLOY_ORT_HEADER names."""
    chosen = os.environ.get("BNNDEPLOY_ORT_HEADER")
    path = Path(chosen or "/usr/include/onnxruntime/onnxruntime_c_api.h")
    if not path.is_file():
        pytest.skip(f"ONNX Runtime's header is not at {path}; set BNNDEPLOY_ORT_HEADER")
    return path


def check(header: Path, custom_ops: Path) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    flags = ["-std=c++17", "-fsyntax-only", f"-I{custom_ops}", f"-I{header.parent}"]
    return subprocess.run([compiler, *flags, str(CHECK)], capture_output=True, text=True)


def test_every_slot_field_and_enumeration_equals_onnxruntimes_own(header):
    done = check(header, ROOT / "custom_ops")

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("SLOT(91, ", "SLOT(92, ", "index of KernelContext_GetOutput"),
        ("const int64_t* dims,", "const int32_t* dims,", "signature of SetDimensions"),
    ],
)
def test_the_check_notices_a_wrong_slot(header, tmp_path, old, new, message):
    for folder in ("ort", "runner"):
        shutil.copytree(ROOT / "custom_ops" / folder, tmp_path / folder)
    slots = tmp_path / "ort" / "slots.inc"
    slots.write_text(slots.read_text().replace(old, new))

    done = check(header, tmp_path)

    assert done.returncode != 0
    assert message in done.stderr
