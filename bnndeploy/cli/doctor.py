"""``bnndeploy doctor``: says what the machine has, what is wrong and what would be faster."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from typer import Exit, echo

from bnndeploy.cli._output import Json, emit_json

if TYPE_CHECKING:
    from bnndeploy.runtime.diagnosis import Diagnosis


def doctor(as_json: Json = False) -> None:
    """Say what this machine and installation have, what is wrong and what would be faster."""
    from bnndeploy.runtime.diagnosis import diagnose

    found = diagnose()
    if as_json:
        emit_json(asdict(found))
    else:
        echo("\n".join(_lines(found)))
    if found.problems:
        raise Exit(1)


def _lines(found: Diagnosis) -> list[str]:
    facts = [*_machine_facts(found), *_runtime_facts(found)]
    width = max(len(name) for name, _ in facts)
    lines = [f"{name:<{width}}  {value}" for name, value in facts]
    lines += ["", *(f"problem: {problem}" for problem in found.problems or ["none found"])]
    return lines + [f"faster: {hint}" for hint in found.faster]


def _machine_facts(found: Diagnosis) -> list[tuple[str, str]]:
    quota = f", limited to {found.cpu_quota} by the container" if found.cpu_quota else ""
    return [
        ("bnndeploy", f"{found.bnndeploy} on Python {found.python}, {found.system}"),
        ("processor", found.cpu),
        ("threads", f"{found.threads}{quota}"),
        *(
            ("gpu", f"{gpu.name}, {gpu.memory}, driver {gpu.driver}, sm {gpu.compute_capability}")
            for gpu in found.gpus
        ),
        *([] if found.gpus else [("gpu", "none")]),
    ]


def _runtime_facts(found: Diagnosis) -> list[tuple[str, str]]:
    wheels = ", ".join(f"{name} {version}" for name, version in found.wheels.items())
    facts = [
        ("onnxruntime", wheels or "not installed"),
        ("providers", ", ".join(found.providers) or "none"),
        ("library", found.library or "not found"),
        ("CUDA kernels", found.cuda_library or "not built"),
    ]
    if found.kernels:
        isa = found.kernels["isa"]
        cap = f" (BNNDEPLOY_ISA={isa['cap']})" if isa["cap"] else ""
        facts += [
            ("instructions", ", ".join(isa["supported"])),
            ("used", ", ".join(isa["allowed"]) + cap),
            (
                "kernels",
                ", ".join(f"{n}: {k['chosen']}" for n, k in found.kernels["kernels"].items()),
            ),
        ]
    whole = [extra for extra, missing in found.extras.items() if not missing]
    partly = [f"{extra} lacks {', '.join(m)}" for extra, m in found.extras.items() if m]
    return [*facts, ("extras", "; ".join([", ".join(whole) or "none", *partly]))]
