"""Exporting modules that take indices."""

import numpy as np
import pytest
import torch

from bnndeploy import InferenceSession
from bnndeploy.export import export_model
from bnndeploy.layers import QuantEmbedding
from bnndeploy.parity import verify


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_an_embedding_of_few_rows_exports_with_a_sample_of_its_own_indices(rows, tmp_path):
    torch.manual_seed(0)
    module = QuantEmbedding(rows, 32, weight_quantizer="ste_sign").eval()
    indices = torch.arange(rows).repeat(2).reshape(2, rows)

    export_model(module, indices, tmp_path / "model.onnx")

    session = InferenceSession(tmp_path / "model.onnx")
    (y,) = session.run(None, {session.get_inputs()[0].name: indices.numpy()})
    np.testing.assert_array_equal(y, module(indices).detach().numpy())
    (described,) = session.read_metadata().values["sample"]["inputs"]
    assert described["below"] == rows
    assert verify(tmp_path / "model.onnx").passed
