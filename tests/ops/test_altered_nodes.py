"""A node altered at random is refused if the oracle refuses it, else computes the same."""

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from bnndeploy.errors import ModelFileError, OperatorError
from bnndeploy.ops import oracle

EPILOGUE = [("scale", (5,)), ("bias", (1,)), ("residual", (1,)), ("slope", (5,)), ("shift", (1,))]
EPILOGUE.append(("threshold", (5,)))
SCALES = [("w_pos", (5,)), ("w_neg", (1,))]
GEMM = {"k": 40, "acc_min": 0.0}
CONV = {
    "channels": 40,
    "strides": [1, 1],
    "pads": [1, 1, 0, 0],
    "dilations": [1, 1],
    "group": 1,
    "pad_value": 0,
    "acc_min": 0.0,
}
# Shapes of uint32 inputs are those named X, B, W and invert, unless the op takes floats.
NODES = {
    "Ternary": ([("X", (2, 3, 4)), ("threshold", (3,))], {}),
    "PackBits": ([("X", (2, 3, 4)), ("sign", (3,)), ("threshold", (1,))], {}),
    "UnpackBits": ([("B", (2, 4, 2))], {"channels": 40}),
    "MaxPoolBits": (
        [("B", (2, 4, 4, 3)), ("invert", (3,))],
        {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 1, 0]},
    ),
    "XnorGemm": ([("X", (3, 2)), ("W", (5, 2)), *EPILOGUE], GEMM),
    "XnorConv": ([("X", (2, 4, 4, 2)), ("W", (5, 3, 3, 2)), *EPILOGUE], CONV),
    "TernaryGemm": ([("X", (3, 2)), ("W", (2, 5, 2)), *SCALES, *EPILOGUE], GEMM),
    "TernaryConv": ([("X", (2, 4, 4, 2)), ("W", (2, 5, 3, 3, 2)), *SCALES, *EPILOGUE], CONV),
}
REPEATS = 120


def altered_shape(rng, shape):
    shape = list(shape)
    axis = rng.integers(len(shape))
    match rng.integers(4):
        case 0:
            del shape[axis]
        case 1:
            shape.insert(axis, int(rng.integers(1, 3)))
        case _:
            shape[axis] = max(0, shape[axis] + int(rng.integers(-2, 3)))
    return tuple(shape)


def altered_attribute(rng, value):
    odd = [-(1 << 62), -2, -1, 0, 1, 2, 3, 5, 7, 31, 39, 64]
    if isinstance(value, float):
        return float(rng.choice([-np.inf, -3.0, 0.0, np.inf]))
    if isinstance(value, int):
        return int(rng.choice(odd))
    value = list(value)
    value[rng.integers(len(value))] = int(rng.choice(odd))
    return value[:-1] if rng.random() < 0.1 else value


def make_inputs(rng, op_type, shapes):
    floats = {"X"} if op_type in ("Ternary", "PackBits") else set()
    inputs = []
    for name, shape in shapes:
        if name in {"X", "B", "W", "invert"} - floats:
            words = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
            inputs.append(np.asarray(words & 0x7F))  # below the 8 bits of the last word of 40
            if name == "W" and op_type.startswith("Ternary") and words.shape[:1] == (2,):
                inputs[-1][1] &= ~inputs[-1][0]
        else:
            inputs.append(rng.integers(-2, 3, shape).astype(np.float32))
    return inputs


@pytest.mark.parametrize("dynamic", [False, True], ids=["constant", "computed"])
@pytest.mark.parametrize("op_type", NODES)
def test_kernels_and_oracle_refuse_the_same_and_compute_the_same(run_op, rng, op_type, dynamic):
    refused = computed = 0
    for _ in range(REPEATS):
        shapes, attributes = list(NODES[op_type][0]), dict(NODES[op_type][1])
        if attributes and rng.random() < 0.5:
            name = str(rng.choice(list(attributes)))
            attributes[name] = altered_attribute(rng, attributes[name])
        else:
            which = rng.integers(len(shapes))
            shapes[which] = (shapes[which][0], altered_shape(rng, shapes[which][1]))
        inputs = make_inputs(rng, op_type, shapes)
        try:
            expected = oracle.run_op(op_type, inputs, attributes)
        except OperatorError:
            with pytest.raises((ModelFileError, InvalidArgument), match=f"{op_type} node 'it': "):
                run_op(op_type, inputs, dynamic=dynamic, **attributes)
            refused += 1
            continue
        found = run_op(op_type, inputs, dynamic=dynamic, **attributes)
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_array_equal(got, want, strict=True)
        computed += 1
    assert refused > REPEATS // 10
    assert computed > REPEATS // 10
