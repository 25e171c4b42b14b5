import pytest
import torch
from torch import nn

from bnndeploy.errors import CheckpointError
from bnndeploy.layers.migration import read_checkpoint


def test_reads_what_the_training_script_saved(tmp_path):
    weights = nn.Linear(3, 2).state_dict()
    torch.save({"epoch": 3, "best_prec1": 91.5, "state_dict": weights}, tmp_path / "best.pth.tar")

    content = read_checkpoint(tmp_path / "best.pth.tar")

    assert content["epoch"] == 3
    assert torch.equal(content["state_dict"]["weight"], weights["weight"])


def test_a_file_that_holds_a_whole_module_is_refused_without_running_it(tmp_path):
    torch.save(nn.Linear(3, 2), tmp_path / "whole.pth")

    with pytest.raises(CheckpointError, match="holds Python objects besides tensors; save model"):
        read_checkpoint(tmp_path / "whole.pth")


@pytest.mark.parametrize("content", [None, b"", b"not a checkpoint", b"PK\x03\x04broken"])
def test_a_missing_or_damaged_file_gives_one_line(tmp_path, content):
    path = tmp_path / "checkpoint.pth"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(CheckpointError, match=r"^checkpoint .*checkpoint\.pth: [^\n]*$"):
        read_checkpoint(path)


def test_a_file_with_a_bare_tensor_is_refused(tmp_path):
    torch.save(torch.zeros(3), tmp_path / "tensor.pth")

    with pytest.raises(CheckpointError, match="got a Tensor, expected a state_dict"):
        read_checkpoint(tmp_path / "tensor.pth")
