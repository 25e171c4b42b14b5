import numpy as np
import pytest
import toy_models
from onnx import TensorProto, helper, numpy_helper

from bnndeploy.errors import DataError, ModelFileError
from bnndeploy.runtime import Classifier, InferenceSession
from bnndeploy.runtime.classifier import classify_files


def session_of(model):
    return InferenceSession(model, portable=True)


def save_digits(folder, count):
    """Random digits-like arrays; returns their paths and rows as the model wants them."""
    rng = np.random.default_rng(2)
    pixels = rng.integers(0, 17, (count, 8, 8))
    paths = [folder / f"{index}.npy" for index in range(count)]
    for path, image in zip(paths, pixels, strict=True):
        np.save(path, image)
    return paths, ((pixels / 16 - 0.5) / 0.25).reshape(count, 64)


@pytest.mark.parametrize("flat", [False, True])
def test_guesses_are_the_softmax_of_the_models_logits_best_first(tmp_path, flat):
    model, weight = toy_models.classifier(flat=flat)
    paths, rows = save_digits(tmp_path, 70)  # more than one run of the session

    answers = classify_files(session_of(model), paths, top=2)

    logits = rows @ weight.astype(np.float64)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    order = np.argsort(-probabilities, axis=1)[:, :2]
    labels = np.array(["zero", "one", "two"])[order]
    assert [[guess.label for guess in guesses] for guesses in answers] == labels.tolist()
    np.testing.assert_allclose(
        [[guess.probability for guess in guesses] for guesses in answers],
        np.take_along_axis(probabilities, order, axis=1),
        rtol=1e-4,
    )


def test_large_logits_do_not_overflow():
    model, _ = toy_models.classifier()

    guesses = Classifier(session_of(model)).rank(np.float32([1e30, 0, -1e30]), top=3)

    assert [guess.probability for guess in guesses] == [1, 0, 0]


def test_classes_without_names_are_numbered():
    model, _ = toy_models.classifier(classes=())
    classifier = Classifier(session_of(model))

    assert [guess.label for guess in classifier.rank(np.float32([0, 2, 1]), top=2)] == ["1", "2"]


def test_one_unreadable_file_is_named_before_anything_runs(tmp_path):
    paths, _ = save_digits(tmp_path, 2)
    paths[1].write_bytes(b"")
    model, _ = toy_models.classifier()

    with pytest.raises(DataError, match=r"1\.npy: cannot be read"):
        classify_files(session_of(model), paths)


def test_no_files_are_refused():
    model, _ = toy_models.classifier()

    with pytest.raises(DataError, match="images: got none"):
        classify_files(session_of(model), [])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (toy_models.identity(), r"bnndeploy\.input: got none"),
        (
            toy_models.identity(shape=("N", 3), metadata={"input": toy_models.DIGITS_INPUT}),
            r"input of shape \['N', 3\], expected \[batch, 1, 8, 8\] or \[batch, 64\]",
        ),
        (
            toy_models.identity(shape=(1, 64), metadata={"input": toy_models.DIGITS_INPUT}),
            r"input of shape \[1, 64\], expected .* with a free batch",
        ),
        (
            toy_models.sum_and_difference(metadata={"input": toy_models.DIGITS_INPUT}),
            r"inputs \['a', 'b'\], expected one image input",
        ),
    ],
)
def test_a_model_that_is_no_image_classifier_is_refused(model, message):
    with pytest.raises(ModelFileError, match=message):
        Classifier(session_of(model))


def test_a_model_that_fails_when_it_runs_gives_one_line():
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["logits"])]
    graph = helper.make_graph(
        nodes,
        "broken",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", None])],
        [numpy_helper.from_array(np.array([-1, 7]), "shape")],
    )
    classifier = Classifier(session_of(toy_models.save(graph, {"input": toy_models.DIGITS_INPUT})))

    with pytest.raises(ModelFileError, match=r"^model: ONNX Runtime cannot run it \(.*$"):
        classifier.classify([np.zeros((1, 8, 8), np.float32)])


def test_a_number_of_classes_that_is_not_the_number_of_logits_is_refused():
    model, _ = toy_models.classifier(classes=("a", "b"))

    with pytest.raises(ModelFileError, match="3 outputs for 2 classes"):
        Classifier(session_of(model)).rank(np.zeros(3, np.float32), top=1)
