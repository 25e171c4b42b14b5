"""Data sets held as tensors: files read, files refused, splits and normalisation."""

import gzip
import struct

import pytest
import torch

from bnndeploy.errors import DataError, RecipeError
from bnndeploy.training import data
from bnndeploy.training.data.idx import read_idx
from bnndeploy.training.recipe import DataTable


def idx_bytes(tensor):
    header = bytes((0, 0, 8, tensor.ndim)) + struct.pack(f">{tensor.ndim}I", *tensor.shape)
    return header + bytes(tensor.flatten().tolist())


def write_mnist(root, train=20, test=6, classes=10, zipped=False):
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    generator = torch.Generator().manual_seed(3)
    for part, count in (("train", train), ("t10k", test)):
        images = torch.randint(0, 256, (count, 28, 28), generator=generator)
        labels = torch.arange(count) % classes
        for name, tensor in ((f"{part}-images-idx3", images), (f"{part}-labels-idx1", labels)):
            content = idx_bytes(tensor)
            path = folder / f"{name}-ubyte{'.gz' if zipped else ''}"
            path.write_bytes(gzip.compress(content) if zipped else content)
    return folder


def test_digits_are_split_the_same_way_each_time_and_without_overlap():
    first, again = data.load(DataTable("digits")), data.load(DataTable("digits"))

    assert torch.equal(first.train.pixels, again.train.pixels)
    assert len(first.train) + len(first.validation) + len(first.test) == 1797
    rows = [tuple(p.flatten().tolist()) for p in (*first.train.pixels, *first.validation.pixels)]
    assert len(set(rows)) == len(rows)


def test_the_test_images_do_not_depend_on_the_split_seed():
    a, b = (data.load(DataTable("digits", split_seed=seed)) for seed in (0, 1))

    assert torch.equal(a.test.pixels, b.test.pixels)
    assert not torch.equal(a.validation.pixels, b.validation.pixels)


def test_normalised_images_are_those_of_the_input_spec():
    splits = data.load(DataTable("digits"))
    spec = splits.input_spec

    expected = (splits.test.pixels.float() / spec["range"][1] - spec["mean"][0]) / spec["std"][0]

    assert torch.equal(splits.test.images, expected)
    assert splits.test.images.dtype == torch.float32
    assert list(splits.test.images.shape[1:]) == spec["shape"]


def test_default_mean_and_std_standardise_the_digits():
    images = data.load(DataTable("digits")).train.images

    assert abs(float(images.mean())) < 0.01
    assert abs(float(images.std()) - 1) < 0.01


def test_mean_and_std_of_the_wrong_length_are_refused():
    with pytest.raises(RecipeError, match=r"data\.mean: got 3 values, expected 1"):
        data.load(DataTable("digits", mean=(0.1, 0.2, 0.3)))


def test_an_unknown_data_set_names_the_nearest():
    with pytest.raises(RecipeError, match=r"data set 'digit' is unknown .did you mean 'digits'"):
        data.load(DataTable("digit"))


@pytest.mark.parametrize("zipped", [False, True])
def test_mnist_is_read_plain_and_gzipped(tmp_path, zipped):
    write_mnist(tmp_path, zipped=zipped)

    splits = data.load(DataTable("mnist"), tmp_path)

    assert (len(splits.train), len(splits.validation), len(splits.test)) == (18, 2, 6)
    assert splits.test.pixels.shape == (6, 1, 28, 28)
    assert splits.test.labels.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_folder_of_the_files_itself_is_found_too(tmp_path):
    folder = write_mnist(tmp_path)

    assert len(data.load(DataTable("mnist"), folder).test) == 6


def test_missing_files_say_where_they_were_looked_for(tmp_path):
    with pytest.raises(DataError, match=f"no train-images-idx3-ubyte .* in {tmp_path}/MNIST/raw"):
        data.load(DataTable("mnist"), tmp_path)


def test_no_folder_is_refused():
    with pytest.raises(DataError, match="got no folder, expected --data DIR"):
        data.load(DataTable("mnist"))


@pytest.mark.parametrize("kept", [0, 3, 15, 100])
def test_a_truncated_file_is_named(tmp_path, kept):
    folder = write_mnist(tmp_path)
    path = folder / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(DataError, match="train-images-idx3-ubyte: got"):
        data.load(DataTable("mnist"), tmp_path)


def test_a_truncated_gzip_file_is_named(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(bytes(1000))[:20])

    with pytest.raises(DataError, match=r"x\.gz: cannot be read"):
        read_idx(path, 1)


def test_a_file_of_another_rank_is_refused(tmp_path):
    path = tmp_path / "labels"
    path.write_bytes(idx_bytes(torch.zeros(4, dtype=torch.uint8)))

    with pytest.raises(DataError, match="got header 00000801, expected an IDX file"):
        read_idx(path, 3)


def test_images_and_labels_must_be_as_many(tmp_path):
    folder = write_mnist(tmp_path)
    labels = folder / "train-labels-idx1-ubyte"
    labels.write_bytes(idx_bytes(torch.arange(19)))

    with pytest.raises(DataError, match="got 20 images and 19 labels in train"):
        data.load(DataTable("mnist"), tmp_path)


def test_one_class_is_refused_because_it_reads_as_100_percent(tmp_path):
    write_mnist(tmp_path, classes=1)

    with pytest.raises(DataError, match="mnist training images: got only the class '0' in 20"):
        data.load(DataTable("mnist"), tmp_path)


def test_a_label_beyond_the_classes_is_refused(tmp_path):
    write_mnist(tmp_path, classes=12)

    with pytest.raises(DataError, match="got label 11, expected labels 0 to 9"):
        data.load(DataTable("mnist"), tmp_path)


def test_a_validation_share_that_rounds_to_nothing_is_refused(tmp_path):
    write_mnist(tmp_path)

    with pytest.raises(DataError, match="got 0 of 20 images for validation"):
        data.load(DataTable("mnist", validation=0.01), tmp_path)


def test_the_histogram_counts_each_class(tmp_path):
    write_mnist(tmp_path)
    splits = data.load(DataTable("mnist"), tmp_path)

    counts = data.histogram(splits.test, splits.classes)

    assert counts == {str(digit): int(digit < 6) for digit in range(10)}
