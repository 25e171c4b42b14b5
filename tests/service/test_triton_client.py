"""The real Triton client against the service, in both of its modes."""

import threading

import numpy as np
import pytest
import toy_models
from service_helpers import digits, tensor

BINARY_AND_JSON = pytest.mark.parametrize("binary", [True, False], ids=["binary", "json"])


@BINARY_AND_JSON
def test_the_client_gets_the_models_answer(triton, connect, start_server, tmp_path, binary):
    model, weight = toy_models.classifier()
    (tmp_path / "digits.onnx").write_bytes(model)
    x = digits(3)

    client = connect(start_server(tmp_path / "digits.onnx"))
    outputs = None if binary else [triton.InferRequestedOutput("logits", binary_data=False)]
    result = client.infer(
        "digits", [tensor(triton, "x", x, binary=binary)], outputs=outputs, request_id="7"
    )

    np.testing.assert_allclose(
        result.as_numpy("logits"), x.reshape(3, 64) @ weight, rtol=1e-4, atol=1e-4
    )
    assert result.get_response()["id"] == "7"
    assert result.get_response()["model_version"] == "1"
    assert ("parameters" in result.get_output("logits")) == binary


def test_tensors_of_both_modes_mix_in_one_request(triton, connect, server):
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = np.ones((2, 3), np.float32)

    client = connect(server)
    result = client.infer(
        "arithmetic",
        [tensor(triton, "b", b, binary=False), tensor(triton, "a", a)],
        outputs=[
            triton.InferRequestedOutput("rest", binary_data=True),
            triton.InferRequestedOutput("total", binary_data=False),
        ],
    )

    assert [output["name"] for output in result.get_response()["outputs"]] == ["rest", "total"]
    np.testing.assert_array_equal(result.as_numpy("total"), a + b)
    np.testing.assert_array_equal(result.as_numpy("rest"), a - b)


@BINARY_AND_JSON
@pytest.mark.parametrize(
    ("datatype", "array"),
    [
        ("BOOL", np.array([[True, False, False, True]])),
        ("UINT8", np.array([[0, 1, 254, 255]], np.uint8)),
        ("INT8", np.array([[-128, -1, 0, 127]], np.int8)),
        ("UINT16", np.array([[0, 1, 2, 65535]], np.uint16)),
        ("INT16", np.array([[-32768, 0, 1, 32767]], np.int16)),
        ("UINT32", np.array([[0, 1, 2, 2**32 - 1]], np.uint32)),
        ("INT32", np.array([[-(2**31), 0, 1, 2**31 - 1]], np.int32)),
        ("UINT64", np.array([[0, 1, 2, 2**64 - 1]], np.uint64)),
        ("INT64", np.array([[-(2**63), 0, 1, 2**63 - 1]], np.int64)),
        ("FP32", np.array([[-1.5, 0, 1e-30, 3e38]], np.float32)),
        ("FP64", np.array([[-1.5, 0, 1e-300, 1e300]])),
        ("BYTES", np.array([["", "a", "größer", "x\x00y"]], object)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_datatype_comes_back_unchanged(triton, connect, server, datatype, array, binary):
    client = connect(server)
    result = client.infer(
        f"same-{datatype}",
        [tensor(triton, "x", array, datatype, binary)],
        outputs=[triton.InferRequestedOutput("y", binary_data=binary)],
    )

    y = result.as_numpy("y")
    if datatype == "BYTES":
        y = np.array([[v.decode() if binary else v for v in row] for row in y], object)
    np.testing.assert_array_equal(y, array)


def test_half_floats_travel_as_binary_and_are_refused_as_json(triton, connect, server):
    x = np.array([[1.5, -0.0, np.inf, 65504]], np.float16)
    client = connect(server)

    result = client.infer("same-FP16", [tensor(triton, "x", x, "FP16")])
    np.testing.assert_array_equal(result.as_numpy("y"), x)

    as_json = [triton.InferRequestedOutput("y", binary_data=False)]
    with pytest.raises(triton.InferenceServerException, match="output y: FP16 has no JSON form"):
        client.infer("same-FP16", [tensor(triton, "x", x, "FP16")], outputs=as_json)


def test_infinity_is_refused_as_json(triton, connect, server):
    x = np.full((1, 4), np.inf, np.float32)
    client = connect(server)

    with pytest.raises(triton.InferenceServerException, match="infinity and NaN have no JSON"):
        client.infer(
            "same-FP32",
            [tensor(triton, "x", x)],
            outputs=[triton.InferRequestedOutput("y", binary_data=False)],
        )


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_a_compressed_request_is_understood(triton, connect, server, algorithm):
    x = np.ones((2, 3), np.float32)

    client = connect(server)
    result = client.infer(
        "arithmetic",
        [tensor(triton, "a", x), tensor(triton, "b", x)],
        request_compression_algorithm=algorithm,
    )

    np.testing.assert_array_equal(result.as_numpy("total"), x + x)


@BINARY_AND_JSON
def test_an_empty_batch_has_an_empty_answer(triton, connect, server, binary):
    client = connect(server)
    result = client.infer("digits", [tensor(triton, "x", digits(0), binary=binary)])

    assert result.as_numpy("logits").shape == (0, 3)


def test_classification_names_the_best_classes(triton, connect, server):
    _, weight = toy_models.classifier()
    x = digits(2)

    client = connect(server)
    result = client.infer(
        "digits",
        [tensor(triton, "x", x)],
        outputs=[triton.InferRequestedOutput("logits", class_count=2)],
    )

    logits = x.reshape(2, 64) @ weight
    best = np.argsort(-logits, axis=1)[:, :2]
    answer = [[text.decode().split(":") for text in row] for row in result.as_numpy("logits")]
    labels = ("zero", "one", "two")
    assert [[text[1:] for text in row] for row in answer] == [
        [[str(index), labels[index]] for index in row] for row in best
    ]
    np.testing.assert_allclose(
        [[float(text[0]) for text in row] for row in answer],
        np.take_along_axis(logits, best, axis=1),
        atol=1e-4,
    )


def test_health_and_descriptions(triton, connect, server):
    client = connect(server)

    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("digits")
    assert client.is_model_ready("digits", "1")
    assert not client.is_model_ready("digits", "2")
    assert not client.is_model_ready("nothing")
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    assert client.get_model_metadata("digits") == {
        "name": "digits",
        "versions": ["1"],
        "platform": "onnxruntime_onnx",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 1, 8, 8]}],
        "outputs": [{"name": "logits", "datatype": "FP32", "shape": [-1, 3]}],
    }
    config = client.get_model_config("digits")
    assert config["max_batch_size"] == 32
    assert config["input"] == [{"name": "x", "data_type": "TYPE_FP32", "dims": [1, 8, 8]}]
    assert client.get_model_config("fixed")["max_batch_size"] == 0


@pytest.mark.parametrize(
    ("model", "version", "name", "array", "datatype", "message"),
    [
        ("none", "", "x", digits(1), "FP32", "model none: is unknown"),
        ("digits", "9", "x", digits(1), "FP32", "model digits version 9: is unknown"),
        ("digits", "", "y", digits(1), "FP32", r"got inputs \['y'\], expected \['x'\]"),
        ("digits", "", "x", digits(1)[0], "FP32", r"FP32 \[1, 8, 8\], expected FP32 \[-1, 1, 8, 8"),
        ("digits", "", "x", digits(1)[..., :7], "FP32", r"got FP32 \[1, 1, 8, 7\], expected FP32"),
        ("digits", "", "x", digits(1).astype(np.float64), "FP64", "got FP64 .* expected FP32"),
    ],
)
def test_a_request_that_does_not_fit_is_explained(
    triton, connect, server, model, version, name, array, datatype, message
):
    client = connect(server)

    with pytest.raises(triton.InferenceServerException, match=message):
        client.infer(model, [tensor(triton, name, array, datatype)], model_version=version)


def test_a_run_that_fails_is_explained_and_the_next_one_is_answered(triton, connect, server):
    client = connect(server)

    def rows(*indices):
        index = tensor(triton, "index", np.array(indices, np.int64), "INT64")
        return client.infer("gather", [index]).as_numpy("row")

    with pytest.raises(triton.InferenceServerException, match=r"gather: cannot be run .*indices"):
        rows(0, 4)
    np.testing.assert_array_equal(rows(3, 0), [[6, 7], [0, 1]])


def test_an_unknown_output_is_explained(triton, connect, server):
    client = connect(server)

    with pytest.raises(triton.InferenceServerException, match=r"of \['logits'\]"):
        client.infer(
            "digits",
            [tensor(triton, "x", digits(1))],
            outputs=[triton.InferRequestedOutput("softmax")],
        )


def test_a_body_over_the_limit_is_refused_and_the_next_one_is_answered(
    triton, connect, start_server, repository
):
    client = connect(start_server(repository, body_limit=10_000))

    with pytest.raises(triton.InferenceServerException, match="limit of 10000 bytes") as info:
        client.infer("digits", [tensor(triton, "x", digits(50))])
    assert info.value.status() == "413"
    assert client.infer("digits", [tensor(triton, "x", digits(1))]).as_numpy("logits").size == 3


def test_many_clients_at_once_each_get_their_own_answer(triton, start_server, repository):
    _, weight = toy_models.classifier()
    server = start_server(repository, max_batch=8, max_delay=0.002)
    failures = []

    def ask(seed):
        with triton.InferenceServerClient(server.url) as client:
            for step in range(10):
                x = digits(1 + seed % 3, seed=100 * seed + step)
                binary = (seed + step) % 2 == 0
                outputs = [triton.InferRequestedOutput("logits", binary_data=binary)]
                inputs = [tensor(triton, "x", x, binary=binary)]
                logits = client.infer("digits", inputs, outputs=outputs).as_numpy("logits")
                if not np.allclose(logits, x.reshape(len(x), 64) @ weight, atol=1e-4):
                    failures.append((seed, step))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    rows = server.repository.metrics.batch_rows.labels("digits", "1")
    assert rows._sum.get() == sum(10 * (1 + seed % 3) for seed in range(12))
