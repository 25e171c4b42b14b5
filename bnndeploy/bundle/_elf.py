"""Which machine a shared library is for, from the first bytes of the file."""

from __future__ import annotations

from pathlib import Path

from bnndeploy.errors import ExportError

_MACHINES = {62: "linux-x86_64", 183: "linux-aarch64"}  # e_machine of the ELF header
TARGETS = tuple(_MACHINES.values())


def target_of(library: Path) -> str:
    """Returns the target that a library or program was built for.

    Raises:
        ExportError: If it is no ELF file of a machine that we know.
    """
    with library.open("rb") as stream:
        header = stream.read(20)
    machine = int.from_bytes(header[18:20], "little")
    if header[:6] != b"\x7fELF\x02\x01" or machine not in _MACHINES:
        raise ExportError(
            f"{library}: is no 64-bit Linux library for {' or '.join(TARGETS)}; give one that is"
        )
    return _MACHINES[machine]
