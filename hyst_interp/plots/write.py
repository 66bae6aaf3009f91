"""A figure as a file: a page that opens without a network, or a picture drawn by an installed browser."""

from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from hyst_interp.errors import UserError
from hyst_interp.plots.browsers import browser_path
from hyst_interp.plots.theme import CONFIG
from hyst_interp.storage.atomic import new_file

PICTURES = (".png", ".svg")
SUFFIXES = (".html", *PICTURES)
WIDTH, HEIGHT, SCALE = 960, 540, 2
"""Size of a picture in CSS pixels where the figure has none of its own; a PNG has SCALE dots a pixel."""
DIV = "figure"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>figure</title>
</head>
<body style="margin:0">{body}</body>
</html>
"""


def write_figure(figure: go.Figure, path: str | Path) -> None:
    """Write a figure as `.html` (self-contained, no network), `.png`, or `.svg`; whole or not at all.

    Pictures need an installed Chrome or Chromium (`browser_path`) and the extra `figures` (kaleido).

    Raises:
        UserError: another suffix, or no browser or kaleido for a picture.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"figure '{target}' has suffix '{target.suffix}'; use one of {', '.join(SUFFIXES)}.")
    content = _page(figure) if suffix == ".html" else _picture(figure, target)
    with new_file(target) as part:
        part.write_bytes(content)


def _page(figure: go.Figure) -> bytes:
    height = f"{_size(figure, 'height', HEIGHT)}px"
    body = figure.to_html(
        config=CONFIG,
        include_plotlyjs=True,
        include_mathjax=False,
        full_html=False,
        div_id=DIV,
        default_height=height,
    )
    return PAGE.format(body=body).encode()


def _size(figure: go.Figure, name: str, default: int) -> int:
    layout: Any = figure["layout"]
    return int(layout[name] or default)


def _picture(figure: go.Figure, target: Path) -> bytes:
    browser = browser_path()
    try:
        import kaleido
    except ImportError:
        kaleido = None
    if browser is None or kaleido is None:
        raise UserError(
            f"figure '{target}' needs a browser to be drawn; install Chrome or Chromium and"
            " pip install hyst-interp[figures], or write .html."
        )
    options = {
        "format": target.suffix.lower()[1:],
        "width": _size(figure, "width", WIDTH),
        "height": _size(figure, "height", HEIGHT),
        "scale": SCALE if target.suffix.lower() == ".png" else 1,
    }
    # The sandbox is off (kaleido's default): it cannot start for root, and the page is our own. MathJax would be
    # fetched from a network.
    return kaleido.calc_fig_sync(figure, opts=options, kopts={"path": browser, "mathjax": False})
