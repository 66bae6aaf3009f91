"""The anchors: how they converged, and how old they are."""

import numpy as np

from hyst_interp.history.convergence import ANSWER_MASS, DRIFT_TOLERANCE, MARGIN_TOLERANCE, WINDOW
from hyst_interp.questions.gap.trajectory import best_margin
from hyst_interp.report.anchors_figure import anchor_convergence
from hyst_interp.report.blocks import Cell, Chapter, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import number

CRITERION = {"answer_mass": ANSWER_MASS, "margin": MARGIN_TOLERANCE, "drift": DRIFT_TOLERANCE, "window": WINDOW}


def chapter(source: RunResults) -> Chapter:
    """Always there."""
    targets = {"answer_mass": ANSWER_MASS, "margin": float(best_margin(np.array([source.study.p0]))[0])}
    drawn = both(
        "anchors",
        lambda stacked: anchor_convergence(source.results["anchors"], targets, stacked),
        "What the convergence criterion saw of every anchor, one line a seed; the diamond is the checkpoint that was"
        " forked. Dashed: the least answer mass, and the best margin at p0.",
    )
    words = {"criterion": CRITERION}
    return Chapter("anchors", "Anchors", "Anchors", {"anchors": _table(source)}, [drawn], words)


def _table(source: RunResults) -> Table:
    rows = []
    for seed in source.study.seeds:
        last = source.results["anchors"].sel(seed=seed).dropna("evaluation", subset=["step"]).isel(evaluation=-1)
        rows.append(
            cells(
                Cell(f"seed {seed}", kind="lead"),
                str(int(last["last_step"])),
                str(int(last["formed_at"])),
                str(int(last["age"])),
                number(float(last["answer_mass"]), 4, signed=False),
                number(float(last["margin"])),
                number(float(last["p_contextual"]), 3, signed=False),
            )
        )
    head = ("", "updates", "contextual route formed at", "age, updates", "answer mass", "margin, logits", "P(c)")
    note = (
        "Age: updates since the contextual route formed (first evaluation with mean P(c) ≥ p0/2). An older anchor"
        " moves more slowly, so the same schedule samples an earlier phase: age is part of every result."
    )
    return Table("Anchors", head, rows, (note,))
