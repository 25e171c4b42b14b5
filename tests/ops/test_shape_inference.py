"""Symbolic and unknown sizes pass through the operators; types are always known."""

import numpy as np
import onnxruntime as ort
import pytest

from bnndeploy.ops.names import SIGNATURES
from bnndeploy.runtime import InferenceSession

ONE = np.ones(1, np.float32)
EPILOGUE = [ONE] * 6
CONV = {
    "channels": 40,
    "strides": [2, 1],
    "pads": [1, 1, 1, 1],
    "dilations": [1, 1],
    "group": 1,
    "pad_value": 0,
    "acc_min": 0.0,
}


def words(*shape):
    return np.zeros(shape, np.uint32)


def floats(*shape):
    return np.zeros(shape, np.float32)


# op, first input, its declared shape, other inputs, attributes, shapes of the outputs
CASES = [
    ("Sign", floats(2, 3), ["n", 3], [], {}, [["n", 3]]),
    ("Ternary", floats(2, 3, 5), ["n", 3, "t"], [ONE], {}, [["n", 3, "t"]]),
    ("PackBits", floats(2, 40, 5), ["n", 40, "t"], [ONE, ONE], {}, [["n", "t", 2]]),
    ("PackBits", floats(2, 40), ["n", 40], [ONE, ONE], {}, [["n", 2]]),
    ("UnpackBits", words(2, 5, 2), ["n", "t", 2], [], {"channels": 40}, [["n", 40, "t"]]),
    (
        "MaxPoolBits",
        words(2, 5, 6, 2),
        ["n", 5, 6, 2],
        [words(2)],
        {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [0, 1, 1, 1]},
        [["n", 3, 6, 2]],
    ),
    (
        "XnorGemm",
        words(2, 2),
        ["n", 2],
        [words(35, 2), *EPILOGUE],
        {"k": 40, "acc_min": 0.0},
        [["n", 35], ["n", 2]],
    ),
    (
        "TernaryGemm",
        floats(2, 40),
        ["n", 40],
        [words(2, 35, 2), ONE, ONE, *EPILOGUE],
        {"k": 40, "acc_min": 0.0},
        [["n", 35], ["n", 2]],
    ),
    (
        "XnorConv",
        words(2, 5, 6, 2),
        ["n", 5, 6, 2],
        [words(35, 3, 3, 2), *EPILOGUE],
        CONV,
        [["n", 35, 3, 6], ["n", 3, 6, 2]],
    ),
    (
        "TernaryConv",
        floats(2, 40, 5, 6),
        ["n", 40, 5, 6],
        [words(2, 35, 3, 3, 2), ONE, ONE, *EPILOGUE],
        CONV,
        [["n", 35, 3, 6], ["n", 3, 6, 2]],
    ),
]


@pytest.fixture
def session_of(make_model):
    def make(case, declared):
        op_type, x, _, others, attributes, _ = case
        first = SIGNATURES[op_type].inputs[0]
        model, feeds = make_model(op_type, [x, *others], attributes, shapes={first: declared})
        options = ort.SessionOptions()
        options.log_severity_level = 2 if declared is not None else 3
        return InferenceSession(model, threads=1, options=options), feeds

    return make


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_symbolic_batch_keeps_its_name(session_of, case):
    session, _ = session_of(case, case[2])

    assert [output.shape for output in session.get_outputs()] == case[5]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_unknown_sizes_stay_unknown_and_right_sizes_are_never_disputed(session_of, case, capfd):
    session, feeds = session_of(case, [None] * case[1].ndim)

    for output, value in zip(session.get_outputs(), session.run(None, feeds), strict=True):
        for size, real in zip(output.shape, value.shape, strict=True):
            assert size == real or not isinstance(size, int)
    assert "does not match actual shape" not in capfd.readouterr().err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_types_are_known_even_where_no_shape_is(session_of, case):
    session, feeds = session_of(case, None)

    names = {np.dtype(np.float32): "tensor(float)", np.dtype(np.uint32): "tensor(uint32)"}
    for output, value in zip(session.get_outputs(), session.run(None, feeds), strict=True):
        assert output.type == names[value.dtype]
