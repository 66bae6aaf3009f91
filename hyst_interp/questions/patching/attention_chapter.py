"""Attention patterns: where each head looks from the query, in both histories."""

from hyst_interp.plots.heatmap import heatmap
from hyst_interp.questions.patching.attention_summary import history_attention, largest_difference
from hyst_interp.report.blocks import Chapter, Figure, both
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import number


def chapter(source: RunResults) -> Chapter | None:
    """Left out where the run has kept no attention."""
    if "attention" not in source.results:
        return None
    drawn = [_figure(source, seed) for seed in source.study.seeds]
    words = {"first": drawn[0].name, "further": [figure.name for figure in drawn[1:]], "seed": source.study.seeds[0]}
    return Chapter("attention", "Where the heads look", "Attention", {}, drawn, words)


def _figure(source: RunResults, seed: int) -> Figure:
    array = history_attention(source.results["attention"], seed)
    head, role, size = largest_difference(array)
    return both(
        f"attention-seed-{seed}",
        lambda stacked: heatmap(array, stacked),
        f"Attention from the query, summed over the positions of a role and averaged over trials and data orders, seed"
        f" {seed}; a row adds up to 1. The largest difference between the histories is {number(size)}, of {head} to"
        f" {_role(role)}. The difference has its own scale.",
    )


def _role(role: str) -> str:
    return {"its value": "the queried key’s value"}.get(role, f"the {role}")
