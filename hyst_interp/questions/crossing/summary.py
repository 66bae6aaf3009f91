"""Moved places and swapped layers as numbers with intervals: the table of a map, and the table along the depth.

Intervals are over seeds where there is a `seed` (each its mean over trials and data orders), else over the trials of
one pair. What moves the gap the way of its sign has its sign.
"""

import xarray as xr

from hyst_interp.analysis.exchange import exchanged, whole_gap
from hyst_interp.analysis.summary import cell, join, shares, summarise
from hyst_interp.questions.crossing.measure import MAPS

STEPS = {"added_into_below": "into_below", "added_into_above": "into_above", "added": "moved"}
"""What a depth adds → what is moved up to it."""


def crossed(patched: xr.Dataset) -> xr.Dataset:
    """Logits moved by every cell, trials and further dims (seed, order) kept; float64.

    Variables: `gap`; `sufficient` (into from above) and `necessary` (into from below), for what from below carries;
    `moved`, the mean of the two, which is the donors' headline; `asymmetry`, necessary − sufficient.

    Args:
        patched: `cross_model_patching`'s Dataset.
    """
    values = exchanged(patched)
    asymmetry = (values["into_below"] - values["into_above"]).assign_attrs(units="logits")
    named = values.rename(into_above="sufficient", into_below="necessary").drop_vars("interaction")
    return named.assign(asymmetry=asymmetry).assign_attrs(patched.attrs)


def crossing_table(patched: xr.Dataset) -> xr.Dataset:
    """The table of every cell, dims (effect, layer[, head], role), in logits; `effect` holds `MAPS` and `moved`.

    `attrs` say the `site`, its `units`, and the `gap` as text.
    """
    values = crossed(patched)
    table = join({name: summarise(values[name]) for name in (*MAPS, "moved")}, "effect")
    return table.assign_attrs(patched.attrs, units="logits", gap=cell(whole_gap(patched)).text(2))


def moved_by_depth(swapped: xr.Dataset) -> xr.Dataset:
    """Logits of the gap moved at every depth, and added by it, trials and further dims (seed, order) kept; float64.

    Variables: `gap`; `into_below`, `into_above` (rung), 0 at the first depth and the gap at the last; `moved`, their
    mean; and `added`, `added_into_below`, `added_into_above`: the step from the depth before, 0 at the first. `added`
    sums to the gap.

    Args:
        swapped: `layer_swap`'s Dataset.
    """
    values = exchanged(swapped).drop_vars("interaction")
    steps = {step: values[level] - values[level].shift(rung=1, fill_value=0.0) for step, level in STEPS.items()}
    return values.assign({name: step.assign_attrs(units="logits") for name, step in steps.items()})


def layer_swap_table(swapped: xr.Dataset) -> xr.Dataset:
    """The table along the depth, dims (quantity, rung): `moved` and `added`, either direction of both, `added_share`.

    `rung` names the depth.
    """
    values = moved_by_depth(swapped)
    tables = {str(name): summarise(value) for name, value in values.data_vars.items() if name != "gap"}
    return join(tables | {"added_share": shares(values["added"], values["gap"])})
