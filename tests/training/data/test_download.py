"""Downloads by torchvision, from a server on this machine that stands in for its own."""

import functools
import gzip
import hashlib
import http.server
import json
import threading

import pytest
import torch
from typer.testing import CliRunner

from bnndeploy.errors import DataError
from bnndeploy.training import data
from bnndeploy.training.recipe import DataTable

datasets = pytest.importorskip("torchvision").datasets

# torchvision leaves its sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def idx(*shape, highest):
    header = bytes((0, 0, 8, len(shape))) + b"".join(n.to_bytes(4, "big") for n in shape)
    count = int(torch.tensor(shape).prod())
    return header + bytes(index % highest for index in range(count))


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serves a small MNIST under torchvision's file names and with true checksums."""
    folder = tmp_path / "server"
    folder.mkdir()
    resources = []
    for part, count in (("train", 40), ("t10k", 20)):
        files = {
            f"{part}-images-idx3-ubyte.gz": idx(count, 28, 28, highest=255),
            f"{part}-labels-idx1-ubyte.gz": idx(count, highest=10),
        }
        for name, content in files.items():
            packed = gzip.compress(content)
            (folder / name).write_bytes(packed)
            resources.append((name, hashlib.md5(packed).hexdigest()))
    monkeypatch.setattr(datasets.MNIST, "resources", resources)
    handler = functools.partial(Silent, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{listening.server_port}/"
        monkeypatch.setattr(datasets.MNIST, "mirrors", [address])
        yield folder
        listening.shutdown()


def load(root, name="mnist"):
    return data.load(DataTable(name), root, download=True)


def test_files_are_fetched_once_and_then_read(server, tmp_path):
    splits = load(tmp_path / "data")
    assert (len(splits.train) + len(splits.validation), len(splits.test)) == (40, 20)

    for file in server.iterdir():
        file.unlink()
    again = load(tmp_path / "data")
    assert torch.equal(again.test.pixels, splits.test.pixels)


def test_the_command_prints_nothing_but_its_answer(server, tmp_path):
    from bnndeploy.cli import app

    result = CliRunner().invoke(
        app, ["data", "mnist", "--data", str(tmp_path / "data"), "--download", "--json"]
    )

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["schema"] == 1


@pytest.mark.parametrize("fault", ["missing", "damaged"])
def test_a_download_that_fails_is_one_clear_line(server, tmp_path, fault):
    file = server / "t10k-labels-idx1-ubyte.gz"
    file.unlink() if fault == "missing" else file.write_bytes(b"cut off")

    with pytest.raises(DataError, match=r"MNIST could not be downloaded \(.*t10k-labels") as caught:
        load(tmp_path / "data")
    assert "\n" not in str(caught.value)
    assert f"put its files below {tmp_path / 'data'} yourself" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "of_torchvision"),
    [("fashion-mnist", "FashionMNIST"), ("cifar-10", "CIFAR10"), ("cifar-100", "CIFAR100"),
     ("svhn", "SVHN")],
)  # fmt: skip
def test_a_server_out_of_reach_is_one_clear_line(tmp_path, monkeypatch, name, of_torchvision):
    kind = getattr(datasets, of_torchvision)
    nowhere = (tmp_path / "nowhere").as_uri()
    if hasattr(kind, "mirrors"):
        monkeypatch.setattr(kind, "mirrors", [f"{nowhere}/"])
    elif hasattr(kind, "url"):
        monkeypatch.setattr(kind, "url", nowhere)
    else:
        lists = {split: [nowhere, *entry[1:]] for split, entry in kind.split_list.items()}
        monkeypatch.setattr(kind, "split_list", lists)

    with pytest.raises(DataError, match=f"{of_torchvision} could not be downloaded") as caught:
        load(tmp_path / "data", name)
    assert "\n" not in str(caught.value)


def test_a_download_needs_a_folder():
    with pytest.raises(DataError, match="no folder to download into, expected --data DIR"):
        load(None)
