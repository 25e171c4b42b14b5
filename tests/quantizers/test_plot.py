import pytest
import torch

from bnndeploy.quantizers import get, names, plot


def test_rules_are_those_of_the_quantizer():
    x, value, gradient = plot.rules(get("ste_sign"))

    assert torch.equal(value, torch.where(x >= 0, 1.0, -1.0))
    assert torch.equal(gradient, (x.abs() <= 1).float())


def test_the_gradient_of_a_weight_is_that_of_its_own_effective_weight():
    _, value, gradient = plot.rules(get("ttq"))

    assert value.unique().numel() == 3
    torch.testing.assert_close(gradient[0], value[-1])


def test_draws_the_named_quantizers(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    plot.main([str(tmp_path / "plots"), "ste_sign", "ede_sign"])

    files = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert files == ["ede_sign.png", "ste_sign.png"]
    assert "ste_sign.png" in capsys.readouterr().out


def test_documentation_shows_each_quantizer(request):
    docs = request.config.rootpath / "docs"
    text = (docs / "quantizers.md").read_text()

    for name in names():
        assert f"`{name}`" in text, name
    for name in plot._own_names():
        assert (docs / "quantizers" / f"{name}.png").is_file(), name
        assert f"(quantizers/{name}.png)" in text, name


def test_without_a_folder_it_says_how_to_call_it():
    with pytest.raises(SystemExit, match="FOLDER"):
        plot.main([])
