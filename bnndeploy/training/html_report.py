"""report.html: one self-contained page about a finished run."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from bnndeploy.training import _atomic
from bnndeploy.training.data import DataSplits
from bnndeploy.training.evaluate import Scores

_SHOWN = 12
_MOST_CLASSES = 40  # a larger confusion matrix cannot be read; the worst pairs are listed instead
_STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1c2330, #e6e9ef); --accent: 37 99 235;
  --paper: light-dark(#ffffff, #14181f); --line: light-dark(#d9dee7, #323a48) }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper) }
h1 { margin-bottom: 0 } h2 { margin-top: 2.2rem }
table { border-collapse: collapse } td, th { padding: .2rem .55rem; text-align: right }
th { font-weight: 600 } .layers td, .layers th { border-bottom: 1px solid var(--line) }
.scroll { overflow-x: auto } .facts { display: flex; flex-wrap: wrap; gap: .6rem 2.2rem }
.facts b { display: block; font-size: 1.5rem }
.confusion td { min-width: 2.1rem; text-align: center }
.samples { display: flex; flex-wrap: wrap; gap: 1rem } figure { margin: 0; width: 6.5rem }
figure img { width: 6.5rem; height: 6.5rem; image-rendering: pixelated; border-radius: 4px }
figcaption { font-size: .8rem } .wrong { color: light-dark(#b42318, #ff8f84) }
img.curves { max-width: 100%; background: #fff }
"""


def write_html(
    path: Path,
    report: dict[str, Any],
    layer_rows: Sequence[dict[str, Any]],
    splits: DataSplits,
    test: Scores,
    curves: Path,
) -> None:
    """Writes the page: figures, curves, confusion matrix, sample predictions, layers."""
    body = [
        f"<h1>{html.escape(report['name'])}</h1>",
        _facts(report),
        "<h2>Curves</h2>",
        f'<img class="curves" alt="loss and accuracy" src="{_embed(curves.read_bytes())}">',
        "<h2>Confusion on the test images</h2>",
        _confusion(report["confusion"], report["classes"]),
        "<h2>Surest mistakes</h2>",
        _samples(splits, test, _mistakes(splits, test)),
        "<h2>First test images</h2>",
        _samples(splits, test, torch.arange(min(_SHOWN, len(splits.test)))),
        "<h2>Quantized layers</h2>",
        _layers(layer_rows, report["latents"]),
    ]
    page = (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(report['name'])}</title><style>{_STYLE}</style>\n"
        + "\n".join(body)
        + "\n</html>\n"
    )
    _atomic.write_text(path, page)


def _facts(report: dict[str, Any]) -> str:
    facts = {
        "test accuracy": f"{100 * report['test_accuracy']:.2f} %",
        "validation accuracy": f"{100 * report['validation_accuracy']:.2f} %",
        "best epoch": f"{report['best_epoch']} of {report['epochs']}",
        "training": f"{report['seconds']:,.0f} s",
        "parameters": f"{report['parameters']:,}",
        "test images": f"{report['images']['test']:,}",
        "seed": str(report["seed"]),
    }
    cells = "".join(f"<div><b>{value}</b>{name}</div>" for name, value in facts.items())
    return f'<div class="facts">{cells}</div>'


def _confusion(counts: list[list[int]], classes: list[str]) -> str:
    if len(classes) > _MOST_CLASSES:
        return _worst_pairs(counts, classes)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in classes)
    rows = []
    for truth, row in enumerate(counts):
        total = max(sum(row), 1)
        cells = "".join(
            f'<td style="background: rgb(var(--accent) / {0.85 * count / total:.2f})">'
            f"{count or ''}</td>"
            for count in row
        )
        rows.append(f"<tr><th>{html.escape(classes[truth])}</th>{cells}</tr>")
    return (
        '<p>Rows are the true classes, columns the predicted ones.</p><div class="scroll">'
        f'<table class="confusion"><tr><th></th>{head}</tr>{"".join(rows)}</table></div>'
    )


def _worst_pairs(counts: list[list[int]], classes: list[str]) -> str:
    table = np.asarray(counts)
    np.fill_diagonal(table, 0)
    worst = np.argsort(table, axis=None)[::-1][:20]
    rows = "".join(
        f"<tr><td>{html.escape(classes[t])}</td><td>{html.escape(classes[p])}</td>"
        f"<td>{table[t, p]}</td></tr>"
        for t, p in zip(*np.unravel_index(worst, table.shape), strict=True)
    )
    return (
        '<p>The pairs confused most often.</p><table class="layers">'
        f"<tr><th>true</th><th>predicted</th><th>images</th></tr>{rows}</table>"
    )


def _mistakes(splits: DataSplits, test: Scores) -> Tensor:
    """Places of the wrong answers, the surest first."""
    wrong = (test.predictions != splits.test.labels).nonzero().flatten()
    order = test.confidences[wrong].argsort(descending=True, stable=True)
    return wrong[order][:_SHOWN]


def _samples(splits: DataSplits, test: Scores, places: Tensor) -> str:
    if len(places) == 0:
        return "<p>None.</p>"
    scaled = splits.test.pixels_at(places).double() / splits.input_spec["range"][1]
    images = (scaled * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
    figures = []
    for place, pixels in zip(places.tolist(), images, strict=True):
        truth = splits.classes[int(splits.test.labels[place])]
        answer = splits.classes[int(test.predictions[place])]
        css = "" if truth == answer else ' class="wrong"'
        caption = f"{answer} ({100 * float(test.confidences[place]):.0f} %)"
        if truth != answer:
            caption += f", is {truth}"
        figures.append(
            f'<figure><img alt="test image {place}" src="{_embed(_png(pixels))}">'
            f"<figcaption{css}>{html.escape(caption)}</figcaption></figure>"
        )
    return f'<div class="samples">{"".join(figures)}</div>'


def _layers(rows: Sequence[dict[str, Any]], latents: dict[str, dict[str, Any]]) -> str:
    last = {str(row["layer"]): row for row in rows}
    if not last:
        return "<p>None.</p>"
    lines = []
    for name, row in last.items():
        cells = "".join(f"<td>{row[key]:.4f}</td>" for key in ("flips", "zeros", "w_pos", "w_neg"))
        lines.append(
            f"<tr><th>{html.escape(name)}</th>{cells}<td>{_histogram(latents[name])}</td></tr>"
        )
    return (
        "<p>Flips: share of the codes that changed in the last epoch. Zeros: share of zero "
        "codes. Scale + and scale -: means over the positive and the negative codes. Latents: "
        "histogram of the real weights behind the codes.</p>"
        '<div class="scroll"><table class="layers"><tr><th>layer</th><th>flips</th>'
        "<th>zeros</th><th>scale +</th><th>scale -</th><th>latents</th></tr>"
        f"{''.join(lines)}</table></div>"
    )


def _histogram(latents: dict[str, Any]) -> str:
    counts = latents["counts"]
    top = max(*counts, 1)
    bars = "".join(
        f'<rect x="{4 * place}" y="{30 - 30 * count / top:.1f}" width="3.4" '
        f'height="{30 * count / top:.1f}"/>'
        for place, count in enumerate(counts)
    )
    low, high = latents["low"], latents["high"]
    return (
        f'<svg width="160" height="30" role="img" fill="rgb(37 99 235)" '
        f'aria-label="latent weights from {low:.2f} to {high:.2f}">{bars}</svg>'
        f"<br>{low:.2f} … {high:.2f}"
    )


def _png(pixels: Any) -> bytes:
    image = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(image, "PNG")
    return image.getvalue()


def _embed(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
