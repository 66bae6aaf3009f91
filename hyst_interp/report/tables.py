"""The report's tables: estimates as text, with the method of their intervals said once under each."""

from hyst_interp.comparison.likeness import Likeness
from hyst_interp.config import StudyConfig
from hyst_interp.report.blocks import Cell, Table, cells
from hyst_interp.report.findings import Findings, Replaced, at_holds
from hyst_interp.report.wording import (
    correlation,
    direction,
    estimate,
    method,
    number,
    reason,
    verdict_class,
    verdict_word,
)
from hyst_interp.statistics import Estimate, student_t


def verdicts(found: Findings) -> Table:
    """The paper's claims beside the run."""
    rows = []
    for row in found.rows:
        small = [f"{row.estimate.unit}; {method(row.estimate)}"] if row.estimate.n else []
        small += [reason(row.estimate)] if row.estimate.reason else []
        rows.append(
            cells(
                Cell(row.quantity, kind="lead"),
                row.paper,
                Cell(estimate(row.estimate, 4), "; ".join(small)),
                Cell(verdict_word(row.verdict), kind=f"verdict {verdict_class(row.verdict)}"),
                "calibrated" if row.calibrated else "free",
                Cell(row.rule, kind="small"),
            )
        )
    head = ("quantity", "paper", "this run", "verdict", "status", "rule")
    note = (
        "Calibrated: the choice of the preset fixed this row or made it likely, so its agreement is no evidence."
        " Free: it was not looked at when the preset was chosen. The rules were fixed before any reporting run."
    )
    return Table("The paper's results beside this run", head, rows, (note,), "cards")


def holds(found: Findings) -> Table:
    """The gap at every hold, its split, and both margins."""
    gaps = {name: at_holds(values) for name, values in found.parts.items()}
    levels = {
        branch: at_holds(found.levels.sel(branch=branch, drop=True)) for branch in ("below", "above")
    }  # fmt: skip
    rows = [
        cells(
            Cell(f"hold {hold}" + (" (arrival)" if hold == 0 else ""), kind="lead"),
            Cell(estimate(one), direction(one)),
            estimate(gaps["contextual_part"][hold]),
            estimate(gaps["fixed_part"][hold]),
            estimate(levels["below"][hold]),
            estimate(levels["above"][hold]),
        )
        for hold, one in gaps["margin"].items()
    ]
    head = ("", "gap", "from the contextual answer", "from the fixed answer", "margin from below", "margin from above")
    first = next(iter(gaps["margin"].values()))
    notes = (
        f"In logits; intervals: {method(first)}. The two parts add up to the gap: each answer's logit is taken"
        " against the mean of the other values' logits.",
    )
    return Table("The gap at each hold, and what makes it", head, rows, notes)


def seeds(found: Findings) -> Table:
    """The gap of every seed at every hold."""
    values = found.parts["margin"]
    rows = [
        cells(
            Cell(f"seed {int(seed)}", kind="lead"),
            *(number(float(values.sel(seed=seed, hold=hold))) for hold in values["hold"].values),
        )
        for seed in values["seed"].values
    ]
    rows.append(cells(Cell("mean", kind="lead"), *(estimate(one) for one in at_holds(values).values())))
    head = ("", *(f"hold {int(hold)}" for hold in values["hold"].values))
    orders = found.gaps.sizes["order"]
    return Table(
        "The gap of every seed", head, rows, (f"In logits; a seed's value is its mean over {orders} data orders.",)
    )


def strata(found: Findings) -> Table:
    """The gap by what the prompt holds."""
    rows = []
    for name, (share, values) in found.strata.items():
        rows.append(
            cells(
                Cell(name, kind="lead"),
                f"{share:.1%}".replace("%", " %"),
                *(estimate(one) for one in at_holds(values).values()),
            )
        )
    holds_ = next(iter(found.strata.values()))[1]["hold"].values
    head = ("conflict trials", "share", *(f"hold {int(hold)}" for hold in holds_))
    return Table("The gap by what the prompt holds", head, rows, ("In logits, intervals as above.",))


def replacements(found: Findings) -> Table:
    """Every replacement on arrival."""
    here = found.replaced[0]
    notes: list[str] = []
    rows = []
    for row in here.rows:
        rows.append(
            cells(
                Cell(str(row["components"]), kind="lead"),
                str(row["reference"]),
                estimate(_estimate(row["logits_moved"])),
                estimate(_estimate(row["gap_after"])),
                _share(_estimate(row["attenuation"]), notes),
                estimate(_estimate(row["answer_mass"])),
                f"{number(_estimate(row['margin_after_below']).estimate)} /"
                f" {number(_estimate(row['margin_after_above']).estimate)}",
            )
        )
    head = (
        "components",
        "reference",
        "logits moved",
        "gap after",
        "share of the gap",
        "answer mass after",
        "margin after, below / above",
    )
    words = (
        f"Gap on these trials: {estimate(here.gap)} logits. Intervals: {method(here.gap)}; shares: ratio of means"
        " with Fieller's interval, unclipped. Answer mass is P(c) + P(f): far below 1, or a margin far from 0, means"
        " that the replacement took the network far from where it was trained.",
    )
    return Table("Every replacement on arrival", head, rows, (*words, *notes))


def donors(found: Findings) -> Table:
    """Both directions of the donors, on arrival."""
    rows = [
        cells(
            Cell(str(row["components"]), kind="lead"),
            *(estimate(_estimate(row[name])) for name in ("into_below", "into_above", "interaction")),
        )
        for row in found.replaced[0].rows
        if row["reference"] == "donor"
    ]
    head = ("components", "from above into below", "from below into above", "interaction")
    note = "In logits. The headline is the mean of the two directions; the interaction is half their difference."
    return Table("Donors in both directions", head, rows, (note,))


def later(found: Findings) -> Table:
    """Replacements at every hold, of the sets that all holds share."""
    notes: list[str] = []
    rows = []
    common = _common(list(found.replaced.values()))
    for hold, one in found.replaced.items():
        for row in one.rows:
            if (row["components"], row["reference"]) in common:
                rows.append(
                    cells(
                        Cell(f"hold {hold}", kind="lead"),
                        str(row["components"]),
                        str(row["reference"]),
                        estimate(one.gap),
                        estimate(_estimate(row["logits_moved"])),
                        _share(_estimate(row["attenuation"]), notes),
                    )
                )
    head = ("", "components", "reference", "gap", "logits moved", "share of the gap")
    return Table("The same sets at every hold", head, rows, ("In logits, intervals as above.", *notes))


def similarity(found: Findings) -> Table:
    """Correlations and distances with ceiling and floor."""
    rows = []
    for one in found.likeness:
        few = " (few cells: no verdict by itself)" if one.few else ""
        spearman = estimate(one.correlation("histories", "spearman"))
        apart, siblings = (estimate(one.distance(kind)) for kind in ("histories", "ceiling"))
        rows.append(
            cells(
                Cell(one.site, f"{one.cells} free cells{few}", "lead"),
                Cell(estimate(one.correlation("histories")), f"distance {apart}"),
                Cell(estimate(one.correlation("ceiling")), f"distance {siblings}"),
                _floor(one),
                spearman,
            )
        )
    head = ("site", "the histories, r", "ceiling (siblings), r", "floor (other seeds), r", "the histories, Spearman")
    text = (
        f"Correlations: {method(found.likeness[0].correlation('histories'))}; a seed's ceiling is a mean on Fisher's"
        " z. Distances in logits, ‖map from above − map from below‖ over free cells, of siblings the median. Both"
        " twins are joined; cells that are fixed by construction are left out."
    )
    return Table("Similarity of maps", head, rows, (text,))


def _floor(one: Likeness) -> Cell:
    """The floor's mean, and the range over pairs of seeds instead of an interval."""
    mean = one.correlation("floor")
    known = [s.pearson for by_seed in one.found["floor"].values() for s in by_seed if s.pearson is not None]
    if mean.estimate is None or not known:
        return Cell("undefined", reason(mean))
    return Cell(correlation(mean.estimate), f"pairs from {correlation(min(known))} to {correlation(max(known))}")


def dominant_heads(found: Findings) -> Table:
    """The dominant head of both histories, seed by seed."""
    rows = [
        cells(
            Cell(f"seed {seed}", kind="lead"),
            head.a,
            head.b,
            number(head.same_probability, 2, signed=False),
            "tie" if head.tie else "stable",
        )
        for seed, head in found.dominant.items()
    ]
    note = (
        "The head with the largest summed effect over its free cells and both twins. The probability is that both"
        " histories name one head when trials are resampled; “tie” says that one of the two choices is not stable"
        " under it."
    )
    head_row = ("", "from below", "from above", "same, probability", "choice")
    return Table("Dominant head", head_row, rows, (note,))


def gain(found: Findings) -> Table:
    """Gain of every site and twin, seed by seed, with its mean."""
    lines: list[tuple[str, str, str]] = [
        (site, twin, "slope") for site, by_seed in found.gains.items() for twin in next(iter(by_seed.values()))
    ]
    first = next(iter(found.gains))
    lines += [(first, twin, "difference_ratio") for twin in next(iter(found.gains[first].values()))]
    rows = []
    for site, twin, which in lines:
        values = [by_twin[twin][which] for by_twin in found.gains[site].values()]
        name = f"slope, {site}, {twin} twin" if which == "slope" else f"ratio of (clean − corrupted), {twin} twin"
        known = [value for value in values if value is not None]
        mean = estimate(student_t(known, "ratio")) if len(known) == len(values) else "undefined"
        rows.append(cells(Cell(name, kind="lead"), *(number(value, 3, signed=False) for value in values), mean))
    head = ("", *(f"seed {seed}" for seed in found.gains[first]), "mean")
    note = (
        "Gain: slope through the origin of the raw map from above on the one from below, 1 where both histories"
        " engage the circuit alike; and the same for the whole effect. Intervals: Student-t over seeds, 95 %."
    )
    return Table("Gain: how strongly the circuit is engaged", head, rows, (note,))


def anchors(found: Findings, study: StudyConfig) -> Table:
    """Age and state of every anchor."""
    rows = []
    for seed in study.seeds:
        one = found.anchors.sel(seed=seed).dropna("evaluation", subset=["step"]).isel(evaluation=-1)
        rows.append(
            cells(
                Cell(f"seed {seed}", kind="lead"),
                str(int(one["last_step"])),
                str(int(one["formed_at"])),
                str(int(one["age"])),
                number(float(one["answer_mass"]), 4, signed=False),
                number(float(one["margin"])),
                number(float(one["p_contextual"]), 3, signed=False),
            )
        )
    head = ("", "updates", "contextual route formed at", "age, updates", "answer mass", "margin, logits", "P(c)")
    note = (
        "Age: updates since the contextual route formed (first evaluation with mean P(c) ≥ p0/2). An older anchor"
        " moves more slowly, so the same schedule samples an earlier phase: age is part of every result."
    )
    return Table("Anchors", head, rows, (note,))


def versions(found: Findings) -> Table:
    """Libraries that wrote the checkpoints."""
    rows = [cells(Cell(name, kind="lead"), version) for name, version in sorted(found.versions.items())]
    return Table("Versions that wrote the first anchor", ("library", "version"), rows)


def _share(one: Estimate, notes: list[str]) -> Cell:
    """A share, or `undefined` with a reference to its reason among the notes."""
    if one.estimate is not None:
        return Cell(estimate(one))
    text = f"Undefined: {reason(one)}."
    if not any(note.endswith(text) for note in notes):
        notes.append(f"{'*' * (len(notes) + 1)} {text}")
    mark = next(note for note in notes if note.endswith(text)).partition(" ")[0]
    return Cell(f"undefined{mark}", kind="faint")


def _common(found: list[Replaced]) -> set[tuple]:
    sets = [{(row["components"], row["reference"]) for row in one.rows} for one in found]
    return set.intersection(*sets) if sets else set()


def _estimate(value: str | Estimate) -> Estimate:
    if isinstance(value, str):
        raise TypeError(f"'{value}' is no estimate")
    return value
