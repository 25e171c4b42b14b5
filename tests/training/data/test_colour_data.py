"""CIFAR and SVHN files, written here as their authors lay them out."""

import io
import os
import pickle
import tarfile

import numpy as np
import pytest
import torch

from bnndeploy.errors import DataError
from bnndeploy.training import data
from bnndeploy.training.recipe import DataTable


def records(count, label_bytes, classes, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    pixels = rng.integers(0, 256, (count, 3072), dtype=np.uint8)
    coarse = np.zeros((count, label_bytes - 1), np.uint8)
    return labels, pixels, np.concatenate([coarse, labels[:, None].astype(np.uint8), pixels], 1)


def write_binary(root, count=6):
    folder = root / "cifar-10-batches-bin"
    folder.mkdir()
    for number, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        (folder / f"{name}.bin").write_bytes(records(count, 1, 10, number)[2].tobytes())
    return folder


def write_python(root, count=6):
    folder = root / "cifar-10-batches-py"
    folder.mkdir()
    for number, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        labels, pixels, _ = records(count, 1, 10, number)
        batch = {"data": pixels, "labels": labels.tolist(), "batch_label": name}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
    return folder


def archive(folder, path):
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder, folder.name)


def read(root, name="cifar-10"):
    dataset = data.get(DataTable(name))
    return dataset.read(root, download=False)


def test_binary_and_python_archives_give_the_same_images(tmp_path):
    places = [tmp_path / kind for kind in ("binary", "python", "binary-tar", "python-tar")]
    for place in places:
        place.mkdir()
    archive(write_binary(places[0]), places[2] / "cifar-10-binary.tar.gz")
    archive(write_python(places[1]), places[3] / "cifar-10-python.tar.gz")

    first, *others = [read(place) for place in places]

    assert first[0].pixels.shape == (30, 3, 32, 32)
    assert first[1].labels.tolist() == [0, 1, 2, 3, 4, 5]
    for other in others:
        for split, twin in zip(first, other, strict=True):
            assert torch.equal(split.pixels, twin.pixels)
            assert torch.equal(split.labels, twin.labels)


def test_an_image_is_three_planes_of_rows(tmp_path):
    folder = write_binary(tmp_path)
    pixels = read(tmp_path)[1].pixels

    raw = (folder / "test_batch.bin").read_bytes()

    assert pixels[0, 1, 2, 3] == raw[1 + 1024 + 2 * 32 + 3]
    assert pixels[1, 2, 31, 31] == raw[2 * 3073 - 1]


def test_cifar_100_takes_the_fine_label(tmp_path):
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    for number, name in enumerate(("train", "test")):
        (folder / f"{name}.bin").write_bytes(records(120, 2, 100, number)[2].tobytes())

    train, test = read(tmp_path, "cifar-100")

    assert train.labels.tolist() == test.labels.tolist() == [i % 100 for i in range(120)]
    classes = data.get(DataTable("cifar-100")).classes
    assert len(classes) == len(set(classes)) == 100
    assert (classes[0], classes[99]) == ("apple", "worm")


def test_a_truncated_binary_file_is_named(tmp_path):
    folder = write_binary(tmp_path)
    path = folder / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(DataError, match=r"data_batch_3.bin: got 18,437 bytes, expected a multiple"):
        read(tmp_path)


def test_a_missing_part_is_named(tmp_path):
    folder = write_python(tmp_path)
    (folder / "data_batch_2").unlink()

    with pytest.raises(DataError, match="data_batch_2 cannot be read"):
        read(tmp_path)


class Evil:
    def __reduce__(self):
        return os.system, ("echo pwned",)


@pytest.mark.parametrize("content", [pickle.dumps(Evil()), b"", b"\x80\x02junk", pickle.dumps([1])])
def test_a_pickle_that_is_no_batch_of_arrays_is_refused_unrun(tmp_path, content, capfd):
    folder = write_python(tmp_path)
    (folder / "data_batch_1").write_bytes(content)

    with pytest.raises(DataError, match=r"data_batch_1: (cannot be read|got list)"):
        read(tmp_path)
    assert "pwned" not in capfd.readouterr().out


def test_svhn_is_read_and_its_label_10_is_the_digit_0(tmp_path):
    from scipy.io import savemat

    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 4), dtype=np.uint8)
    labels = np.array([[10], [1], [2], [9]], np.uint8)
    for name in ("train", "test"):
        savemat(tmp_path / f"{name}_32x32.mat", {"X": pixels, "y": labels})

    train, _ = read(tmp_path, "svhn")

    assert train.labels.tolist() == [0, 1, 2, 9]
    assert train.pixels[3, 2, 5, 7] == pixels[5, 7, 2, 3]


def test_a_damaged_svhn_file_is_named(tmp_path):
    (tmp_path / "train_32x32.mat").write_bytes(b"nonsense" * 40)

    with pytest.raises(DataError, match=r"train_32x32.mat: cannot be read"):
        read(tmp_path, "svhn")


def test_an_archive_without_the_part_says_so(tmp_path):
    with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("readme.html"), io.BytesIO())

    with pytest.raises(DataError, match=r"holds no data_batch_1.bin"):
        read(tmp_path)


@pytest.mark.skipif("BNNDEPLOY_DATA" not in os.environ, reason="BNNDEPLOY_DATA names no data")
@pytest.mark.parametrize(
    ("name", "sizes"), [("mnist", (60000, 10000)), ("cifar-10", (50000, 10000))]
)
def test_the_real_files_have_the_published_sizes_mean_and_std(name, sizes):
    dataset = data.get(DataTable(name))
    try:
        train, test = dataset.read(_root(), download=False)
    except DataError as error:
        pytest.skip(str(error))

    assert (len(train), len(test)) == sizes
    values = train.pixels.float() / 255
    mean, std = values.mean((0, 2, 3)), values.std((0, 2, 3))
    assert torch.allclose(mean, torch.tensor(dataset.mean), atol=2e-4)
    assert torch.allclose(std, torch.tensor(dataset.std), atol=2e-4)


def _root():
    from pathlib import Path

    return Path(os.environ["BNNDEPLOY_DATA"])
