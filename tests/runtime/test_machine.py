import subprocess

import pytest

from bnndeploy.runtime import machine


@pytest.mark.parametrize(
    ("text", "expected"), [("150000 100000\n", 2), ("max 100000\n", None), ("", None)]
)
def test_a_containers_limit_is_rounded_up_to_whole_processors(
    monkeypatch, tmp_path, text, expected
):
    quota = tmp_path / "cpu.max"
    quota.write_text(text)
    monkeypatch.setattr(machine, "_CPU_QUOTA", quota)

    assert machine.cpu_quota() == expected


def test_devices_are_read_as_nvidia_smi_prints_them(monkeypatch):
    def answer(command, **options):
        output = "NVIDIA H100, 81559 MiB, 550.54, 9.0\nNVIDIA T4, 15360 MiB, 550.54, 7.5\n"
        return subprocess.CompletedProcess(command, 0, output, "")

    monkeypatch.setattr(machine.subprocess, "run", answer)

    assert machine.gpus() == [
        machine.Gpu("NVIDIA H100", "81559 MiB", "550.54", "9.0"),
        machine.Gpu("NVIDIA T4", "15360 MiB", "550.54", "7.5"),
    ]


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError("nvidia-smi"),
        subprocess.CalledProcessError(9, "nvidia-smi"),
        subprocess.TimeoutExpired("nvidia-smi", 20),
    ],
)
def test_without_a_working_driver_there_are_no_devices(monkeypatch, error):
    def fail(command, **options):
        raise error

    monkeypatch.setattr(machine.subprocess, "run", fail)

    assert machine.gpus() == []


def test_the_processor_has_a_name(monkeypatch, tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: Fast Chip 9000\n")
    monkeypatch.setattr(machine, "_CPU_INFO", info)

    assert machine.cpu_name() == "Fast Chip 9000"


def test_a_system_without_cpuinfo_names_its_architecture(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_CPU_INFO", tmp_path / "gone")
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "aarch64")

    assert machine.cpu_name() == "aarch64"
