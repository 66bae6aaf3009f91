"""`relax`: how the gap of a run goes from one measured position to the next, and whether it has gone."""

from typing import Any

from hyst_interp.cli.arguments import Format, RunDirectory, finished_run
from hyst_interp.cli.output import Answer, check_format, schema
from hyst_interp.verdicts import Verdict


def relax(run: RunDirectory, format: Format = "table") -> Answer:
    """Show the gap along schedule and hold, its peak, and whether it has gone at the last hold.

    Two zeros stand side by side: tau counts updates since the last update away from p0, hold counts from the end of the
    schedule. "Has relaxed" is an equivalence test (TOST) over seeds, within min(0.02 logits, 20 % of the peak).

    \b
    Example:
      hyst-interp relax runs/paper
    """
    check_format(format)
    directory, _ = finished_run(run, ("trajectory",))

    from hyst_interp.analysis.summary import records, summarise
    from hyst_interp.questions.gap.relaxation import gap_curve
    from hyst_interp.storage.results import read_results

    curve = gap_curve(read_results(directory.results / "trajectory.nc"))
    rows = [
        {
            "position": row["position"],
            "tau": _whole(row["tau"]),
            "hold": _whole(row["hold"]),
            "gap": row["estimate"].to_dict(),
        }
        for row in records(summarise(curve, "logits"))
    ]
    data = {"schema": schema("relax"), "rows": rows, **_relaxed(curve)}
    return Answer(data, rows, lambda colour: _table(data, curve.sizes["seed"], colour), format)


def _whole(value: float) -> int | None:
    return None if value != value else int(value)


def _relaxed(curve) -> dict[str, Any]:
    """`peak`, `relaxed` (true, false, or null), and the reason in words."""
    import numpy as np

    from hyst_interp.questions.gap.relaxation import peak, relaxed

    try:
        top = peak(curve)
    except ValueError as error:
        return {"peak": None, "relaxed": None, "reason": str(error)}
    entry = {"position": top.position, "tau": top.tau, "gap": top.gap, "unit": "logits"}
    holds = curve["hold"].values
    if np.isnan(holds).all():
        return {"peak": entry, "relaxed": None, "reason": "no position after the schedule's end was measured"}
    last = int(np.nanargmax(holds))
    outcome = relaxed(curve.isel(position=last).values, top.gap)
    interval, verdict = outcome.interval, {Verdict.EQUIVALENT: True, Verdict.DIFFERENT: False}.get(outcome.verdict)
    where = {True: "lies inside", False: "lies beyond", None: "is not inside, nor wholly beyond,"}[verdict]
    reason = f"at hold {int(holds[last])} the gap {interval.text()} (level {interval.level:g}) {where}"
    if interval.low is None:
        reason = f"at hold {int(holds[last])} the gap {interval.text()}: {interval.reason}; it cannot be held against"
    return {"peak": entry, "relaxed": verdict, "reason": f"{reason} ±{outcome.margin:.4f} logits"}


def _table(data: dict[str, Any], seeds: int, colour: bool) -> str:
    from hyst_interp.cli.tables import Bars, estimate_text, layout, paragraph

    gaps = [row["gap"] for row in data["rows"]]
    bars = Bars([gap["estimate"] for gap in gaps], width=21)
    word = {True: "relaxed", False: "not relaxed", None: Verdict.UNDETERMINED}[data["relaxed"]]
    body = [
        [
            str(row["position"]),
            "·" if row["tau"] is None else str(row["tau"]),
            "·" if row["hold"] is None else str(row["hold"]),
            estimate_text(row["gap"]),
            bars.draw(row["gap"]["estimate"]),
        ]
        for row in data["rows"]
    ]
    level = f"{gaps[0]['level']:.0%} over {seeds} seeds" if seeds > 1 else "one seed: no interval"
    peak = data["peak"]
    lines = [f"{word}: {data['reason']}"]
    if peak is not None:
        clock = "" if peak["tau"] is None else f", τ {peak['tau']}"
        lines.append(f"peak of the mean curve: {peak['gap']:+.4f} logits at position {peak['position']}{clock}")
    head = ["position", "τ", "hold", f"gap in logits ({level})", ""]
    table = layout(head, body, align="rrrll", colour=colour)
    foot = "τ counts updates since the last one away from p0, hold from the end of the schedule; · is not yet defined."
    return "\n".join([*(paragraph(line) for line in lines), "", table, "", paragraph(foot)])
