"""What scatter there is, and what to buy: variance components, power, and a family of tests over components."""

import math

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.summary import records, summarise
from hyst_interp.questions.gap.variance import SIZES, WANTED, Family, Spread, families, spreads
from hyst_interp.report.blocks import Cell, Chapter, Table, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import estimate, number

NOUNS = {"seeds": "training seeds", "orders": "data orders", "trials": "trials"}


def chapter(source: RunResults) -> Chapter:
    """Always there; what a design of one seed, order, or trial cannot tell is said to be unknown."""
    scatter = spreads(source.results["behaviour"])
    tables = {"purchases": _purchases(scatter), "power": _power(scatter, source)}
    arrival = source.results.get("attenuation-hold-000")
    tested = families(arrival) if arrival is not None else []
    if tested:
        tables["family"] = _family(source, tested)
    words = {"advice": _advice(scatter[0]), "known": scatter[0].components is not None}
    return Chapter("spread", "What scatter there is, and what to buy", "Scatter", tables, [], words)


def _advice(spread: Spread) -> str:
    if spread.components is None:
        return "Components of the scatter need at least two seeds, two data orders, and two trials; this run has fewer."
    errors = spread.components.purchases()
    if spread.buy is None:
        return "Nothing scatters on arrival, so there is nothing to buy."
    halves = {name: number(errors[name], 4, False) for name in ("trials", "orders", "seeds")}
    return (
        f"On arrival the standard error of the mean gap is {number(errors['as it is'], 4, False)} logits. Twice the"
        f" trials would make it {halves['trials']}, twice the data orders {halves['orders']}, twice the seeds"
        f" {halves['seeds']}. The cheapest purchase that brings at least half of what seeds bring:"
        f" {NOUNS[spread.buy]}."
    )


def _purchases(scatter: list[Spread]) -> Table:
    rows = []
    for spread in scatter:
        lead = Cell(f"hold {spread.hold}" + (" (arrival)" if spread.hold == 0 else ""), kind="lead")
        if spread.components is None:
            rows.append([lead, *cells(*["–"] * 9)])
            continue
        parts, errors = spread.components, spread.components.purchases()
        rows.append(
            [
                lead,
                *(_deviation(value) for value in (parts.seed, parts.order, parts.trial, parts.rest)),
                *(Cell(number(errors[name], 4, False)) for name in ("as it is", "seeds", "orders", "trials")),
                Cell(NOUNS[spread.buy] if spread.buy else "–"),
            ]
        )
    head = ("", "between seeds", "between orders", "between trials", "rest", "standard error")
    head = (*head, "with twice the seeds", "twice the orders", "twice the trials", "buy")
    first = scatter[0].components
    design = "" if first is None else f" Design: {first.n_seeds} seeds × {first.n_orders} orders × {first.n_trials}"
    design += " trials; orders and trials are crossed within a seed." if first else ""
    notes = (
        "In logits. The first four columns are standard deviations, the square roots of variance components by the"
        " method of moments on the gap of every trial; “none seen” is an estimate of 0 or below."
        f"{design}",
        "Buy: the cheapest of trials (evaluations), orders (branches), seeds (anchors and branches) of which twice as"
        " many bring at least half of what twice the seeds bring. With few seeds the component between them is itself"
        " uncertain by a large factor.",
    )
    return Table("Where the gap’s scatter comes from, and the standard error of larger designs", head, rows, notes)


def _deviation(value: float) -> Cell:
    return Cell(number(math.sqrt(value), 3, False)) if value > 0 else Cell("none seen", kind="faint")


def _power(scatter: list[Spread], source: RunResults) -> Table:
    n = len(source.study.seeds)
    rows = []
    for at_hold in scatter:
        seen = [
            Cell(f"{at_hold.power[size]:.0%}".replace("%", " %"), _needed(at_hold.seeds_for[size]))
            if at_hold.power
            else Cell("–")
            for size in SIZES
        ]
        spread = number(at_hold.deviation, 3, False), number(at_hold.detectable, 3, False)
        rows.append([Cell(f"hold {at_hold.hold}", kind="lead"), *cells(*spread), *seen])
    head = ("", "deviation of seeds", "smallest gap seen", *(f"a gap of {size:g}" for size in SIZES))
    note = (
        f"Power of {n} seed{'s' if n != 1 else ''} to see a gap of a stated size, in logits: two-sided t test at 5 %,"
        f" noncentral t, the deviation between seeds taken as known. The smallest gap seen has power {WANTED:.0%};"
        f" under each power stand the seeds that reach {WANTED:.0%}."
    ).replace("%;", " %;")
    return Table("Power: what a run of this size can see", head, rows, (note.replace("80%", "80 %"),))


def _needed(n: int | None) -> str:
    return "more than 1,000 seeds" if n is None else f"{n} seeds"


def _family(source: RunResults, tested: list[Family]) -> Table:
    table = summarise(logits_moved(source.results["attenuation-hold-000"])["moved"], "logits")
    moved = {(row["components"], row["reference"]): row["estimate"] for row in records(table)}
    names = list(dict.fromkeys(name for family in tested for name in family.components))
    rows = []
    for name in names:
        row = [Cell(name, kind="lead")]
        for family in tested:
            if name not in family.components:
                row += cells("–", "–", "–")
                continue
            index = family.components.index(name)
            t, p = float(family.tests.t[index]), float(family.tests.p[index])
            row += cells(estimate(moved[name, family.reference]), number(t, 1) if math.isfinite(t) else "∞", f"{p:.4f}")
        rows.append(row)
    head = [""]
    for family in tested:
        head += [f"{family.reference}: logits moved", "t", "adjusted p"]
    tests = tested[0].tests
    word = (
        f" With {tests.n} seeds no adjusted p can fall below {tests.smallest:.4g}, so nothing can be rejected at 5 %,"
        " whatever the data: this table is powerless here, and its order is all that it tells."
        if tests.powerless()
        else f" With {tests.n} seeds the smallest p that can be reached is {tests.smallest:.4g}."
    )
    note = (
        "Single components replaced on arrival. The adjusted p holds the error rate of the whole column (max-T: the"
        " largest |t| over components under every flip of the seeds’ signs, full enumeration)." + word
    )
    return Table("Components, tested as a family", tuple(head), rows, (note,))
