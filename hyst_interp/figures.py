"""Figures: labelled arrays in, plotly figures out. They compute nothing, and nobody calls `.show()`.

    import hyst_interp as hi
    figure = hi.figures.heatmap(pair.patching("resid_pre"))
    hi.figures.write_figure(figure, "patching.html")

Every figure wears one template (`plots.theme`), states in its title what is shown, and carries its units on its axes.
Those with several panels take `stacked=True` to set them one below the other, for narrow columns. This is a table of
names: a figure stands with its question, the forms that it is made of in `plots/`.
"""

from importlib import import_module
from typing import Any

from hyst_interp.names import PACKAGE, PICTURES, homes

_HOME = {name: module for module, names in homes("figures", PICTURES).items() for name in names}
__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{PACKAGE}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
