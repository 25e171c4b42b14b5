"""Decoding of requests; none of these needs a server."""

import json

import numpy as np
import pytest

from bnndeploy.service.request_error import RequestError
from bnndeploy.service.requests import RequestedOutput, decode_request


def document(**changes):
    entry = {"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]} | changes
    return {"inputs": [{key: value for key, value in entry.items() if value is not None}]}


def encode(value, raw=b""):
    text = json.dumps(value).encode()
    return text + raw, str(len(text))


def test_nested_and_flat_lists_mean_the_same():
    for data in ([[1, 2, 3], [4, 5, 6]], [1, 2, 3, 4, 5, 6]):
        request = decode_request(encode(document(shape=[2, 3], data=data))[0])
        np.testing.assert_array_equal(request.inputs["x"].array, [[1, 2, 3], [4, 5, 6]])


def test_raw_tensors_follow_in_the_order_of_the_inputs():
    inputs = [
        {
            "name": name,
            "datatype": "INT16",
            "shape": [size],
            "parameters": {"binary_data_size": 2 * size},
        }
        for name, size in (("a", 1), ("b", 2))
    ]

    request = decode_request(*encode({"inputs": inputs}, b"\x01\x00\x02\x00\xff\xff"))

    assert request.inputs["a"].array.tolist() == [1]
    assert request.inputs["b"].array.tolist() == [2, -1]


def test_a_tensor_at_an_odd_address_is_copied_to_an_aligned_one():
    for pad in range(8):
        body, length = encode(
            document(data=None, parameters={"binary_data_size": 8}) | {"id": "i" * pad},
            np.array([1, 2], "<f4").tobytes(),
        )
        assert decode_request(body, length).inputs["x"].array.flags.aligned


def test_outputs_take_the_requests_default_unless_they_say_otherwise():
    wanted = [
        {"name": "a"},
        {"name": "b", "parameters": {"binary_data": False, "classification": 3}},
    ]
    value = document() | {"outputs": wanted, "parameters": {"binary_data_output": True}}

    request = decode_request(encode(value)[0])

    assert request.outputs == (RequestedOutput("a", True), RequestedOutput("b", False, 3))
    assert request.binary


def test_the_clients_timeout_counts_microseconds():
    value = document() | {"parameters": {"timeout": 1500}}

    assert decode_request(encode(value)[0]).timeout == 0.0015


BAD_INPUTS = {
    "no datatype": ({"datatype": None}, "got datatype None, expected one of BOOL"),
    "unknown datatype": ({"datatype": "BF16"}, "got datatype 'BF16'"),
    "datatype of a wrong kind": ({"datatype": ["FP32"]}, "got datatype"),
    "no shape": ({"shape": None}, "got shape None, expected a list of sizes"),
    "negative size": ({"shape": [-1]}, r"got shape \[-1\]"),
    "boolean size": ({"shape": [True, 2]}, "got shape"),
    "fractional size": ({"shape": [2.0]}, "got shape"),
    "endless rank": ({"shape": [1] * 1000}, "got shape"),
    "enormous shape": ({"shape": [10**9, 10**9]}, "got 2 elements, expected 10{18}"),
    "too few elements": ({"shape": [3]}, "got 2 elements, expected 3"),
    "no data": ({"data": None}, "got no data"),
    "data is no list": ({"data": 1}, "expected a list"),
    "ragged data": ({"data": [[1], [1, 2]]}, "ragged"),
    "deep data": ({"data": json.loads("[" * 80 + "]" * 80)}, "ragged or nested"),
    "text for numbers": ({"data": ["1", "2"]}, "FP32 cannot hold"),
    "null for a number": ({"data": [1, None]}, "FP32 cannot hold"),
    "object for a number": ({"data": [{}, 1]}, "FP32 cannot hold"),
    "float beyond the type": ({"data": [1e39, 0]}, "FP32 cannot hold"),
    "float for an integer": ({"datatype": "INT32", "data": [1.5, 2]}, "INT32 cannot hold"),
    "integer beyond the type": ({"datatype": "UINT8", "data": [256, 0]}, "UINT8 cannot hold"),
    "negative for unsigned": ({"datatype": "UINT64", "data": [-1, 0]}, "UINT64 cannot hold"),
    "integer beyond any type": ({"datatype": "INT64", "data": [2**70, 0]}, "INT64 cannot hold"),
    "number for a boolean": ({"datatype": "BOOL", "data": [0, 1]}, "BOOL cannot hold"),
    "number for a text": ({"datatype": "BYTES", "data": ["a", 1]}, "BYTES cannot hold"),
    "half floats": ({"datatype": "FP16"}, "FP16 has no JSON form"),
    "shared memory": ({"parameters": {"shared_memory_region": "r"}}, "shared memory"),
    "parameters are no object": ({"parameters": [1]}, "got parameters"),
    "both forms": ({"parameters": {"binary_data_size": 0}}, "got data and binary_data_size"),
    "more bytes than sent": (
        {"data": None, "parameters": {"binary_data_size": 8}},
        "got binary_data_size 8, expected at most the 0 bytes",
    ),
    "name is no text": ({"name": 3}, "input: got name '3'"),
}


@pytest.mark.parametrize(("changes", "message"), BAD_INPUTS.values(), ids=BAD_INPUTS.keys())
def test_a_wrong_input_is_explained(changes, message):
    with pytest.raises(RequestError, match=message) as info:
        decode_request(encode(document(**changes))[0])
    assert info.value.status == 400
    assert "\n" not in str(info.value)


BAD_RAW = {
    "size beside the shape": ("FP32", [2], b"\0" * 12, "got 12 bytes, expected 8"),
    "boolean of two": ("BOOL", [2], b"\1\2", "bytes other than 0 and 1"),
    "text cut in its length": ("BYTES", [1], b"\1\0", "BYTES element 0 is cut off"),
    "text cut in its bytes": ("BYTES", [1], b"\5\0\0\0ab", "BYTES element 0 is cut off"),
    "text of 4 GiB": ("BYTES", [1], b"\xff\xff\xff\xffab", "BYTES element 0 is cut off"),
    "text that is not UTF-8": ("BYTES", [1], b"\1\0\0\0\xff", "element 0 is not UTF-8"),
    "too many texts": ("BYTES", [1], b"\0" * 8, "got 2 elements, expected 1"),
}


@pytest.mark.parametrize(
    ("datatype", "shape", "raw", "message"), BAD_RAW.values(), ids=BAD_RAW.keys()
)
def test_a_wrong_raw_tensor_is_explained(datatype, shape, raw, message):
    entry = document(
        datatype=datatype, shape=shape, data=None, parameters={"binary_data_size": len(raw)}
    )

    with pytest.raises(RequestError, match=message):
        decode_request(*encode(entry, raw))


BAD_BODIES = {
    "empty": (b"", None, "the body is not JSON"),
    "no JSON": (b"\xff\xfe\x00", None, "the body is not JSON"),
    "a list": (b"[]", None, "got a JSON list, expected an object"),
    "no inputs": (b"{}", None, "no list of objects under 'inputs'"),
    "inputs of a wrong kind": (b'{"inputs": [1]}', None, "no list of objects"),
    "nested beyond the parser": (b"[" * 100_000, None, "the body is not JSON"),
    "header no number": (b"{}", "x", "expected a number"),
    "header negative": (b"{}", "-1", "expected a number"),
    "header beyond the body": (b"{}", "3", "at most the 2 bytes"),
    "header of many digits": (b"{}", "9" * 5000, "at most the 2 bytes"),
    "bytes left over": (b'{"inputs": []}abc', "14", "3 bytes follow"),
}


@pytest.mark.parametrize(("body", "length", "message"), BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_a_wrong_body_is_explained(body, length, message):
    with pytest.raises(RequestError, match=message) as info:
        decode_request(body, length)
    assert info.value.status == 400


def test_an_input_given_twice_is_refused():
    twice = {"inputs": document()["inputs"] * 2}

    with pytest.raises(RequestError, match="input x: is given twice"):
        decode_request(encode(twice)[0])


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([{"name": "y", "parameters": {"classification": -1}}], "got classification -1"),
        ([{"name": "y", "parameters": {"shared_memory_region": "r"}}], "shared memory"),
        ([{}], "output: got name 'None'"),
        ("y", "no list of objects under 'outputs'"),
    ],
)
def test_a_wrong_output_is_explained(outputs, message):
    with pytest.raises(RequestError, match=message):
        decode_request(encode(document() | {"outputs": outputs})[0])
