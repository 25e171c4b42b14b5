"""Whole networks of the zoo, packed against float32 and int8 of the same network, in one run.

    python benchmarks/networks.py [NAME ...] [--batch N ...] [--threads N] [--peers PYTHON] [--json]

The weights are random: speed does not depend on them. The float32 form is the same graph with
float weights in standard operators, the int8 form that graph quantized by ONNX Runtime's tools.
"floor" is the part of the packed network's time that ONNX Runtime's own kernels take: stem,
down-sampling, head.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from turns import Contender, Peers, rows, take_turns

from bnndeploy import InferenceSession
from bnndeploy.bench import explain, random_inputs
from bnndeploy.export import expand, export_run, quantize_int8
from bnndeploy.training import load_run

NETWORKS = [
    "bnn-vgg-cifar10",
    "birealnet-18-imagenet",
    "binary-resnet-e-18-imagenet",
    "quicknet-medium-imagenet",
]


def sessions(path: Path, threads: int) -> dict[str, InferenceSession]:
    """Opens the packed file and its float32 and int8 forms."""
    packed = InferenceSession(path, threads=threads)
    float32 = expand(onnx.load(path))
    calibration = [random_inputs(packed, 1, np.random.default_rng(0))]
    int8 = quantize_int8(float32, calibration)
    return {"packed": packed} | {
        name: InferenceSession(model.SerializeToString(), threads=threads, portable=True)
        for name, model in (("float32", float32), ("int8", int8))
    }


def measure(name: str, arguments: argparse.Namespace, peers: Peers, folder: Path) -> list[Any]:
    """Exports one network and times its forms at every batch size."""
    path = folder / f"{name}.onnx"
    export_run(load_run(name, weights="random"), path)
    opened = sessions(path, arguments.threads)
    found = []
    for batch in arguments.batch:
        inputs = random_inputs(opened["packed"], batch, np.random.default_rng(1))
        contenders = [Contender(n, partial(s.run, None, inputs)) for n, s in opened.items()]
        request = {"network": name if batch == 1 else None}
        times = take_turns(contenders, arguments.rounds, peers, request)
        nodes = explain(path, inputs, threads=arguments.threads)
        floor = sum(node.share for node in nodes if not node.variant)
        found += [row | {"batch": batch, "floor": floor} for row in rows(name, times)]
    return found


def line(row: dict[str, Any]) -> str:
    """Lays out one row of the table."""
    floor = f"  floor {row['floor']:.0%}" if row["contender"] == "packed" else ""
    return (
        f"{row['subject']:<28} batch {row['batch']:>3}  {row['contender']:<13}"
        f" {row['best_ms']:9.3f} ms  median {row['median_ms']:9.3f}"
        f"  {row['times_ours']:6.2f}x ours{floor}"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NETWORKS)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--peers", type=Path, help="Python with other engines, see peers.py")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    peers = Peers(arguments.peers)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names:
            of_network = measure(name, arguments, peers, Path(folder))
            found += of_network
            if not arguments.json:
                print("\n".join(map(line, of_network)), flush=True)
    if arguments.json:
        print(json.dumps({"schema": 1, "threads": arguments.threads, "rows": found}))


if __name__ == "__main__":
    main()
