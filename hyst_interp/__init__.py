"""Does a neural network remember how it was trained, where is that memory, and does it last?

    import hyst_interp as hi
    pair = hi.pair("checkpoints/seed-0/order-0/below", "checkpoints/seed-0/order-0/above")
    pair.gap(); pair.attenuation(); hi.figures.heatmap(pair.patching("resid_pre"))

`import hyst_interp` imports no tensor library; the first use of a name imports what it needs. Which names there are is
said in `names.py` and by the questions; `__init__.pyi`, made from these, tells editors. Where a name is both a noun and
a folder's business, the folder is an attribute too (`hi.statistics.student_t`, `hi.figures.heatmap`).
"""

from typing import Any

import lazy_loader

from hyst_interp.names import NAMES, ROOMS, homes

_named, __dir__, __all__ = lazy_loader.attach(__name__, submodules=ROOMS, submod_attrs=homes("public", NAMES))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("hyst-interp")
    return _named(name)
