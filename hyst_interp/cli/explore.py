"""`explore`: two histories head by head, as one page with menus that needs neither a kernel nor a network."""

from typing import Annotated

import typer

from hyst_interp.cli.arguments import Above, Below, Format, Seed, at_least, check_seed, output_file, two_checkpoints
from hyst_interp.cli.output import Answer, check_format, on_terminal, schema

MOST = 200
"""Trials of a page at most: every one brings its attention patterns."""


def explore(
    below: Below,
    above: Above,
    out: Annotated[str, typer.Option("--out", metavar="FILE.html", help="Page to write.")],
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help=f"Conflict trials that the page's menu offers, 1 to {MOST}.")
    ] = 12,
    seed: Seed = None,
    format: Format = "table",
) -> Answer:
    """Write the explorer: a page with menus for trial, layer, head, and history.

    It shows both histories' margins and top logits, attention patterns, and every head's QK and OV circuits, and
    their difference, from below minus from above. It opens without a kernel or a network.

    \b
    Example:
      hyst-interp explore checkpoints/seed-0/order-0/below \\
          checkpoints/seed-0/order-0/above --out explorer.html
    """
    check_format(format)
    at_least("--trials", trials, 1, MOST)
    check_seed(seed)
    file = output_file("--out", out, (".html",))
    two_checkpoints(below, above)

    from hyst_interp.analysis.histories import Histories
    from hyst_interp.explorer.explorer_data import explore_pair
    from hyst_interp.explorer.page import explorer_page
    from hyst_interp.history.guard import one_thread
    from hyst_interp.storage.atomic import new_file

    on_terminal(f"looking at every head on {trials} trials …")
    with one_thread():  # the same bytes on every call
        both = Histories.open(below, above, seed=seed)
        exploration = explore_pair(both, trials)
    page = explorer_page(exploration)
    with new_file(file) as part:
        part.write_text(page, "utf-8")
    data = {
        "schema": schema("explore"),
        "trials": trials,
        "layers": exploration.sizes["layer"],
        "heads": exploration.sizes["head"],
        "bytes": len(page.encode()),
        "read": [str(both.below.directory), str(both.above.directory)],
        "wrote": [str(file)],
    }
    lines = [
        f"wrote  {file}: {trials} trial{'s' if trials != 1 else ''}, {data['layers']} layers of {data['heads']} heads",
        *(f"read   {name}" for name in data["read"]),
    ]
    return Answer(data, [data], lambda colour: "\n".join(lines), format)
