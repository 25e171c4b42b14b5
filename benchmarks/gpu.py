"""Our CUDA kernels against ONNX Runtime's and torch's, and the device's own limits, in one run.

    python benchmarks/gpu.py [--rounds N] [--only TEXT] [--json]

Limits: copy bandwidth, and the rate of one-bit matrix instructions, measured by a kernel that does
nothing else. Layers: 3x3 convolutions and matrix products; ours with bits in and bits out, against
fp16 in ONNX Runtime and torch, and int8 in torch (and ONNX Runtime's MatMulInteger). Networks:
the packed model with and without a CUDA graph against its standard form in fp32 and fp16, batch 1
to 256. Data stay on the device; contenders take turns round by round, the best round counts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from kernels import epilogue, model
from onnx import TensorProto

from bnndeploy import InferenceSession
from bnndeploy.ops.names import DOMAIN
from bnndeploy.ops.packing import pack_bits, word_count
from bnndeploy.runtime.providers import CUDA, cuda_runs

MAPS = [(56, 64), (28, 128), (14, 256), (7, 512)]
PRODUCTS = [(1, 4096, 4096), (64, 4096, 4096), (4096, 4096, 4096), (8192, 8192, 8192)]
NETWORKS = ["bnn-vgg-cifar10", "resnet-binary-cifar10"]
BATCHES = [1, 8, 64, 256]
GRAPH = (CUDA, {"enable_cuda_graph": "1"})
LEAST_SECONDS = 0.02  # of one round: short runs are repeated

Run = Callable[[], None]

# Each warp issues independent 16 x 8 x 256-bit products; `and` where the chip has it, else `xor`.
ONE_BIT_KERNEL = """
extern "C" __global__ void one_bit(int* out, int rounds) {
  int c[8][4] = {};
  unsigned a[4] = {threadIdx.x, 1, 2, 3}, b[2] = {blockIdx.x, 5};
  for (int r = 0; r < rounds; ++r) {
    #pragma unroll
    for (int i = 0; i < 8; ++i)
      asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.OPERATION.popc "
          "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+r"(c[i][0]), "+r"(c[i][1]), "+r"(c[i][2]), "+r"(c[i][3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def seconds(run: Run) -> float:
    """Returns the time of one run, of as many as LEAST_SECONDS take."""
    import torch

    count = 1
    while True:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            run()
        torch.cuda.synchronize()
        took = time.perf_counter() - start
        if took >= LEAST_SECONDS:
            return took / count
        count *= 2


def copy_bandwidth() -> float:
    """Returns the GB/s of a copy within the device, both directions counted."""
    import torch

    source = torch.zeros(1 << 28, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    best = min(seconds(lambda: target.copy_(source)) for _ in range(5))
    return 2 * source.nbytes / best / 1e9


def one_bit_rate() -> float:
    """Returns the 10^12 one-bit operations a second (multiply and add count as two)."""
    import torch

    properties = torch.cuda.get_device_properties(0)
    operation = "and" if properties.major >= 9 else "xor"
    kernel = torch.cuda._compile_kernel(ONE_BIT_KERNEL.replace("OPERATION", operation), "one_bit")
    blocks, threads, rounds = properties.multi_processor_count * 4, 256, 4096
    out = torch.empty(blocks * threads, dtype=torch.int32, device="cuda")
    run = lambda: kernel(  # noqa: E731
        grid=(blocks, 1, 1), block=(threads, 1, 1), args=[out, rounds]
    )
    best = min(seconds(run) for _ in range(5))
    return blocks * threads / 32 * rounds * 8 * 16 * 8 * 256 * 2 / best / 1e12


def on_device(session, feeds, outputs) -> Run:
    """Binds inputs and outputs in device memory once; the returned function runs the session."""
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value, "cuda", 0))
    for name, shape, kind in outputs:
        value = ort.OrtValue.ortvalue_from_shape_and_type(shape, kind, "cuda", 0)
        binding.bind_ortvalue_output(name, value)
    return lambda: session.run_with_iobinding(binding)


def ours(op_type, x, w, y_shape, attributes) -> Run:
    """Our operator, bits in and bits out."""
    bits_shape = [y_shape[0], *y_shape[2:], word_count(y_shape[1])]
    outputs = [("", TensorProto.FLOAT, y_shape), ("Ybits", TensorProto.UINT32, bits_shape)]
    weights = {"W": w, **epilogue(y_shape[1], None)}
    proto = model(
        op_type, DOMAIN, {"X": (TensorProto.UINT32, x.shape)}, outputs, weights,
        {**attributes, "acc_min": float("-inf")},
    )  # fmt: skip
    session = InferenceSession(proto.SerializeToString(), [CUDA])
    return on_device(session, {"X": x}, [("Ybits", bits_shape, np.uint32)])


def theirs(op_type, x, weights, y_shape, kind, attributes) -> Run:
    """An operator of ONNX Runtime on the CUDA provider."""
    types = {"float16": TensorProto.FLOAT16, "int8": TensorProto.INT8, "int32": TensorProto.INT32}
    proto = model(
        op_type, "", {"X": (types[x.dtype.name], x.shape)},
        [("Y", types[np.dtype(kind).name], y_shape)], weights, attributes,
    )  # fmt: skip
    session = ort.InferenceSession(proto.SerializeToString(), providers=[CUDA])
    return on_device(session, {"X": x}, [("Y", y_shape, kind)])


def conv_layers(batch: int) -> Iterator[tuple[str, float, dict[str, Run]]]:
    import torch

    rng = np.random.default_rng(0)
    for size, channels in MAPS:
        shape = [batch, channels, size, size]
        x = rng.choice([-1.0, 1.0], size=shape).astype(np.float16)
        w = rng.choice([-1.0, 1.0], size=(channels, channels, 3, 3)).astype(np.float16)
        attributes = {
            "channels": channels, "strides": [1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1],
            "group": 1, "pad_value": 0,
        }  # fmt: skip
        packed = [pack_bits(value.transpose(0, 2, 3, 1)) for value in (x, w)]
        tx, tw = (
            torch.from_numpy(value).cuda().to(memory_format=torch.channels_last) for value in (x, w)
        )
        yield (
            f"conv {size}x{size}x{channels} batch {batch}",
            float(batch * size * size * channels * channels * 9),
            {
                "ours": ours("XnorConv", *packed, shape, attributes),
                "ORT fp16": theirs("Conv", x, {"W": w}, shape, np.float16, {"pads": [1] * 4}),
                "torch fp16": lambda tx=tx, tw=tw: torch.nn.functional.conv2d(tx, tw, padding=1),
            },
        )


def gemm_layers() -> Iterator[tuple[str, float, dict[str, Run]]]:
    import torch

    rng = np.random.default_rng(0)
    for m, n, k in PRODUCTS:
        x = rng.choice([-1, 1], size=(m, k)).astype(np.int8)
        w = rng.choice([-1, 1], size=(n, k)).astype(np.int8)
        wt = np.ascontiguousarray(w.T)
        half, half_w = x.astype(np.float16), wt.astype(np.float16)
        runs = {
            "ours": ours("XnorGemm", pack_bits(x), pack_bits(w), [m, n], {"k": k}),
            "ORT fp16": theirs("MatMul", half, {"W": half_w}, [m, n], np.float16, {}),
            "ORT int8": theirs("MatMulInteger", x, {"W": wt}, [m, n], np.int32, {}),
        }
        a, b = torch.from_numpy(half).cuda(), torch.from_numpy(half_w).cuda()
        runs["torch fp16"] = lambda a=a, b=b: torch.matmul(a, b)
        if m > 16:  # what torch's int8 product asks for
            i, j = torch.from_numpy(x).cuda(), torch.from_numpy(w).cuda().t()
            runs["torch int8"] = lambda i=i, j=j: torch._int_mm(i, j)
        yield f"gemm {m}x{n}x{k}", float(m) * n * k, runs


def networks(folder: Path) -> Iterator[tuple[str, float, dict[str, Run]]]:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    from bnndeploy.export import export_run
    from bnndeploy.training import load_run

    for name in NETWORKS:
        run = load_run(name, weights="random")
        packed, standard = folder / f"{name}.onnx", folder / f"{name}-standard.onnx"
        export_run(run, packed)
        export_run(run, standard, form="standard")
        half = convert_float_to_float16(onnx.load(standard), keep_io_types=True)
        for batch in BATCHES:
            yield (
                f"{name} batch {batch}",
                0.0,
                {
                    "ours": network_run(InferenceSession(packed, [CUDA]), batch),
                    "ours, CUDA graph": network_run(InferenceSession(packed, [GRAPH]), batch),
                    "ORT fp32": network_run(
                        ort.InferenceSession(standard, providers=[CUDA]), batch
                    ),
                    "ORT fp16": network_run(
                        ort.InferenceSession(half.SerializeToString(), providers=[CUDA]), batch
                    ),
                },
            )


def network_run(session, batch: int) -> Run:
    source, target = session.get_inputs()[0], session.get_outputs()[0]
    x = np.random.default_rng(0).normal(size=(batch, *source.shape[1:])).astype(np.float32)
    return on_device(
        session, {source.name: x}, [(target.name, [batch, *target.shape[1:]], np.float32)]
    )


def measure(name: str, macs: float, runs: dict[str, Run], rounds: int) -> list[dict[str, object]]:
    """Times all contenders of a row, by turns."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(rounds):
        for contender, run in runs.items():
            best[contender] = min(best[contender], seconds(run))
    return [
        {
            "row": name,
            "contender": contender,
            "us": took * 1e6,
            "tops": 2 * macs / took / 1e12,
            "times_ours": took / best["ours"],
        }
        for contender, took in best.items()
    ]


def main() -> None:
    """Prints the table, or one line where there is no device."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not cuda_runs():
        print("bench-gpu: skipped, no CUDA device or kernels answer here (bnndeploy doctor)")
        return
    import torch

    limits = {"copy_gb_s": copy_bandwidth(), "one_bit_tops": one_bit_rate()}
    device = torch.cuda.get_device_name(0)
    if not arguments.json:
        print(device, ", ".join(f"{name} {value:,.0f}" for name, value in limits.items()))
    table = []
    with tempfile.TemporaryDirectory() as folder:
        sources = [*(conv_layers(batch) for batch in BATCHES), gemm_layers()]
        for source in [*sources, networks(Path(folder))]:
            for name, macs, runs in source:
                if arguments.only not in name:
                    continue
                rows = measure(name, macs, runs, arguments.rounds)
                table += rows
                for row in rows if not arguments.json else []:
                    print(
                        f"{row['row']:<36} {row['contender']:<18} {row['us']:10.1f} us "
                        f"{row['tops']:8.1f} Top/s {row['times_ours']:6.2f}x ours"
                    )
    if arguments.json:
        print(json.dumps({"schema": 1, "device": device, "limits": limits, "rows": table}))


if __name__ == "__main__":
    main()
