"""Exports every network of the zoo at its own size, in every form, and checks each file.

    python benchmarks/export_zoo.py [NETWORK ...] [--forms packed qonnx] [--out exports.json]

Each export runs in a process of its own, as one by the command line does, one after the other:
its seconds and peak memory (Python and torch take 0.7 GB of it), the bytes of the file, and what a
check of the file says:

- packed, float, standard, int2: the four steps of verify-parity against the module;
- qonnx: executed by the qonnx package and, imported again, by the packed graph;
- int8: how much the second quantisation moves the outputs. That is no fault of the file.

Weights are "random" (drawn, batch-norm statistics too) or "stepped": after two training steps,
so that statistics, scales, slopes and thresholds are those of activations that occur.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import nn

from bnndeploy.cli._output import table
from bnndeploy.export import export_run, import_model
from bnndeploy.parity import verify
from bnndeploy.quantizers import Quantizer
from bnndeploy.runtime import InferenceSession
from bnndeploy.training import load_run, zoo

FORMS = ("packed", "float", "standard", "int2", "int8", "qonnx")
WEIGHTS = ("random", "stepped")
OVERHEAD, FIXED = 1.02, 64 << 10
MARGIN = 1e-4  # how near to a threshold a value may turn by rounding
CLOSE = 1e-3  # of the largest output: how far outputs lie apart where nothing turned
STEPS, BATCH, RATE = 2, 4, 0.02


def step(module: nn.Module, shape: list[int]) -> None:
    """Trains a little on noise: every parameter and statistic leaves its first value."""
    torch.manual_seed(0)
    optimiser = torch.optim.Adam(module.parameters(), RATE)
    module.train()
    for _ in range(STEPS):
        logits = module(torch.randn(BATCH, *shape))
        loss = nn.functional.cross_entropy(logits, torch.randint(logits.shape[1], (BATCH,)))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    optimiser.zero_grad()  # gradients are memory that an export does not need
    module.eval()


def run_case(name: str, weights: str, form: str) -> dict[str, Any]:
    run = load_run(name, "random")
    if weights == "stepped":
        step(run.module, list(run.input_spec["shape"]))
    options = {"form": "standard", "int2": True} if form == "int2" else {"form": form}
    if form == "int8":
        options["calibration"] = torch.randn(BATCH, *run.input_spec["shape"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        report = export_run(run, path, **options)
        peak = peak_megabytes()
        started = time.perf_counter()
        ok, said = CHECKS.get(form, check_parity)(path, run)
    kinds = report.bytes_by_kind
    bound = kinds["one_bit"] + kinds["two_bit"] + kinds["float"]
    return {
        "passed": ok, "check": said, "seconds": round(report.seconds, 1),
        "peak_mb": peak, "bytes": report.size,
        "over_limit": form == "packed" and report.size > OVERHEAD * bound + FIXED,
        "check_seconds": round(time.perf_counter() - started, 1),
    }  # fmt: skip


def peak_megabytes() -> int:
    """Returns the greatest resident memory since the last reset."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def check_parity(path: Path, run: Any) -> tuple[bool, str]:
    report = verify(path, run)
    return report.passed, "; ".join(item.result for item in report.steps)


def check_int8(path: Path, run: Any) -> tuple[bool, str]:
    x, expected = given(run)
    got = InferenceSession(path, portable=True).run(None, {"input": x})[0]
    share = float(np.abs(got - expected).max() / np.abs(expected).max())
    return bool(np.isfinite(got).all()), f"outputs move by {share:.0%} of the largest"


def check_qonnx(path: Path, run: Any) -> tuple[bool, str]:
    x, expected = given(run)
    model = onnx.load(path)
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = len(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from qonnx.core.modelwrapper import ModelWrapper
        from qonnx.core.onnx_exec import execute_onnx

        values = execute_onnx(ModelWrapper(model), {"input": x}, return_full_exec_context=True)
    executed = values["logits"]
    again = import_model(path)
    packed = InferenceSession(again.model.SerializeToString()).run(None, {"input": x})[0]
    products = sum(n for op, n in again.nodes_after.items() if op.startswith(("Xnor", "Ternary")))
    worst = [float(np.abs(y - expected).max() / np.abs(expected).max()) for y in (executed, packed)]
    said = f"qonnx differs by {worst[0]:.1e}, packed again ({products} products) {worst[1]:.1e}"
    if max(worst) < CLOSE:
        return True, said
    # A value near a threshold may turn by rounding, which moves outputs, not classes.
    distance, where = first_turned_value(model, values, run, x) if worst[0] >= CLOSE else (0.0, "")
    if worst[1] >= CLOSE:  # verify-parity proves the packed form
        direct = InferenceSession(export_run(run, None).model.SerializeToString())
        apart = np.abs(packed - direct.run(None, {"input": x})[0]).max() / np.abs(expected).max()
        where += f"; packed again differs from the packed form by {apart:.1e}"
        distance = max(distance, float(apart))
    alike = all((y.argmax(1) == expected.argmax(1)).all() for y in (executed, packed))
    return alike and distance < MARGIN, said + where


def first_turned_value(
    model: onnx.ModelProto, values: dict[str, np.ndarray], run: Any, x: np.ndarray
) -> tuple[float, str]:
    """Finds the first quantizer whose levels differ between the file and the module.

    Returns how far from a threshold the values there are (of signs in standard deviations, else in
    levels), infinity if there is none, and says so. Layers behind follow from it, so that they
    prove nothing.
    """
    levels: dict[str, np.ndarray] = {}
    for name, part in run.module.named_modules():
        if isinstance(part, Quantizer):
            part.register_forward_hook(lambda m, i, y, name=name: levels.update({name: y.numpy()}))
    with torch.no_grad():
        run.module(torch.from_numpy(x))
    for node in model.graph.node:
        trained = levels.get(node.name.rsplit("/", 1)[0])
        if node.op_type not in ("BipolarQuant", "Quant") or trained is None:
            continue
        got, real = values[node.output[0]], values[node.input[0]]
        scale = np.max(values[node.input[1]])
        turned = np.abs(got / step_of(got) - trained / step_of(trained)) > 0.5
        if turned.any():
            if node.op_type == "BipolarQuant":
                distances = np.abs(real[turned]) / real.std()
            else:
                distances = np.abs(real[turned] / scale % 1 - 0.5)
            share = f"{turned.sum()} of {turned.size:,} values of {node.name}"
            distance = float(distances.max())
            return distance, f"; first turned: {share}, {distance:.0e} from the threshold"
    return math.inf, "; no quantizer shows why"


def step_of(levels: np.ndarray) -> float:
    """Returns how far levels are apart, 1 if there is only one."""
    return float(np.diff(np.unique(levels)).min(initial=np.inf)) if np.ptp(levels) else 1.0


def given(run: Any) -> tuple[np.ndarray, np.ndarray]:
    x = torch.randn(2, *run.input_spec["shape"], generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return x.numpy(), run.module(x).numpy()


FAILED = {"passed": False, "seconds": 0, "peak_mb": 0, "bytes": 0}
CHECKS = {"int8": check_int8, "qonnx": check_qonnx}


def measure(name: str, weights: str, form: str) -> dict[str, Any]:
    """Runs one case in a fresh process."""
    command = [sys.executable, __file__, name, "--weights", weights, "--inside", "--forms", form]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    case = {"network": name, "weights": weights, "form": form}
    if done.returncode == 0:
        return case | json.loads(done.stdout.splitlines()[-1])
    reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return case | FAILED | {"check": reason}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", default=zoo.names())
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--weights", nargs="+", choices=WEIGHTS, default=WEIGHTS)
    parser.add_argument("--out", type=Path, help="JSON file of the results, written as they come.")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.inside:
        print(json.dumps(run_case(*arguments.networks, *arguments.weights, *arguments.forms)))
        return
    results = []
    columns = ("network", "weights", "form", "seconds", "peak_mb", "bytes", "passed", "check")
    for case in itertools.product(arguments.networks, arguments.weights, arguments.forms):
        result = measure(*case)
        results.append(result)
        print(*(result[column] for column in columns), sep="\t", flush=True)
        if arguments.out:
            arguments.out.write_text(json.dumps(results, indent=1))
    failed = [r for r in results if not r["passed"] or r.get("over_limit")]
    if failed:
        print(table(columns, [[r[column] for column in columns] for r in failed]))
        raise SystemExit(1)


if __name__ == "__main__":
    main()
