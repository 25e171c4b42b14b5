import pytest

from bnndeploy.errors import ModelFileError
from bnndeploy.runtime import get_library_path, kernel_report
from bnndeploy.runtime.library import get_cuda_library_path


def test_the_variable_names_another_build(monkeypatch, tmp_path):
    build = tmp_path / "other.so"
    build.touch()
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(build))

    assert get_library_path() == build.resolve()
    assert get_cuda_library_path() is None


def test_the_cuda_library_lies_beside_the_operator_library(monkeypatch, tmp_path):
    for name in ("libbnndeploy_ops.so", "libbnndeploy_ops_cuda.so"):
        (tmp_path / name).touch()
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(tmp_path / "libbnndeploy_ops.so"))

    assert get_cuda_library_path() == (tmp_path / "libbnndeploy_ops_cuda.so").resolve()


def test_every_kernel_has_chosen_one_of_its_variants():
    kernels = kernel_report()["kernels"]

    assert kernels
    for kernel in kernels.values():
        assert kernel["chosen"] in kernel["variants"]


def test_an_unknown_instruction_set_is_named(monkeypatch):
    monkeypatch.setenv("BNNDEPLOY_ISA", "avx3")

    with pytest.raises(ModelFileError, match="BNNDEPLOY_ISA: got 'avx3', expected one of scalar"):
        kernel_report()


def test_a_file_that_is_no_library_cannot_be_asked(monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_text("not a shared object")
    monkeypatch.setenv("BNNDEPLOY_LIBRARY", str(broken))

    with pytest.raises(ModelFileError, match=r"broken\.so: cannot be asked about its kernels"):
        kernel_report()
