import pytest

from bnndeploy.errors import ModelFileError
from bnndeploy.runtime import providers
from bnndeploy.runtime.providers import CPU, CUDA, check_active, choose_providers


@pytest.mark.parametrize(
    ("available", "library", "devices", "portable", "chosen"),
    [
        ([CUDA, CPU], True, 1, False, [CUDA, CPU]),
        ([CUDA, CPU], True, 0, False, [CPU]),
        ([CUDA, CPU], False, 1, False, [CPU]),
        ([CUDA, CPU], True, 1, True, [CPU]),
        ([CPU], True, 1, False, [CPU]),
    ],
)
def test_none_takes_cuda_only_when_all_of_it_is_there(
    monkeypatch, available, library, devices, portable, chosen
):
    fault = None if library else "are not built"
    monkeypatch.setattr(providers, "cuda_library_fault", lambda: fault)
    monkeypatch.setattr(providers, "cuda_devices", lambda: devices)

    assert choose_providers(None, available, portable=portable) == chosen


def test_a_wanted_provider_keeps_its_options(monkeypatch):
    monkeypatch.setattr(providers, "cuda_library_fault", lambda: None)
    wanted = [(CUDA, {"device_id": 1}), CPU]

    assert choose_providers(wanted, [CUDA, CPU], portable=False) == wanted


def test_a_wanted_provider_that_is_missing_is_named():
    with pytest.raises(ModelFileError, match=r"CUDAExecutionProvider: not in this .*\[gpu\]"):
        choose_providers([CUDA], [CPU], portable=False)


def test_cuda_without_our_kernels_is_refused_unless_portable(monkeypatch):
    monkeypatch.setattr(providers, "cuda_library_fault", lambda: "are not built")

    with pytest.raises(ModelFileError, match="our CUDA kernels are not built, expected"):
        choose_providers([CUDA, CPU], [CUDA, CPU], portable=False)
    assert choose_providers([CUDA], [CUDA, CPU], portable=True) == [CUDA]


def test_a_provider_that_fell_away_is_named():
    with pytest.raises(ModelFileError, match="CUDAExecutionProvider: onnxruntime could not start"):
        check_active([CUDA, CPU], [CPU])


def test_no_driver_means_no_device(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(providers.ctypes, "CDLL", missing)

    assert providers.cuda_devices() == 0
