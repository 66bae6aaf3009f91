"""The gap as an exact sum of direct contributions, beside the causal estimates of the same components."""

import xarray as xr

from hyst_interp.analysis.answer_mass import LOW_MASS
from hyst_interp.analysis.summary import NOT_MEASURED, from_estimates, join
from hyst_interp.questions.attenuation import of_run as attenuation_of_run
from hyst_interp.questions.attribution.direct_attribution import (
    SUM,
    Account,
    Agreement,
    account,
    agreements,
)
from hyst_interp.questions.attribution.figure import direct_forest
from hyst_interp.references import DONOR, OWN_MEAN
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import estimate, listed, method, number
from hyst_interp.statistics import undefined
from hyst_interp.verdicts import Verdict

REFERENCES = (OWN_MEAN.name, DONOR.name)
PARTS = {"activation": "what is written", "readout": "how it is read", "scale": "the final scale"}


def chapter(source: RunResults) -> Chapter | None:
    """Left out where the run has no direct attribution."""
    if "direct" not in source.results:
        return None
    direct = account(source.results["direct"])
    replaced = source.once(attenuation_of_run.replaced)
    compared = agreements(direct, replaced[0].rows if 0 in replaced else [], REFERENCES)
    tables = {"parts": _parts(direct)}
    if compared:
        tables["agreement"] = _agreement(compared)
    words = {
        "total": direct.total,
        "residual": direct.residual,
        "scale": direct.part("scale") if "scale" in direct.parts else None,
        "tally": _tally(compared),
    }
    title = "The gap as a sum: direct attribution"
    return Chapter("direct", title, "Direct attribution", tables, [_figure(direct, compared)], words)


def _figure(direct: Account, compared: list[Agreement]) -> Figure:
    terms = direct.table.drop_sel(term=SUM)
    causal = _causal(compared, [str(name) for name in terms["term"].values]) if compared else None
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
        lambda stacked: direct_forest(terms, causal, stacked),
        "Each term is what one component, or an embedding or bias, adds to the gap on arrival through the final"
        " LayerNorm and the unembedding alone; all terms add up to the gap. Bars are its parts: another activation,"
        f" another read-out, another final scale.{words} Intervals: {method(direct.total)}.",
    )


def _causal(compared: list[Agreement], names: list[str]) -> xr.Dataset:
    """What replacements move, dims (reference, term); terms that were not replaced are not measured."""
    by_name = {row.component: row.moved for row in compared}
    blank = undefined(NOT_MEASURED, "logits", 0)
    tables = {
        reference: from_estimates([by_name.get(name, {}).get(reference, blank) for name in names], "term", names)
        for reference in REFERENCES
    }
    return join(tables, "reference")


def _parts(direct: Account) -> Table:
    rows = []
    for name in (str(term) for term in direct.table["term"].values):
        last = name == SUM
        parts = [
            estimate(direct.part(part)) if last else number(direct.term(name, part).estimate) for part in direct.parts
        ]
        rows.append(
            cells(Cell(name, kind="lead"), Cell(estimate(direct.term(name)), kind="lead" if last else ""), *parts)
        )
    head = ("term", "adds to the gap", *(f"{part}: {PARTS.get(part, part)}" for part in direct.parts))
    note = (
        f"In logits; intervals: {method(direct.total)}; parts of single terms are means over seeds. Single terms may be"
        " far larger than the gap and cancel: a share of the gap would say little, so none is given."
    )
    return Table("Every term of the gap", head, rows, (note,))


def _agreement(compared: list[Agreement]) -> Table:
    references = [name for name in REFERENCES if any(name in row.moved for row in compared)]
    rows = []
    for agreement in compared:
        row = [Cell(agreement.component, kind="lead"), Cell(estimate(agreement.direct))]
        for reference in references:
            known = reference in agreement.moved
            row.append(Cell(estimate(agreement.moved[reference]), agreement.verdict[reference]) if known else Cell("–"))
        mass = "–" if agreement.mass is None else number(agreement.mass, 3, False)
        rows.append([*row, Cell(mass), Cell(agreement.reason, kind="small")])
    head = (
        "component",
        "direct",
        *(f"{name}, logits moved" for name in references),
        "answer mass",
        "why they may differ",
    )
    note = (
        "Under each replacement stands how it compares with the direct term: “agree” if both intervals leave out 0 on"
        " the same side and overlap, “same sign” if they do not overlap, “opposite signs”, and “undetermined” where"
        f" either contains 0. Answer mass is after own means; below {LOW_MASS:g} the replacement takes the"
        " network off the distribution it was trained on, and what it moves is a statement about that place."
    )
    return Table("Direct terms and replacements: where they agree, where not, and why", head, rows, (note,))


def _tally(compared: list[Agreement]) -> str:
    parts = []
    for reference in REFERENCES:
        verdicts = [row.verdict[reference] for row in compared if reference in row.verdict]
        if verdicts:
            kinds = (Verdict.AGREE, Verdict.SAME_SIGN, Verdict.OPPOSITE_SIGNS, Verdict.UNDETERMINED)
            counts = [f"{verdicts.count(kind)} {kind}" for kind in kinds if kind in verdicts]
            parts.append(f"Of {len(verdicts)} components against {reference}: {listed(counts)}.")
    return " ".join(parts)
