"""A malformed node gives one error that names node, subject, what it got and what it expected."""

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from bnndeploy.errors import ModelFileError
from bnndeploy.ops.names import SIGNATURES
from bnndeploy.runtime.library import kernel_report
from bnndeploy.runtime.providers import CUDA


def floats(*shape):
    return np.ones(shape, np.float32)


def words(*shape):
    return np.zeros(shape, np.uint32)


EPILOGUE = {name: floats(1) for name in ("scale", "bias", "residual", "slope", "shift")}
EPILOGUE["threshold"] = floats(1)
SCALES = {"w_pos": floats(1), "w_neg": floats(1)}
GEMM = {"k": 40, "acc_min": 0.0}
CONV = {
    "channels": 40,
    "strides": [1, 1],
    "pads": [0, 0, 0, 0],
    "dilations": [1, 1],
    "group": 1,
    "pad_value": 0,
    "acc_min": 0.0,
}
POOL = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0]}
VALID = {
    "Sign": ({"X": floats(2, 3)}, {}),
    "Ternary": ({"X": floats(2, 3), "threshold": floats(3)}, {}),
    "PackBits": ({"X": floats(2, 3), "sign": floats(1), "threshold": floats(3)}, {}),
    "UnpackBits": ({"B": words(2, 4, 2)}, {"channels": 40}),
    "XnorGemm": ({"X": words(3, 2), "W": words(5, 2), **EPILOGUE}, GEMM),
    "XnorConv": ({"X": words(2, 4, 4, 2), "W": words(6, 3, 3, 2), **EPILOGUE}, CONV),
    "TernaryGemm": ({"X": words(3, 2), "W": words(2, 5, 2), **SCALES, **EPILOGUE}, GEMM),
    "TernaryConv": (
        {"X": words(2, 4, 4, 2), "W": words(2, 6, 3, 3, 2), **SCALES, **EPILOGUE},
        CONV,
    ),
    "MaxPoolBits": ({"B": words(2, 4, 4, 3), "invert": words(3)}, POOL),
}
BOTH_PLANES = words(2, 5, 2)
BOTH_PLANES[:, 3, 1] = 0b1000
PAD_BIT = words(5, 2)
PAD_BIT[4, 1] = 1 << 8

# op, inputs to replace, attributes to replace (None: to leave out), message
CASES = [
    ("Sign", {"X": np.ones((2, 3), np.int32)}, {}, "input X: got int32, expected float32 or fl"),
    ("Ternary", {"X": floats(3)}, {}, r"input X: got shape \[3\], expected \[N, C, ...\]"),
    ("Ternary", {"threshold": floats(2)}, {}, r"threshold: got shape \[2\], expected \[1\] or \[3"),
    ("Ternary", {"threshold": floats(1, 3)}, {}, r"threshold: got shape \[1, 3\], expected \[1\]"),
    ("Ternary", {"threshold": words(3)}, {}, "threshold: got uint32, expected float32"),
    ("Ternary", {"threshold": np.ones((), np.float32)}, {}, r"threshold: got shape \[\], expected"),
    ("PackBits", {"X": floats(3)}, {}, r"input X: got shape \[3\], expected \[N, C, ...\]"),
    ("PackBits", {"X": np.ones((2, 3))}, {}, "input X: got double, expected float32 or float16"),
    ("PackBits", {"sign": floats(4)}, {}, r"input sign: got shape \[4\], expected \[1\] or \[3\]"),
    ("PackBits", {"X": floats(*[1] * 9)}, {}, "input X: got rank 9, expected at most 8"),
    ("UnpackBits", {"B": words(2)}, {}, r"B: got shape \[2\], expected \[N, ..., 2\]"),
    ("UnpackBits", {"B": words(2, 3)}, {}, r"\[2, 3\], expected \[N, ..., 2\] \(words of 40 ch"),
    ("UnpackBits", {"B": floats(2, 2)}, {}, "input B: got float32, expected uint32"),
    ("UnpackBits", {}, {"channels": 0}, "channels: got 0, expected a value from 1 to 16777216"),
    ("MaxPoolBits", {"B": words(4, 4, 3)}, {}, r"B: got shape \[4, 4, 3\], expected \[N, H, W, Cw"),
    ("MaxPoolBits", {"invert": words(2)}, {}, r"invert: got shape \[2\], expected \[3\]"),
    ("MaxPoolBits", {"invert": floats(3)}, {}, "input invert: got float32, expected uint32"),
    ("MaxPoolBits", {}, {"kernel_shape": [2]}, "kernel_shape: got 1 integers, expected 2 integers"),
    ("MaxPoolBits", {}, {"pads": [0] * 9}, "attribute pads: got 9 integers, expected 4 integers"),
    ("MaxPoolBits", {}, {"pads": [0, 0, 0, -1]}, "pads: got -1, expected a value from 0 to 65536"),
    ("MaxPoolBits", {}, {"strides": [1, 0]}, "strides: got 0, expected a value from 1 to 65536"),
    ("MaxPoolBits", {}, {"kernel_shape": [5, 1]}, "expected a padded map of at least 5 x 1 pixels"),
    ("MaxPoolBits", {}, {"strides": 2}, "attribute strides: got 0 integers, expected 2 integers"),
    ("XnorGemm", {"X": words(3, 3)}, {}, r"X: got shape \[3, 3\], expected \[M, 2 \(words of 40 b"),
    ("XnorGemm", {"X": floats(3, 2)}, {}, r"X: got shape \[3, 2\], expected \[M, 40\]"),
    ("XnorGemm", {"X": words(2, 3, 2)}, {}, r"X: got shape \[2, 3, 2\], expected \[M, 2"),
    ("XnorGemm", {"X": np.ones((3, 40), np.int32)}, {}, "X: got int32, expected uint32 or float32"),
    ("XnorGemm", {"W": words(5, 3)}, {}, r"W: got shape \[5, 3\], expected \[N, 2 \(words of 40"),
    ("XnorGemm", {"W": words(0, 2)}, {}, "W: got 0 filters, expected a positive multiple"),
    ("XnorGemm", {"W": floats(5, 2)}, {}, "input W: got float32, expected uint32"),
    ("XnorGemm", {}, {"k": 0}, "attribute k: got 0, expected a value from 1 to 16777216"),
    ("XnorGemm", {}, {"k": 1 << 25}, "attribute k: got 33554432, expected a value from 1 to"),
    ("XnorGemm", {}, {"k": -(1 << 62)}, "attribute k: got -4611686018427387904, expected"),
    ("XnorGemm", {}, {"k": 65}, r"W: got shape \[5, 2\], expected \[N, 3 \(words of 65 bits\)\]"),
    ("XnorGemm", {}, {"k": 40.0}, "attribute k: got none, expected an integer"),
    ("XnorGemm", {}, {"acc_min": 0}, "attribute acc_min: got none, expected a float"),
    ("XnorGemm", {"scale": floats(4)}, {}, r"scale: got shape \[4\], expected \[1\] or \[5\]"),
    ("XnorGemm", {"slope": floats(0)}, {}, r"slope: got shape \[0\], expected \[1\] or \[5\]"),
    ("XnorGemm", {"bias": words(1)}, {}, "input bias: got uint32, expected float32"),
    ("XnorGemm", {"residual": floats(3, 4)}, {}, r"shape \[3, 4\], expected one element or \[3, 5"),
    ("XnorGemm", {"residual": floats(5)}, {}, r"residual: got shape \[5\], expected one elem"),
    ("XnorGemm", {"residual": words(1)}, {}, "residual: got uint32, expected float32 or float16"),
    (
        "XnorGemm",
        {"X": np.ones((3, 40), np.float16)},
        {},
        "input residual: got float32, expected float16",
    ),
    ("XnorGemm", {"W": PAD_BIT}, {}, "W: got a pad bit set in row 4, expected 0 in every bit beyo"),
    ("TernaryGemm", {"W": words(5, 2)}, {}, r"W: got shape \[5, 2\], expected \[2, N, 2 \(words"),
    ("TernaryGemm", {"W": words(3, 5, 2)}, {}, r"W: got shape \[3, 5, 2\], expected \[2, N, 2"),
    (
        "TernaryGemm",
        {"W": BOTH_PLANES},
        {},
        r"bit set in both planes \(word 1 of row 3\), expected",
    ),
    ("TernaryGemm", {"w_neg": floats(2)}, {}, r"w_neg: got shape \[2\], expected \[1\] or \[5\]"),
    (
        "XnorConv",
        {"X": words(2, 4, 4, 1)},
        {},
        r"X: got shape .*1\], expected \[N, H, W, 2 \(words",
    ),
    ("XnorConv", {"X": floats(2, 4, 4, 40)}, {}, r"expected \[N, 40, H, W\]"),
    ("XnorConv", {"X": words(4, 4, 2)}, {}, r"X: got shape \[4, 4, 2\], expected \[N, H, W, 2"),
    ("XnorConv", {"X": words(2, 2, 4, 2)}, {}, "a padded map that holds the dilated 3 x 3 kernel"),
    ("XnorConv", {"X": words(2, 0, 4, 2)}, {}, "a padded map that holds the dilated 3 x 3 kernel"),
    ("XnorConv", {"W": words(6, 9, 2)}, {}, r"W: got shape \[6, 9, 2\], expected \[O, kh, kw, 2"),
    ("XnorConv", {"W": words(6, 0, 3, 2)}, {}, "a kernel of 0 x 3, expected sizes from 1 to 65536"),
    ("XnorConv", {}, {"dilations": [2, 1]}, "a padded map that holds the dilated 3 x 3 kernel"),
    ("XnorConv", {}, {"group": 3}, "group: got 3, expected a divisor of channels 40"),
    ("XnorConv", {}, {"group": 0}, "attribute group: got 0, expected a value from 1 to 40"),
    (
        "XnorConv",
        {"W": words(6, 3, 3, 1)},
        {"group": 2},
        "group: got 2 groups of 20 channels, expected a multiple of 32 channels a group",
    ),
    (
        "XnorConv",
        {"X": words(1, 4, 4, 4), "W": words(7, 3, 3, 2)},
        {"group": 2, "channels": 128},
        "W: got 7 filters, expected a positive multiple of group 2",
    ),
    (
        "XnorConv",
        {"X": words(1, 1, 1, 1), "W": words(1, 8193, 2048, 1)},
        {"channels": 1},
        r"input W: got 16779264 codes a filter, expected at most 2\^24",
    ),
    ("XnorConv", {}, {"pad_value": 2}, "pad_value: got 2, expected a value from -1 to 1"),
    ("XnorConv", {}, {"strides": [1, 1 << 40]}, "strides: got 1099511627776, expected a value"),
    ("XnorConv", {}, {"pads": [0, 0]}, "attribute pads: got 2 integers, expected 4 integers"),
    ("XnorConv", {"residual": floats(2, 6, 2, 3)}, {}, r"expected one element or \[2, 6, 2, 2\]"),
    ("TernaryConv", {"W": words(2, 6, 3, 2)}, {}, r"expected \[2, O, kh, kw, 2 \(words of 40 bits"),
]


@pytest.mark.parametrize("dynamic", [False, True], ids=["constant", "computed"])
@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "message"), CASES, ids=[case[3][:40] for case in CASES]
)
def test_names_the_node_and_the_fault(run_op, op_type, inputs, attributes, message, dynamic):
    good_inputs, good_attributes = VALID[op_type]

    with pytest.raises(
        (ModelFileError, InvalidArgument), match=rf"{op_type} node 'it': .*{message}"
    ):
        run_op(
            op_type,
            list((good_inputs | inputs).values()),
            dynamic=dynamic,
            **(good_attributes | attributes),
        )


@pytest.mark.parametrize(
    ("op_type", "attribute"),
    [(op, attribute) for op, signature in SIGNATURES.items() for attribute in signature.attributes],
)
def test_every_attribute_is_required(run_op, op_type, attribute):
    inputs, attributes = VALID[op_type]
    left = {name: value for name, value in attributes.items() if name != attribute}

    with pytest.raises(ModelFileError, match=f"node 'it': attribute {attribute}: got none"):
        run_op(op_type, list(inputs.values()), **left)


@pytest.mark.parametrize("op_type", [op for op in SIGNATURES if len(SIGNATURES[op].inputs) > 1])
def test_every_input_is_required(run_op, op_type):
    inputs, attributes = VALID[op_type]
    count = len(inputs)

    with pytest.raises(ModelFileError, match=rf"input size {count - 1} not in range \[min={count}"):
        run_op(op_type, list(inputs.values())[:-1], **attributes)


@pytest.mark.parametrize("op_type", SIGNATURES)
def test_the_valid_case_runs(run_op, op_type):
    inputs, attributes = VALID[op_type]

    outputs = run_op(op_type, list(inputs.values()), **attributes)

    assert len(outputs) == len(SIGNATURES[op_type].outputs)


def test_an_unknown_instruction_set_is_an_error_that_lists_the_known(run_op, provider, monkeypatch):
    if provider == CUDA:
        pytest.skip("BNNDEPLOY_ISA chooses among the CPU's kernels")
    inputs, attributes = VALID["XnorGemm"]
    known = kernel_report()["isa"]["supported"][0]
    monkeypatch.setenv("BNNDEPLOY_ISA", "mmx")

    with pytest.raises(ModelFileError, match=f"BNNDEPLOY_ISA: got 'mmx', expected one of {known}"):
        run_op("XnorGemm", list(inputs.values()), **attributes)


@pytest.mark.parametrize("outputs", [("Y",), ("Y", "Ybits", "Z")])
def test_a_product_lists_exactly_two_outputs(run_op, outputs):
    inputs, attributes = VALID["XnorGemm"]
    message = (
        r"output size 1 not in range \[min=2"
        if len(outputs) == 1
        else r"arg \(Z\) type inference failed"
    )

    with pytest.raises(ModelFileError, match=message):
        run_op("XnorGemm", list(inputs.values()), outputs=outputs, **attributes)
