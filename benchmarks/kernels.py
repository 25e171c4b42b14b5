"""Our operators against ONNX Runtime's own, layer by layer, in one run.

    python benchmarks/kernels.py [--threads N] [--rounds N] [--only TEXT] [--json]
        [--limits build/benchmarks/limits] [--plot roofline.png] [--peers PYTHON]

Each row is one layer: a 3x3 same convolution of a residual network, or a matrix product M x N x K.
Every contender is a model of one node with packed or quantized weights inside; inputs and outputs
are bound once, so that only the node is timed. Contenders take turns round by round, so that
whatever else the machine does falls on all of them; the best and the median round are kept. Speed
and share of the limit are of the best round, ratios of the median.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from roofline import draw
from turns import Contender, Peers, rows, take_turns

from bnndeploy import InferenceSession
from bnndeploy.ops.names import DOMAIN, IR_VERSION, OPSET, VERSION
from bnndeploy.ops.packing import pack_bits, word_count

MAPS = [(56, 64), (28, 128), (14, 256), (7, 512)]
PRODUCTS = [(1, 4096, 4096), (64, 4096, 4096), (784, 256, 2304), (49, 512, 4608)]
MICROSOFT = "com.microsoft"
OURS_BITS = "ours, bits out"


@dataclass(frozen=True)
class Layer:
    """One row of the table."""

    name: str
    macs: float
    packed_bytes: int  # packed inputs, weights and outputs
    request: dict[str, Any]  # to peers.py
    contenders: list[Contender]


def model(op_type, domain, inputs, outputs, weights, attributes):
    """Builds the bytes of a one-node model; the node's inputs are `inputs` then `weights`."""
    node = helper.make_node(
        op_type,
        [*inputs, *weights],
        [name for name, _, _ in outputs],
        domain=domain,
        **attributes,
    )
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info(n, *inputs[n]) for n in inputs if inputs[n]],
        [helper.make_tensor_value_info(*output) for output in outputs if output[0]],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, VERSION)]
    opsets.append(helper.make_opsetid(MICROSOFT, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def bound(session, feeds, outputs):
    """Binds inputs and outputs once; the returned function runs the session."""
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for name in outputs:
        binding.bind_output(name)
    return lambda: session.run_with_iobinding(binding)


def plain_session(proto, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    return ort.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def our_session(proto, threads):
    return InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"], threads=threads
    )


def epilogue(channels, residual):
    """A batch-norm, a residual and a threshold for the bits."""
    rng = np.random.default_rng(1)
    one, zero = np.ones(1, np.float32), np.full(1, -0.0, np.float32)
    vector = rng.normal(size=channels).astype(np.float32)
    plain = residual is None
    return {
        "scale": one if plain else vector,
        "bias": zero if plain else vector,
        "residual": zero if plain else residual,
        "slope": one,
        "shift": zero,
        "threshold": vector,
    }


def ours(op_type, x, w, y_shape, attributes, threads, residual):
    """Our operator: bits in; bits out, or with a residual floats out."""
    channels = y_shape[1]
    bits_shape = [y_shape[0], *y_shape[2:], word_count(channels)]
    outputs = [("", TensorProto.FLOAT, y_shape), ("Ybits", TensorProto.UINT32, bits_shape)]
    if residual is not None:
        outputs = [("Y", TensorProto.FLOAT, y_shape), ("", TensorProto.UINT32, bits_shape)]
    weights = {"W": w, **epilogue(channels, residual)}
    proto = model(
        op_type,
        DOMAIN,
        {"X": (TensorProto.UINT32, x.shape)},
        outputs,
        weights,
        {**attributes, "acc_min": float("-inf")},
    )
    names = [name for name, _, _ in outputs if name]
    return bound(our_session(proto, threads), {"X": x}, names)


def int8_conv(x, w, y_shape, threads, channels_last):
    """QLinearConv on unsigned activations and signed weights, in either layout."""
    one, zero_u8, zero_i8 = np.ones(1, np.float32), np.zeros(1, np.uint8), np.zeros(1, np.int8)
    size, channels = y_shape[2], y_shape[1]
    shape = [1, size, size, channels] if channels_last else y_shape
    pixels = np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if channels_last else x
    inputs = {"X": (TensorProto.UINT8, pixels.shape)}
    weights = {
        "xs": one, "xz": zero_u8[0], "W": w, "ws": one, "wz": zero_i8[0], "ys": one * 64,
        "yz": zero_u8[0],
    }  # fmt: skip
    weights = {name: np.asarray(value).reshape(()) if name != "W" else value
               for name, value in weights.items()}  # fmt: skip
    attributes = {"pads": [1, 1, 1, 1]}
    if channels_last:
        attributes["channels_last"] = 1
    proto = model(
        "QLinearConv",
        MICROSOFT if channels_last else "",
        inputs,
        [("Y", TensorProto.UINT8, shape)],
        weights,
        attributes,
    )
    return bound(plain_session(proto, threads), {"X": pixels}, ["Y"])


def conv_layers(threads) -> Iterator[Layer]:
    rng = np.random.default_rng(0)
    for size, channels in MAPS:
        y_shape = [1, channels, size, size]
        x = rng.choice([-1.0, 1.0], size=y_shape).astype(np.float32)
        w = rng.choice([-1.0, 1.0], size=(channels, channels, 3, 3)).astype(np.float32)
        packed_x = pack_bits(x.transpose(0, 2, 3, 1))
        packed_w = pack_bits(w.transpose(0, 2, 3, 1))
        attributes = {
            "channels": channels, "strides": [1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1],
            "group": 1, "pad_value": 0,
        }  # fmt: skip
        real = model(
            "Conv", "", {"X": (TensorProto.FLOAT, y_shape)}, [("Y", TensorProto.FLOAT, y_shape)],
            {"W": w}, {"pads": [1, 1, 1, 1]},
        )  # fmt: skip
        bytes_x = (x > 0).astype(np.uint8)
        bytes_w = w.astype(np.int8)

        def our(residual, x=packed_x, w=packed_w, shape=y_shape, attributes=attributes):
            return ours("XnorConv", x, w, shape, attributes, threads, residual)

        yield Layer(
            f"conv {size}x{size}x{channels}",
            float(size * size * channels * channels * 9),
            packed_x.nbytes * 2 + packed_w.nbytes,
            {"conv": [size, channels]},
            [
                Contender(OURS_BITS, our(None)),
                Contender("ours, floats + residual", our(np.ones(y_shape, np.float32))),
                Contender("ORT float32", bound(plain_session(real, threads), {"X": x}, ["Y"])),
                Contender("ORT int8", int8_conv(bytes_x, bytes_w, y_shape, threads, False)),
                Contender("ORT int8 NHWC", int8_conv(bytes_x, bytes_w, y_shape, threads, True)),
            ],
        )


def gemm_layers(threads) -> Iterator[Layer]:
    rng = np.random.default_rng(0)
    for m, n, k in PRODUCTS:
        x = rng.choice([-1.0, 1.0], size=(m, k)).astype(np.float32)
        w = rng.choice([-1.0, 1.0], size=(n, k)).astype(np.float32)
        y_shape = [m, n]
        packed_x, packed_w = pack_bits(x), pack_bits(w)
        real = model(
            "MatMul", "", {"X": (TensorProto.FLOAT, x.shape)}, [("Y", TensorProto.FLOAT, y_shape)],
            {"W": np.ascontiguousarray(w.T)}, {},
        )  # fmt: skip
        whole = model(
            "MatMulInteger", "", {"X": (TensorProto.UINT8, x.shape)},
            [("Y", TensorProto.INT32, y_shape)], {"W": w.T.astype(np.int8)}, {},
        )  # fmt: skip
        bytes_x = (x > 0).astype(np.uint8)
        binary = {"k": k}
        yield Layer(
            f"gemm {m}x{n}x{k}",
            float(m * n * k),
            packed_x.nbytes + packed_w.nbytes + m * word_count(n) * 4,
            {"gemm": [m, n, k]},
            [
                Contender(
                    OURS_BITS,
                    ours("XnorGemm", packed_x, packed_w, y_shape, binary, threads, None),
                ),
                Contender(
                    "ours, floats in",
                    real_gemm(x, packed_w, y_shape, k, threads),
                ),
                Contender("ORT float32", bound(plain_session(real, threads), {"X": x}, ["Y"])),
                Contender("ORT int8", bound(plain_session(whole, threads), {"X": bytes_x}, ["Y"])),
            ],
        )


def real_gemm(x, w, y_shape, k, threads):
    """Binary weights with real-valued X."""
    proto = model(
        "XnorGemm", DOMAIN, {"X": (TensorProto.FLOAT, x.shape)},
        [("Y", TensorProto.FLOAT, y_shape), ("", TensorProto.UINT32, [1])],
        {"W": w, **epilogue(y_shape[1], np.full(1, -0.0, np.float32))},
        {"k": k, "acc_min": float("-inf")},
    )  # fmt: skip
    return bound(our_session(proto, threads), {"X": x}, ["Y"])


def raise_limits(limits: dict[str, float], program: Path | None) -> None:
    """Measures what this core can do at this moment (limits.cc) and keeps the best of the run."""
    if program is None:
        return
    measured = json.loads(subprocess.run([program], capture_output=True, check=True).stdout)
    for name, value in measured.items():
        limits[name] = max(value, limits.get(name, 0.0))


def figures(layer: Layer, row: dict[str, Any], limits: dict[str, float]) -> dict[str, Any]:
    """Adds speed, share of the core's limit and operations a byte to a row."""
    gmacs = layer.macs / row["best_ms"] * 1e-6
    best = max((limits[name] for name in limits if name.startswith("bits ")), default=0.0)
    ours = row["contender"] == OURS_BITS
    return {
        "gmacs": gmacs,
        "share": gmacs / best if best and ours else None,
        "macs_per_byte": layer.macs / layer.packed_bytes,
    }


def line(row: dict[str, Any]) -> str:
    """Lays out one row of the table."""
    share = "" if row["share"] is None else f"  {row['share']:5.0%} of the core's limit"
    return (
        f"{row['subject']:<20} {row['contender']:<24} {row['best_ms']:8.3f} ms"
        f"  median {row['median_ms']:8.3f}  {row['gmacs']:6.0f} GMAC/s"
        f"  {row['times_ours']:6.2f}x ours{share}"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="", help="layers whose name holds this text")
    parser.add_argument("--limits", type=Path, help="the built program limits: share of the core")
    parser.add_argument("--peers", type=Path, help="Python with other engines, see peers.py")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", type=Path, help="roofline as PNG; needs --limits")
    arguments = parser.parse_args()
    if arguments.plot and not arguments.limits:
        parser.error("--plot needs --limits")
    peers = Peers(arguments.peers)
    limits: dict[str, float] = {}
    found = []
    for layer in [*conv_layers(arguments.threads), *gemm_layers(arguments.threads)]:
        if arguments.only not in layer.name:
            continue
        raise_limits(limits, arguments.limits)
        times = take_turns(layer.contenders, arguments.rounds, peers, layer.request)
        of_layer = [row | figures(layer, row, limits) for row in rows(layer.name, times)]
        found += of_layer
        if not arguments.json:
            print("\n".join(map(line, of_layer)))
    if arguments.plot:
        draw(found, limits, arguments.plot)
    if arguments.json:
        versions = {"onnx": onnx.__version__, "onnxruntime": ort.__version__}
        print(json.dumps({"schema": 1, "threads": arguments.threads, "versions": versions,
                          "rows": found}))  # fmt: skip


if __name__ == "__main__":
    main()
