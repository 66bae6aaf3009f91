"""The head of every answer about a pair: which two checkpoints, and the gap between them. It imports nothing heavy."""

from typing import TYPE_CHECKING, Any

from hyst_interp.cli.output import schema

if TYPE_CHECKING:
    from hyst_interp.analysis.histories import Histories
    from hyst_interp.storage.manifest import Manifest


def facts(command: str, pair: "Histories", manifests: "tuple[Manifest, Manifest]") -> dict[str, Any]:
    """The first keys of the JSON object: schema, both checkpoints in words, their gap, and their margins."""
    from hyst_interp.questions.gap import methods
    from hyst_interp.storage.manifest import describe

    return {
        "schema": schema(command),
        "below": describe(manifests[0]),
        "above": describe(manifests[1]),
        "gap": methods.gap(pair).to_dict() | {"trials": pair.n_trials},
        "margins": {branch: margin.to_dict() for branch, margin in methods.mean_margins(pair).items()},
    }


def headline(data: dict[str, Any], p0: float) -> list[str]:
    """The gap, what it is a gap between, and what its interval speaks of."""
    import math

    from hyst_interp.cli.tables import estimate_text, number, paragraph

    gap, margins = data["gap"], data["margins"]
    sides = {branch: number(margins[branch]["estimate"]) for branch in ("below", "above")}
    if gap["low"] is not None and gap["low"] > 0:
        reading = "the network from below answers more from the prompt"
    elif gap["high"] is not None and gap["high"] < 0:
        reading = "the network from above answers more from the prompt"
    else:
        reading = "its interval contains 0"
    return [
        f"gap      {estimate_text(gap, 4)} logits: {reading}"
        if len(reading) < 30
        else f"gap      {estimate_text(gap, 4)} logits\n         {reading}",
        f"margins  from below {sides['below']}, from above {sides['above']};"
        f" best at p0 = {p0:g}: {number(math.log(p0 / (1 - p0)))}",
        paragraph(f"below    {data['below']}", hang=" " * 9),
        paragraph(f"above    {data['above']}", hang=" " * 9),
        paragraph(
            f"Intervals: {gap['level']:.0%} over {gap['trials']:,} conflict trials of these two networks only;"
            " other seeds can differ by far more."
        ),
        "",
    ]
