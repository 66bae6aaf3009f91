"""The gap: its course with lag, overshoot, and ring-down named, at the holds, by seed, stratum, and queried key."""

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import cell, per_seed, summarise
from hyst_interp.questions.gap import of_run as gap_of_run
from hyst_interp.questions.gap.figure import gap_course
from hyst_interp.questions.gap.gap_phases import Phase
from hyst_interp.questions.gap.holds_figure import gap_at_holds
from hyst_interp.questions.gap.keys_figure import gap_by_key
from hyst_interp.questions.gap.measure import by_key
from hyst_interp.questions.gap.relaxation import at_holds
from hyst_interp.questions.gap.strata import by_stratum
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import direction, estimate, method, number


def chapter(source: RunResults) -> Chapter:
    """Always there."""
    tables = {"seeds": _seeds(source), "holds": _holds(source), "strata": _strata(source.results["behaviour"])}
    words = {
        "peak": source.once(gap_of_run.largest),
        "relaxed": source.once(gap_of_run.relaxation),
        "phases": [_phase(phase) for phase in source.once(gap_of_run.named_phases)],
    }
    drawn = [_course(source), _at_holds(source), _keys(source.results["behaviour"])]
    return Chapter("gap", "The gap: lag, overshoot, relaxation", "Gap", tables, drawn, words)


def _phase(phase: Phase) -> str:
    return (
        f"{phase.name}, from position {phase.first} to {phase.last}, largest at {phase.extreme} with"
        f" {estimate(phase.gap)} logits"
    )


def _course(source: RunResults) -> Figure:
    holds = at_holds(source.once(gap_of_run.parts)["margin"])
    margin = number(source.once(gap_of_run.relaxation).margin, 3, False)
    named = (
        f" Named by the sign of the mean where it leaves ±{margin}: a first stretch below 0 is lag, the one above it"
        " overshoot, the next below ring-down."
    )
    return both(
        "gap-course",
        lambda stacked: gap_course(
            source.once(gap_of_run.curve),
            summarise(source.once(gap_of_run.curve), "logits"),
            stacked,
            source.once(gap_of_run.named_phases),
        ),
        "First the gap along the whole schedule and hold, then the same from the last update at p ≠ p0 on, on its own"
        " scale. The lower axis counts τ, the upper one the paper’s hold, so the same moment has two names."
        f"{named} On arrival {direction(holds[0])}.",
    )


def _at_holds(source: RunResults) -> Figure:
    holds, values = at_holds(source.once(gap_of_run.parts)["margin"]), source.once(gap_of_run.parts)["margin"]
    words = " ".join(f"At hold {hold} it is {estimate(gap)} logits: {direction(gap)}." for hold, gap in holds.items())
    return both(
        "gap-holds",
        lambda stacked: gap_at_holds(source.once(gap_of_run.gaps), values, summarise(values, "logits"), stacked),
        f"The gap at each hold. {words} An arrow head means that an interval goes on beyond the picture. Intervals:"
        f" {method(holds[0])}.",
    )


def _keys(behaviour: xr.Dataset) -> Figure:
    gaps = by_key(behaviour.sel(hold=0, drop=True)).mean("order")
    known = np.isfinite(gaps)
    alike = int((known & (np.sign(gaps) == np.sign(gaps.mean("key")))).sum())
    return both(
        "gap-keys",
        lambda stacked: gap_by_key(gaps, stacked),
        "A dot is one queried key of one seed, over its trials and data orders. Keys have another fixed answer in each"
        f" seed, so they are not averaged over seeds. In {alike} of {int(known.sum())} pairs of seed and key the gap"
        " has the sign of its seed’s mean.",
    )


def _holds(source: RunResults) -> Table:
    gaps = {name: at_holds(values) for name, values in source.once(gap_of_run.parts).items()}
    levels = per_seed(source.results["behaviour"]["margin"].astype("float64"))
    margins = {name: at_holds(levels.sel(branch=name, drop=True)) for name in ("below", "above")}
    rows = [
        cells(
            Cell(f"hold {hold}" + (" (arrival)" if hold == 0 else ""), kind="lead"),
            Cell(estimate(gap), direction(gap)),
            estimate(gaps["contextual_part"][hold]),
            estimate(gaps["fixed_part"][hold]),
            estimate(margins["below"][hold]),
            estimate(margins["above"][hold]),
        )
        for hold, gap in gaps["margin"].items()
    ]
    head = ("", "gap", "from the contextual answer", "from the fixed answer", "margin from below", "margin from above")
    notes = (
        f"In logits; intervals: {method(gaps['margin'][0])}. The two parts add up to the gap: each answer’s logit is"
        " taken against the mean of the other values’ logits.",
    )
    return Table("The gap at each hold, and what makes it", head, rows, notes)


def _seeds(source: RunResults) -> Table:
    values = source.once(gap_of_run.parts)["margin"]
    rows = [
        cells(
            Cell(f"seed {int(seed)}", kind="lead"),
            *(number(float(values.sel(seed=seed, hold=hold))) for hold in values["hold"].values),
        )
        for seed in values["seed"].values
    ]
    rows.append(cells(Cell("mean", kind="lead"), *(estimate(mean) for mean in at_holds(values).values())))
    head = ("", *(f"hold {int(hold)}" for hold in values["hold"].values))
    orders = source.once(gap_of_run.gaps).sizes["order"]
    note = f"In logits; a seed’s value is its mean over {orders} data order{'s' if orders != 1 else ''}."
    return Table("The gap of every seed", head, rows, (note,))


def _strata(behaviour: xr.Dataset) -> Table:
    table = by_stratum(behaviour)
    holds = [int(hold) for hold in table["hold"].values]
    rows = []
    for name, part in zip(table["stratum"].values, table["share"].values, strict=True):
        share = f"{part:.1%}".replace("%", " %")
        gaps = [cell(table, stratum=name, hold=hold) for hold in holds]
        rows.append(cells(Cell(str(name), kind="lead"), share, *(estimate(gap) for gap in gaps)))
    head = ("conflict trials", "share", *(f"hold {hold}" for hold in holds))
    return Table("The gap by what the prompt holds", head, rows, ("In logits, intervals as above.",))
