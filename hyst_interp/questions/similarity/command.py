"""`compare`: behaviour, circuit topology and gain of one pair; what an r is worth is read from a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyst_interp.cli.arguments import Above, Below, Format, at_least, finished_run, two_checkpoints
from hyst_interp.cli.output import Answer, check_format, on_terminal, schema
from hyst_interp.errors import UserError

if TYPE_CHECKING:
    from hyst_interp.storage.manifest import Manifest

SITES = ("resid_pre", "result", "mlp_out")


def compare(
    below: Below,
    above: Above,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="A finished run of the same task and model, for the ceiling (other data) and the floor (other seeds).",
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="Conflict trials that behaviour and maps are measured on.")
    ] = 512,
    format: Format = "table",
) -> Answer:
    """Compare two histories: their behaviour, whether the same cells matter, and how strongly.

    Similarity is over cells that are not fixed by construction, on the role axis, value and rename twins joined.
    Read it between its floor (other seeds, heads matched within layers) and its ceiling (same branch, other data).

    \b
    Example:
      hyst-interp compare runs/paper/seed-0/order-0/{below,above} --run runs/paper
    """
    check_format(format)
    at_least("--trials", trials, 2)
    manifests = two_checkpoints(below, above)
    setup = manifests[0].setup
    twins = ("value", "rename") if setup.task.n_keys >= setup.task.n_pairs + 2 else ("value",)
    sites = SITES if setup.model.d_mlp else SITES[:2]
    results = None if run is None else _results(run, manifests[0])

    from hyst_interp.history.guard import one_thread

    on_terminal(f"mapping {', '.join(sites)} of two networks on {trials:,} trials …")
    with one_thread():  # the same numbers on every call
        data = _measure(below, above, manifests, sites, twins, trials, results)
    return Answer(data, list(_rows(data)), lambda colour: _table(data, setup.p0, colour), format)


def _results(path: str, manifest: "Manifest") -> Path:
    """The results directory of a run that the pair can be held against."""
    run, study = finished_run(path, [f"patching-{site}" for site in SITES[:2]])
    for name in ("task", "model"):
        if getattr(study, name) != getattr(manifest.setup, name):
            raise UserError(f"run '{path}' has another {name} than the checkpoints; name a run of the same {name}.")
    return run.results


def _measure(
    below: str,
    above: str,
    manifests: "tuple[Manifest, Manifest]",
    sites: tuple[str, ...],
    twins: tuple[str, ...],
    trials: int,
    results: Path | None,
) -> dict[str, Any]:
    from hyst_interp.analysis.histories import Histories
    from hyst_interp.questions.gap import methods as gap_methods
    from hyst_interp.questions.similarity import methods
    from hyst_interp.storage.manifest import describe

    pair = Histories.open(below, above, trials)
    head = methods.dominant_head(pair, twins, trials)
    data: dict[str, Any] = {
        "schema": schema("compare"),
        "below": describe(manifests[0]),
        "above": describe(manifests[1]),
        "gap": gap_methods.gap(pair).to_dict() | {"trials": trials},
        "margins": {branch: margin.to_dict() for branch, margin in gap_methods.mean_margins(pair).items()},
        "strata": {name: gap.to_dict() for name, gap in gap_methods.by_stratum(pair).items()},
        "twins": list(twins),
        "similarity": {},
    }
    seed = manifests[0].setup.seed
    for site in sites:
        alike = methods.similarity(pair, site, twins, trials)
        entry: dict[str, Any] = {
            "pearson": alike.pearson,
            "spearman": alike.spearman,
            "distance": alike.distance,
            "cells": alike.cells,
        }
        entry |= yardsticks(results, site, seed)
        reasons = [entry.pop("reason", None)]
        if alike.pearson is None:
            reasons.append("too few free cells, or a map without variation: no correlation")
        elif alike.few:
            reasons.append(f"few cells ({alike.cells}): no verdict by itself")
        if any(reasons):
            entry["reason"] = "; ".join(reason for reason in reasons if reason)
        data["similarity"][site] = entry
    data["dominant_head"] = {"a": head.a, "b": head.b, "same_probability": head.same_probability, "tie": head.tie}
    data["gain"] = {site: methods.gain(pair, site, twins, trials) for site in sites}
    for entry in (gain for site in data["gain"].values() for gain in site.values()):
        if None in entry.values():
            entry["reason"] = "the map or the whole difference of the network from below is 0"
    return data


def yardsticks(results: Path | None, site: str, seed: int) -> dict[str, Any]:
    """Medians over a run: r (and distance) of siblings, and of other seeds; None with a reason where there are none."""
    entry: dict[str, Any] = {
        "ceiling": None,
        "floor": None,
        "distance_of_siblings": None,
        "distance_of_other_seeds": None,
    }
    if results is None:
        return entry | {"reason": "no run was given: pass --run for ceiling and floor"}
    if not (results / f"patching-{site}.nc").is_file():
        return entry | {"reason": f"the run has no maps of {site}"}

    from statistics import median

    from hyst_interp.questions.similarity.comparisons import other_seeds, siblings
    from hyst_interp.storage.results import read_results

    maps = read_results(results / f"patching-{site}.nc")
    if seed not in maps["seed"].values:
        return entry | {"reason": f"the run has no seed {seed}"}
    reasons = []
    for name, near, group, missing in (
        ("ceiling", "siblings", siblings(maps, seed), "the run has one data order: no siblings"),
        ("floor", "other_seeds", other_seeds(maps, seed), "the run has one seed: no other seeds"),
    ):
        known = [comparison.pearson for comparison in group if comparison.pearson is not None]
        if known:
            entry[name] = median(known)
        if group:
            entry[f"distance_of_{near}"] = median(comparison.distance for comparison in group)
        if not known:
            reasons.append(missing if not group else f"{near.replace('_', ' ')} have maps without variation")
    return entry | ({"reason": "; ".join(reasons)} if reasons else {})


def _rows(data: dict[str, Any]):
    """CSV: one quantity a row."""
    yield {"quantity": "gap", **data["gap"]}
    for name, stratum in data["strata"].items():
        yield {"quantity": f"gap, {name}", **stratum}
    for site, entry in data["similarity"].items():
        for name, value in entry.items():
            if name != "reason":
                yield {"quantity": f"similarity.{site}.{name}", "estimate": value, "reason": entry.get("reason")}
    for name, value in data["dominant_head"].items():
        yield {"quantity": f"dominant_head.{name}", "estimate": value}
    for site, by_twin in data["gain"].items():
        for twin, entry in by_twin.items():
            for name in ("slope", "difference_ratio"):
                yield {"quantity": f"gain.{site}.{twin}.{name}", "estimate": entry[name], "reason": entry.get("reason")}


def _table(data: dict[str, Any], p0: float, colour: bool) -> str:
    from hyst_interp.cli.tables import estimate_text, layout, number, paragraph
    from hyst_interp.questions.gap.headline import headline

    strata = [
        [name, estimate_text(stratum), f"{stratum['n']:,}"] for name, stratum in data["strata"].items() if name != "all"
    ]
    alike = [
        [
            site,
            _correlation(similarity["pearson"]),
            _correlation(similarity["spearman"]),
            _correlation(similarity["floor"]),
            _correlation(similarity["ceiling"]),
            number(similarity["distance"]).lstrip("+"),
            number(similarity["distance_of_siblings"]).lstrip("+"),
            str(similarity["cells"]),
        ]
        for site, similarity in data["similarity"].items()
    ]
    head, gain = data["dominant_head"], data["gain"]
    same = "the same head" if head["a"] == head["b"] else "different heads"
    tie = ", a tie on one side" if head["tie"] else ""
    engagement = [
        [site, twin, number(twin_gain["slope"]).lstrip("+"), number(twin_gain["difference_ratio"]).lstrip("+")]
        for site, by_twin in gain.items()
        for twin, twin_gain in by_twin.items()
    ]
    titles = [
        "maps",
        "Pearson\nr",
        "Spearman\nr",
        "floor\nr",
        "ceiling\nr",
        "distance\n(logits)",
        "siblings'\ndistance",
    ]
    lines = [
        *headline(data, p0),
        layout(["gap within strata of the prompt", "logits", "trials"], strata, "llr", colour),
        "",
        layout([*titles, "free\ncells"], alike, "lrrrrrrr", colour),
        "",
        paragraph(
            f"dominant head: below {head['a']}, above {head['b']}: {same}; the same in"
            f" {head['same_probability']:.0%} of resamples{tie}"
        ),
        "",
        layout(["gain", "twin", "slope of above on below", "ratio of whole differences"], engagement, "llrr", colour),
        "",
    ]
    reasons = {
        reason
        for similarity in data["similarity"].values()
        for reason in (similarity.get("reason") or "").split("; ")
        if reason
    }
    lines += [paragraph(f"· {reason}.", hang="  ") for reason in sorted(reasons)]
    lines.append(paragraph("Slopes are of raw maps: 1 is equal engagement; r says whether the same cells matter."))
    return "\n".join(lines)


def _correlation(value: float | None) -> str:
    return "·" if value is None else f"{value:.5f}"
