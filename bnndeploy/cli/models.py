"""``bnndeploy models``: lists the networks of the zoo, or the layers of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, echo

from bnndeploy.cli._output import Json, emit_json, table

if TYPE_CHECKING:
    from bnndeploy.networks.summary import Summary
    from bnndeploy.training.overview import Entry


def models(
    name: Annotated[str, Argument(help="A network of the zoo, for its layers.")] = "",
    markdown: Annotated[
        bool, Option("--markdown", help="Print the table of docs/networks.md.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the networks of the zoo: parameters, operations, size, accuracy."""
    from bnndeploy.training import overview, zoo

    if name:
        _one(overview.describe(name), overview.layers(name), as_json)
        return
    entries = [overview.describe(each) for each in zoo.names()]
    if as_json:
        emit_json({"models": [entry.as_dict() for entry in entries]})
    elif markdown:
        echo(overview.to_markdown(entries), nl=False)
    else:
        rows = [overview.to_row(entry) for entry in entries]
        echo(table(list(rows[0]), [list(row.values()) for row in rows]))


def _one(entry: Entry, layers: Summary, as_json: bool) -> None:
    if as_json:
        emit_json(entry.as_dict() | {"rows": layers.as_dict()["layers"]})
        return
    header = ("layer", "kind", "output", "1-bit", "2-bit", "float", "binary MACs", "ternary MACs",
              "float MACs", "packed bytes")  # fmt: skip
    rows = [
        (row.name, row.kind, "x".join(map(str, row.output_shape)), *vars(row.counts).values())
        for row in layers.layers
    ]
    echo(table(header, [*rows, ("total", "", "", *vars(layers.total).values())]))
    echo(f"\nsource: {entry.source}\npublished accuracy: {entry.published or 'none'}")
    echo(f"ours: {entry.ours or 'not trained here'}")
