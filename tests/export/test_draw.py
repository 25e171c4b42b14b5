"""Pictures of graphs."""

import pytest
from _exported import small_export
from PIL import Image

from bnndeploy.errors import ExportError
from bnndeploy.export import draw as drawing
from bnndeploy.export.draw import draw


def test_a_picture_shows_more_boxes_on_the_left_than_on_the_right(tmp_path):
    report = small_export("packed")
    path = tmp_path / "graph.png"
    draw(report.traced, report.model, path, "small")

    with Image.open(path) as image:
        width, height = image.size
        pixels = image.convert("L")
        ink = [
            sum(pixels.crop((left, height // 2, left + width // 2, height)).histogram()[:250])
            for left in (0, width // 2)
        ]
    assert ink[0] > 2 * ink[1] > 0


def test_a_graph_that_nobody_could_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "MAX_NODES", 5)
    report = small_export("packed")

    with pytest.raises(ExportError, match="expected at most 5; draw a smaller network"):
        draw(report.traced, report.model, tmp_path / "graph.png", "small")
    assert not list(tmp_path.iterdir())
