"""The gap as an exact sum of direct contributions, beside the causal estimates of the same components."""

import numpy as np
import xarray as xr

from hyst_interp.analysis.replicates import as_arrays
from hyst_interp.questions.attenuation import of_run as attenuation_of_run
from hyst_interp.questions.attribution.direct_attribution import (
    OFF_DISTRIBUTION,
    Account,
    Agreement,
    account,
    agreements,
)
from hyst_interp.questions.attribution.figure import direct_forest
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import estimate, listed, method, number

REFERENCES = ("own-mean", "donor")
PARTS = {"activation": "what is written", "readout": "how it is read", "scale": "the final scale"}


def chapter(source: RunResults) -> Chapter | None:
    """Left out where the run has no direct attribution."""
    if "direct" not in source.results:
        return None
    found = account(source.results["direct"])
    rows = source.once(attenuation_of_run.replaced)[0].rows if 0 in source.once(attenuation_of_run.replaced) else []
    compared = agreements(found, rows, REFERENCES)
    tables = {"parts": _parts(found)}
    if compared:
        tables["agreement"] = _agreement(compared)
    words = {
        "total": found.total,
        "residual": found.residual,
        "scale": found.part("scale") if _has(found, "scale") else None,
        "tally": _tally(compared),
    }
    title = "The gap as a sum: direct attribution"
    return Chapter("direct", title, "Direct attribution", tables, [_figure(found, compared)], words)


def _figure(found: Account, compared: list[Agreement]) -> Figure:
    names = [str(name) for name in found.terms["term"].values]
    terms = as_arrays([found.term(name) for name in names], "term").assign_coords(term=names)
    parts = None if found.parts is None else found.parts.mean("seed")
    causal = _causal(compared, names) if compared else None
    words = (
        ""
        if causal is None
        else (
            " Right, on the same scale: logits moved when the component is replaced by its own mean or by the other"
            " history’s output, which include all that later layers make of it."
        )
    )
    return both(
        "direct",
        lambda stacked: direct_forest(terms, parts, causal, stacked),
        "Each term is what one component, or an embedding or bias, adds to the gap on arrival through the final"
        " LayerNorm and the unembedding alone; all terms add up to the gap. Bars are its parts: another activation,"
        f" another read-out, another final scale.{words} Intervals: {method(found.total)}.",
    )


def _causal(compared: list[Agreement], names: list[str]) -> xr.Dataset:
    shape = (len(REFERENCES), len(names))
    columns = {name: np.full(shape, np.nan) for name in ("estimate", "low", "high")}
    for one in compared:
        for i, reference in enumerate(REFERENCES):
            if reference in one.moved:
                for name, array in columns.items():
                    value = getattr(one.moved[reference], name)
                    array[i, names.index(one.component)] = np.nan if value is None else value
    dims = ("reference", "term")
    coords = {"reference": list(REFERENCES), "term": names}
    return xr.Dataset({name: (dims, array) for name, array in columns.items()}, coords)


def _has(found: Account, part: str) -> bool:
    return found.parts is not None and part in found.parts["part"].values


def _parts(found: Account) -> Table:
    names = [] if found.parts is None else [str(part) for part in found.parts["part"].values]
    rows = []
    for name in (str(term) for term in found.terms["term"].values):
        some = [_mean(found, name, part) for part in names]
        rows.append(cells(Cell(name, kind="lead"), Cell(estimate(found.term(name))), *some))
    total = [estimate(found.part(part)) for part in names]
    rows.append(cells(Cell("sum", kind="lead"), Cell(estimate(found.total), kind="lead"), *total))
    head = ("term", "adds to the gap", *(f"{part}: {PARTS.get(part, part)}" for part in names))
    note = (
        f"In logits; intervals: {method(found.total)}; parts of single terms are means over seeds. Single terms may be"
        " far larger than the gap and cancel: a share of the gap would say little, so none is given."
    )
    return Table("Every term of the gap", head, rows, (note,))


def _mean(found: Account, term: str, part: str) -> str:
    return "–" if found.parts is None else number(float(found.parts.sel(term=term, part=part).mean("seed")))


def _agreement(compared: list[Agreement]) -> Table:
    references = [one for one in REFERENCES if any(one in row.moved for row in compared)]
    rows = []
    for one in compared:
        row = [Cell(one.component, kind="lead"), Cell(estimate(one.direct))]
        for reference in references:
            known = reference in one.moved
            row.append(Cell(estimate(one.moved[reference]), one.verdict[reference]) if known else Cell("–"))
        mass = "–" if one.mass is None else number(one.mass, 3, False)
        rows.append([*row, Cell(mass), Cell(one.reason, kind="small")])
    head = (
        "component",
        "direct",
        *(f"{one}, logits moved" for one in references),
        "answer mass",
        "why they may differ",
    )
    note = (
        "Under each replacement stands how it compares with the direct term: “agree” if both intervals leave out 0 on"
        " the same side and overlap, “same sign” if they do not overlap, “opposite signs”, and “undetermined” where"
        f" either contains 0. Answer mass is after own means; below {OFF_DISTRIBUTION:g} the replacement takes the"
        " network off the distribution it was trained on, and what it moves is a statement about that place."
    )
    return Table("Direct terms and replacements: where they agree, where not, and why", head, rows, (note,))


def _tally(compared: list[Agreement]) -> str:
    parts = []
    for reference in REFERENCES:
        verdicts = [one.verdict[reference] for one in compared if reference in one.verdict]
        if verdicts:
            kinds = ("agree", "same sign", "opposite signs", "undetermined")
            counts = [f"{verdicts.count(kind)} {kind}" for kind in kinds if kind in verdicts]
            parts.append(f"Of {len(verdicts)} components against {reference}: {listed(counts)}.")
    return " ".join(parts)
