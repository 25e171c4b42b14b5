"""Other engines on the same layers and networks, one answer a line.

    PYTHON benchmarks/peers.py        # started by kernels.py and networks.py with --peers PYTHON

The engines want other versions of their packages than bnndeploy does, so they run in a Python of
their own that has any of `openvino`, `bnn-lab`, `larq-compute-engine` with `larq-zoo`; what is not
installed is left out. A line on standard input is a JSON object: {"conv": [size, channels]},
{"gemm": [M, N, K]} or {"network": name} prepares the contenders and answers their names; {"round":
n} runs each n times and answers its best milliseconds. One thread.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

# LCE reads no packed input, so it runs a chain of layers: binarising the first one weighs little.
LCE_CHAIN = 4

Measure = Callable[[], float]  # runs once, returns milliseconds

LARQ_ZOO = {
    "binary-resnet-e-18-imagenet": ("literature", "BinaryResNetE18"),
    "birealnet-18-imagenet": ("literature", "BiRealNet"),
    "quicknet-small-imagenet": ("sota", "QuickNetSmall"),
    "quicknet-medium-imagenet": ("sota", "QuickNet"),
    "quicknet-large-imagenet": ("sota", "QuickNetLarge"),
}


def wall(call: Callable[[], object], parts: int = 1) -> Measure:
    """Measures one of the equal parts of a call."""

    def measure() -> float:
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e3 / parts

    return measure


def openvino_conv(size: int, channels: int) -> dict[str, Measure]:
    """OpenVINO's binary convolution, by its own counter of the node: packed input to floats."""
    import openvino
    from openvino import opset1

    x = opset1.parameter([1, channels, size, size], np.float32)
    zero = opset1.constant(np.zeros((1, channels, 1, 1), np.float32))
    ends = [opset1.constant(np.full((1, 1, 1, 1), end, np.float32)) for end in (-1, 1)]
    signs = opset1.fake_quantize(x, zero, zero, *ends, 2)
    w = openvino.op.Constant(openvino.Tensor(openvino.Type.u1, [channels, channels, 3, 3]))
    one = [1, 1]
    y = opset1.binary_convolution(signs, w, one, one, one, one, "xnor-popcount", 0.0)
    compiled = openvino.Core().compile_model(
        openvino.Model([y], [x]),
        "CPU",
        {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERF_COUNT": True},
    )
    request = compiled.create_infer_request()
    image = np.random.default_rng(0).normal(size=(1, channels, size, size)).astype(np.float32)

    def node() -> float:
        request.infer({0: image})
        nodes = request.get_profiling_info()
        return sum(
            n.real_time.total_seconds() * 1e3 for n in nodes if n.node_type == "BinaryConvolution"
        )

    return {"OpenVINO binary node": node}


def larq_conv(size: int, channels: int) -> dict[str, Measure]:
    """A chain of Larq's layers in Larq Compute Engine; milliseconds of one layer."""
    import larq
    import larq_compute_engine as lce
    import tensorflow as tf

    tf.keras.backend.clear_session()
    x = image = tf.keras.Input((size, size, channels), batch_size=1)
    for _ in range(LCE_CHAIN):
        x = larq.layers.QuantConv2D(
            channels, 3, padding="same", pad_values=1.0, use_bias=False,
            input_quantizer="ste_sign", kernel_quantizer="ste_sign",
        )(x)  # fmt: skip
        x = tf.keras.layers.BatchNormalization()(x)
    return larq_interpreters(lce.convert_keras_model(tf.keras.Model(image, x)), LCE_CHAIN)


def larq_network(name: str | None) -> dict[str, Measure]:
    """The network of Larq's own zoo in Larq Compute Engine."""
    import larq_compute_engine as lce
    import larq_zoo
    import tensorflow as tf

    if name not in LARQ_ZOO:
        return {}
    family, network = LARQ_ZOO[name]
    tf.keras.backend.clear_session()
    model = getattr(getattr(larq_zoo, family), network)(weights=None)
    return larq_interpreters(lce.convert_keras_model(model), 1)


def larq_interpreters(flatbuffer: bytes, parts: int) -> dict[str, Measure]:
    """Larq Compute Engine's two ways to convolve."""
    from larq_compute_engine.tflite.python.interpreter import Interpreter

    found = {}
    for name, indirect in (("LCE", False), ("LCE indirect", True)):
        interpreter = Interpreter(flatbuffer, num_threads=1, use_indirect_bgemm=indirect)
        shape = interpreter.input_shapes[0]
        image = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        found[name] = wall(lambda i=interpreter, x=image: i.predict(x), parts)
    return found


def bnn_lab_gemm(m: int, n: int, k: int) -> dict[str, Measure]:
    """bnn-lab's product of packed operands."""
    from bnn.kernels import packed

    packed.set_num_threads(1)
    rng = np.random.default_rng(0)
    x, _ = packed.pack_binary_pm1(rng.choice([-1.0, 1.0], size=(m, k)).astype(np.float32))
    w, _ = packed.pack_binary_pm1(rng.choice([-1.0, 1.0], size=(n, k)).astype(np.float32))
    return {"bnn-lab": wall(lambda: packed.binary_gemm_native_prepacked(x, w, k))}


ENGINES = {
    "conv": [openvino_conv, larq_conv],
    "gemm": [bnn_lab_gemm],
    "network": [larq_network],
}


def prepare(request: dict[str, object]) -> dict[str, Measure]:
    """Builds the contenders of a request; an engine that is missing or refuses says so."""
    ((kind, values),) = request.items()
    arguments = values if isinstance(values, list) else [values]
    found: dict[str, Measure] = {}
    for engine in ENGINES[kind]:
        try:
            found |= engine(*arguments)
        except Exception as error:
            print(f"{engine.__name__}{arguments}: left out, {error!r}", file=sys.stderr)
    return found


def main() -> None:
    """Answers requests until standard input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the engines talk
    contenders: dict[str, Measure] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "round" in request:
            answer: object = {
                name: min(run() for _ in range(request["round"]))
                for name, run in contenders.items()
            }
        else:
            contenders = prepare(request)
            for run in contenders.values():
                run()
            answer = list(contenders)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
