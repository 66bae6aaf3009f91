"""What replacing components of two histories does to their gap.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from collections.abc import Sequence

import xarray as xr

from hyst_interp.analysis.histories import Histories
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.analysis.summary import records
from hyst_interp.errors import refuse_unknown
from hyst_interp.questions.attenuation import measure
from hyst_interp.questions.attenuation.summary import replacements
from hyst_interp.references import reference_names

REPLACED = (
    Column("reference", "reference"),
    Column("components", "components"),
    Column("logits_moved", "logits moved"),
    Column("attenuation", "share of the gap"),
    Column("answer_mass", "answer mass", lambda mass: f"{mass.estimate:.2f}"),
)
"""Columns of an attenuation."""


def attenuation(
    pair: Histories,
    components: str = "each,heads,mlps,all",
    references: Sequence[str] | None = None,
    positions: str = "query",
) -> Rows:
    """What replacing components does to the gap: one row a set and reference, every number an Estimate.

    Args:
        components: sets separated by commas (`each`, `heads`, `mlps`, `all`, `L0H1+L1MLP`).
        references: what they are replaced by; by default own-mean, pooled-mean, donor, and anchor-mean where the
            pair has its anchor.
        positions: `query`, or `all` positions.

    Raises:
        UserError: an unknown component, reference, or positions; anchor-mean without an anchor.
    """
    arrays = replaced(pair, components, references, positions)
    return Rows(records(replacements(arrays)), REPLACED, arrays)


def replaced(
    pair: Histories,
    components: str = "each,heads,mlps,all",
    references: Sequence[str] | None = None,
    positions: str = "query",
) -> xr.Dataset:
    """The arrays behind `attenuation`, per trial: margins and answer mass before and after every replacement."""
    if references is None:
        references = reference_names(anchor=pair.anchor is not None)
    for name in references:
        refuse_unknown("reference", name, reference_names())
    refuse_unknown("positions", positions, ("query", "all"))
    sets = pair.data.sets(components)
    return measure.attenuation(pair.data, {name: sets for name in references}, positions)
