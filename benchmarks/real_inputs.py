"""Binary and ternary weights with real-valued inputs against ONNX Runtime, in one run.

    python benchmarks/real_inputs.py [--threads N] [--rounds N] [--only TEXT] [--json]

Matrix products M x N x K next to a float32 MatMul and to MatMulNBits with 2 bits (its default, with
int8 activations, and by table look-up), and convolutions next to a float32 Conv. Contenders take
turns round by round, as in kernels.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
from kernels import MICROSOFT, bound, epilogue, model, our_session, plain_session
from onnx import TensorProto
from turns import Contender, Peers, rows, take_turns

from bnndeploy.ops.names import DOMAIN
from bnndeploy.ops.packing import pack_bits, pack_ternary

PRODUCTS = [
    (1, 4096, 4096), (16, 4096, 784), (64, 1024, 1024), (256, 1024, 1024), (1024, 1024, 1024),
    (64, 4096, 4096), (256, 4096, 4096), (1024, 4096, 4096),
]  # fmt: skip
BLOCK = 64  # codes that share a scale in MatMulNBits


class Map(NamedTuple):
    """A convolution: side and channels of the map, filters, side of the kernel, stride."""

    size: int
    channels: int
    filters: int
    kernel: int
    stride: int


CONVOLUTIONS = [
    Map(56, 64, 64, 3, 1), Map(28, 128, 128, 3, 1), Map(14, 256, 256, 3, 1), Map(7, 512, 512, 3, 1),
    Map(224, 3, 64, 7, 2), Map(32, 3, 128, 3, 1),
]  # fmt: skip


def two_bits(x, codes, threads, accuracy, table=False):
    """MatMulNBits on ternary codes [N, K]; a code is stored as code + 2, four a byte."""
    n, k = codes.shape
    stored = (codes + 2).astype(np.uint8).reshape(n, k // BLOCK, BLOCK // 4, 4)
    packed = stored[..., 0] | stored[..., 1] << 2 | stored[..., 2] << 4 | stored[..., 3] << 6
    attributes = {"K": k, "N": n, "bits": 2, "block_size": BLOCK}
    if accuracy is not None:
        attributes["accuracy_level"] = accuracy
    weights = {"B": packed, "scales": np.ones(n * (k // BLOCK), np.float32)}
    proto = model(
        "MatMulNBits", MICROSOFT, {"X": (TensorProto.FLOAT, x.shape)},
        [("Y", TensorProto.FLOAT, [x.shape[0], n])], weights, attributes,
    )  # fmt: skip
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    if table:
        options.add_session_config_entry("mlas.use_lut_gemm", "1")
    return bound(
        ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"]),
        {"X": x},
        ["Y"],
    )


def ours(op_type, x, weights, y_shape, attributes, threads):
    """Our operator with real-valued X and Y."""
    proto = model(
        op_type, DOMAIN, {"X": (TensorProto.FLOAT, x.shape)},
        [("Y", TensorProto.FLOAT, y_shape), ("", TensorProto.UINT32, [1] * len(y_shape))],
        {**weights, **epilogue(y_shape[1], np.full(1, -0.0, np.float32))},
        {**attributes, "acc_min": float("-inf")},
    )  # fmt: skip
    return bound(our_session(proto, threads), {"X": x}, ["Y"])


def gemm_layers(threads) -> Iterator[tuple[str, float, list[Contender]]]:
    rng = np.random.default_rng(0)
    one = np.ones(1, np.float32)
    for m, n, k in PRODUCTS:
        x = rng.normal(size=(m, k)).astype(np.float32)
        codes = rng.integers(-1, 2, size=(n, k)).astype(np.float32)
        signs = np.where(codes >= 0, 1, -1).astype(np.float32)
        planes = pack_ternary(codes)
        half = np.full(n, 0.7, np.float32)
        y_shape = [m, n]
        real = model(
            "MatMul", "", {"X": (TensorProto.FLOAT, x.shape)}, [("Y", TensorProto.FLOAT, y_shape)],
            {"W": np.ascontiguousarray(codes.T)}, {},
        )  # fmt: skip

        def our(op_type, weights, x=x, y_shape=y_shape, k=k):
            return ours(op_type, x, weights, y_shape, {"k": k}, threads)

        contenders = [
            Contender("TernaryGemm", our("TernaryGemm", {"W": planes, "p": one, "n": one})),
            Contender("TernaryGemm, two scales",
                      our("TernaryGemm", {"W": planes, "p": half, "n": one})),
            Contender("XnorGemm", our("XnorGemm", {"W": pack_bits(signs)})),
            Contender("ORT float32", bound(plain_session(real, threads), {"X": x}, ["Y"])),
        ]  # fmt: skip
        if k % BLOCK == 0 and m == 1:
            contenders += [
                Contender("ORT 2-bit", two_bits(x, codes, threads, None)),
                Contender("ORT 2-bit, int8", two_bits(x, codes, threads, 4)),
                Contender("ORT 2-bit, table", two_bits(x, codes, threads, 4, table=True)),
            ]
        yield f"gemm {m}x{n}x{k}", float(m * n * k), contenders


def conv_layers(threads) -> Iterator[tuple[str, float, list[Contender]]]:
    rng = np.random.default_rng(0)
    for size, channels, filters, kernel, stride in CONVOLUTIONS:
        pad, side = kernel // 2, size // stride
        x = rng.normal(size=(1, channels, size, size)).astype(np.float32)
        w = rng.choice([-1.0, 1.0], size=(filters, channels, kernel, kernel)).astype(np.float32)
        y_shape = [1, filters, side, side]
        geometry = {"strides": [stride] * 2, "pads": [pad] * 4}
        ours_only = {"channels": channels, "dilations": [1, 1], "group": 1, "pad_value": 0}
        real = model(
            "Conv", "", {"X": (TensorProto.FLOAT, x.shape)}, [("Y", TensorProto.FLOAT, y_shape)],
            {"W": w}, geometry,
        )  # fmt: skip
        packed = {"W": pack_bits(w.transpose(0, 2, 3, 1))}
        yield (
            f"conv {size}x{size}x{channels} -> {filters}, {kernel}x{kernel} / {stride}",
            float(filters * channels * kernel**2 * side**2),
            [
                Contender("XnorConv", ours("XnorConv", x, packed, y_shape,
                                           {**geometry, **ours_only}, threads)),
                Contender("ORT float32", bound(plain_session(real, threads), {"X": x}, ["Y"])),
            ],
        )  # fmt: skip


def line(row: dict[str, Any], macs: float) -> str:
    """Lays out one row of the table."""
    return (
        f"{row['subject']:<34} {row['contender']:<24} {row['best_ms']:8.3f} ms"
        f"  median {row['median_ms']:8.3f}  {macs / row['best_ms'] * 1e-6:6.0f} GMAC/s"
        f"  {row['times_ours']:6.2f}x ours"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="", help="layers whose name holds this text")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = []
    for layers in (gemm_layers(arguments.threads), conv_layers(arguments.threads)):
        for name, macs, contenders in layers:
            if arguments.only not in name:
                continue
            of_layer = rows(name, take_turns(contenders, arguments.rounds, Peers(None), {}))
            found += of_layer
            if not arguments.json:
                print("\n".join(line(row, macs) for row in of_layer), flush=True)
    if arguments.json:
        print(json.dumps({"schema": 1, "threads": arguments.threads, "rows": found}))


if __name__ == "__main__":
    main()
