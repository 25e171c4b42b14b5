import pytest
import torch


@pytest.fixture
def forward_and_gradient():
    """Returns a function: values in, the quantizer's output and the gradient of its sum out."""

    def run(quantizer, values, upstream=None):
        x = torch.as_tensor(values).clone().requires_grad_()
        y = quantizer(x)
        y.backward(torch.ones_like(y) if upstream is None else torch.as_tensor(upstream))
        return y.detach(), x.grad

    return run
