"""Requests a second and latency of ``bnndeploy serve``, with and without batching, in one run.

    python benchmarks/serve.py digits.onnx --seconds 3

Starts one server for each setting and asks it with keep-alive connections from this process, one
row a request as binary tensors. Clients and server share the machine's cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bnndeploy.cli._output import table
from bnndeploy.runtime import InferenceSession
from bnndeploy.runtime.signature import read_signature


def request_for(model: Path) -> bytes:
    """Builds the bytes of one request: a single row for every input, as binary tensors."""
    entries, raw = [], []
    for spec in read_signature(InferenceSession(model)).inputs.values():
        shape = [max(1, size) for size in spec.sizes]
        raw.append(np.zeros(shape, np.float32).tobytes())
        parameters = {"binary_data_size": len(raw[-1])}
        entries.append(
            {"name": spec.name, "datatype": "FP32", "shape": shape, "parameters": parameters}
        )
    document = {"inputs": entries, "parameters": {"binary_data_output": True}}
    header = json.dumps(document).encode()
    body = b"".join([header, *raw])
    head = (
        f"POST /v2/models/{model.stem}/infer HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Length: {len(body)}\r\nInference-Header-Content-Length: {len(header)}\r\n\r\n"
    )
    return head.encode() + body


async def client(port: int, request: bytes, stop: float, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < stop:
        started = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().splitlines()
            if line.startswith(b"content-length")
        )
        await reader.readexactly(length)
        times.append(time.perf_counter() - started)
    writer.close()
    await writer.wait_closed()


async def measure(port: int, request: bytes, clients: int, seconds: float) -> list[float]:
    await asyncio.gather(*(client(port, request, time.perf_counter() + 0.3, []) for _ in range(2)))
    times: list[float] = []
    stop = time.perf_counter() + seconds
    await asyncio.gather(*(client(port, request, stop, times) for _ in range(clients)))
    return sorted(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    arguments = parser.parse_args()
    request = request_for(arguments.model)
    rows = []
    for max_batch, delay in ((1, 0.0), (32, 0.0), (32, 2.0)):
        command = [sys.executable, "-m", "bnndeploy", "serve", str(arguments.model), "--port", "0"]
        limits = ["--max-batch", str(max_batch), "--max-delay-ms", str(delay), "--threads", "1"]
        server = subprocess.Popen([*command, *limits], stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        port = int(server.stdout.readline().split(" (")[0].rsplit(":", 1)[1])
        for clients in arguments.clients:
            times = asyncio.run(measure(port, request, clients, arguments.seconds))
            p50, p99 = (1000 * times[int(len(times) * part)] for part in (0.5, 0.99))
            rows.append((max_batch, delay, clients, len(times) / arguments.seconds, p50, p99))
        server.terminate()
        server.wait()
    header = ("max batch", "delay ms", "clients", "requests/s", "p50 ms", "p99 ms")
    print(table(header, rows))


if __name__ == "__main__":
    main()
