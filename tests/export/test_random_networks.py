"""Seventy random architectures: the packed graph makes every binary decision of the module."""

from collections import Counter

import numpy as np
import pytest
import torch
from _exported import export, flipped_bits, randomise, run_oracle
from _random_networks import draw_networks

from bnndeploy.export.metadata import get_metadata

GROUPS, EACH = 7, 10


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_no_bit_differs_from_the_module(group):
    module, inputs = draw_networks(group * EACH, EACH)
    randomise(module, group)
    # Tracing takes half the time where the batch is fixed; the first group keeps it dynamic.
    fixed = (tuple(None for _ in inputs),)
    report = export(module, *inputs, dynamic_shapes=fixed if group else None)
    fired = Counter(event.pass_name for event in report.fired)

    assert min(fired[name] for name in ("pack-products", "fold-thresholds", "emit-bits")) > 5
    assert len(get_metadata(report.model)["probes"]) > 3 * EACH
    assert flipped_bits(report, module, *inputs) == 0
    values = run_oracle(report.model, *(x.numpy() for x in inputs))
    with torch.no_grad():
        expected = module(*inputs)
    for output, y in zip(report.model.graph.output, expected, strict=True):
        np.testing.assert_allclose(values[output.name], y.numpy(), rtol=1e-4, atol=1e-3)
