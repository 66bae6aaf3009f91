"""EAP-IG: scores for every edge from a few backward passes, for models with too many edges to patch one by one.

The score of u → v is (what u writes in the donor's run − in the base run) · the mean gradient of the base network's
margin with respect to what v reads, along the straight path between the two runs' *embeddings*. It approximates the
exact effect of patching that edge; one backward pass a step gives all edges, on any number of layers.

- One step (`from_donor`, the paper's rule) takes the gradient in the base run alone: plain edge attribution patching.
- The score is exact in every step where the margin is linear in what all inputs read.
- *Completeness*: the embedding reaches the margin through its own edges and nothing else, so by the chain rule the
  scores of its outgoing edges sum, trial by trial, to the integral of the margin's derivative along the path: to
  margin(path's end) − margin(base) as steps grow. For a twin that end is the donor's run, so the sum is the whole
  difference. Edges into the logits have no such identity: the final stream does not move on a straight line.

Hanna, Pezzelle, Belinkov, "Have Faith in Faithfulness: Going Beyond Circuit Overlap When Finding Model Mechanisms"
(2024); Syed, Rager, Conmy, "Attribution Patching Outperforms Automated Circuit Discovery" (2023); Sundararajan, Taly,
Yan, "Axiomatic Attribution for Deep Networks" (2017).
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float

from hyst_interp.errors import UserError
from hyst_interp.model.hooked import Hooked
from hyst_interp.questions.edges.edge_circuits import mean_effect
from hyst_interp.questions.edges.edge_forward import Change, EdgeRun, Messages, forward, graph_of
from hyst_interp.questions.edges.edge_similarity import edge_similarity
from hyst_interp.questions.edges.graph import EMBED, Graph, Input
from hyst_interp.questions.edges.measure import edge_coords, twin_runs
from hyst_interp.readout import chunks, read
from hyst_interp.tasks.trials import Trials

STEPS = (1, 2, 5, 10, 20, 50)
"""Numbers of steps at which convergence is looked at."""
DEFAULT_STEPS = 10

Rule = Callable[[int], Float[np.ndarray, " step"]]
"""Number of steps → where on the path gradients are taken: 0 is the base run, 1 the donor's embedding."""


def from_donor(steps: int) -> Float[np.ndarray, " step"]:
    """The paper's rule: from the donor's end (left out) to the base run (taken); its error falls as 1 / steps."""
    return 1 - np.arange(1, steps + 1) / steps


def midpoints(steps: int) -> Float[np.ndarray, " step"]:
    """The middle of every step; its error falls as 1 / steps²."""
    return (np.arange(steps) + 0.5) / steps


def attribution(
    model: Hooked, trials: Trials, direction: str = "noise", steps: int = DEFAULT_STEPS, rule: Rule = from_donor
) -> xr.Dataset:
    """EAP-IG scores of every edge on the margin of one network, by twin, per trial.

    `effect` (edge, trial), the score in logits, with the labels of `measure.edge_effects`, so that both can be
    ranked, compared, and drawn alike; `base` and `donor` (trial), the margins of both runs. Raises UserError for fewer
    steps than one, trials without a twin, or a model whose edges cannot be told apart.
    """
    _check_steps([steps])
    return scores_at(model, trials, direction, (steps,), rule).isel(steps=0)


def scores_at(
    model: Hooked, trials: Trials, direction: str, steps: Sequence[int], rule: Rule = from_donor
) -> xr.Dataset:
    """`attribution` at several numbers of steps, dims (steps, edge, trial); points that they share are taken once."""
    _check_steps(steps)
    graph = graph_of(model)
    points = sorted({float(point) for number in steps for point in rule(number)})
    weights = np.array([[float(np.sum(rule(number) == point)) / number for point in points] for number in steps])
    parts = []
    for part in chunks(len(trials)):
        some = trials.take(part)
        base, donor = twin_runs(model, some, direction)
        scores = _scores(model, graph, some, base, donor.messages, points, weights)
        parts.append((scores, *(read(run.logits, some)["margin"] for run in (base, donor))))
    effect, before, given = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
    unit = {"units": "logits"}
    return xr.Dataset(
        {
            "effect": (
                ("steps", "edge", "trial"),
                effect,
                {**unit, "method": "message · mean gradient along the path"},
            ),
            "base": (("trial",), before, {**unit, "method": "margin of the base run"}),
            "donor": (("trial",), given, {**unit, "method": "margin of the run that messages come from"}),
        },
        {"steps": list(steps), **edge_coords(graph.edges)},
        {"direction": direction, "twin": str(trials.twin), "rule": getattr(rule, "__name__", "own")},
    )


def _scores(
    model: Hooked,
    graph: Graph,
    trials: Trials,
    base: EdgeRun,
    donor: Messages,
    points: Sequence[float],
    weights: Float[np.ndarray, "steps point"],
) -> Float[np.ndarray, "steps edge trial"]:
    """Scores of all edges for every weighting of the path's points; mean gradients are kept, never those of a point."""
    start, end = base.messages[EMBED], donor[EMBED]
    means: list[dict[Input, torch.Tensor]] = [{} for _ in weights]
    for place, point in enumerate(points):
        input_gradients = gradients(model, graph, torch.lerp(start, end, point), trials)
        for row, mean in zip(weights, means, strict=True):
            if row[place]:
                for edge_input, gradient in input_gradients.items():
                    share = float(row[place]) * gradient
                    mean[edge_input] = mean[edge_input] + share if edge_input in mean else share
    differences = {source: donor[source] - base.messages[source] for source in graph.sources}
    return np.stack([_products(graph, differences, mean) for mean in means])


def gradients(
    model: Hooked, graph: Graph, start: Float[torch.Tensor, "trial pos d_model"], trials: Trials
) -> dict[Input, torch.Tensor]:
    """Gradient of each trial's margin with respect to what every input reads, from one forward and one backward pass.

    [trial, pos, d_model]; [trial, 1, d_model] for inputs that read the query alone. Everything after an input counts.
    """
    reads: dict[Input, torch.Tensor] = {}

    def kept(place: Input) -> Change:
        def change(stream: torch.Tensor, messages: Messages) -> torch.Tensor:
            reads[place] = stream.view_as(stream)  # a node of its own in the graph of gradients
            return reads[place]

        return change

    with torch.enable_grad():
        begin = start.detach().requires_grad_()
        logits = forward(model, begin, {place: kept(place) for place in graph.inputs}).logits
        rows = torch.arange(len(trials), device=logits.device)
        contextual, fixed = (torch.from_numpy(answer).to(logits.device) for answer in (trials.contextual, trials.fixed))
        margin = logits[rows, contextual] - logits[rows, fixed]
        margin_gradients = torch.autograd.grad(margin.sum(), list(reads.values()))
    return dict(zip(reads, margin_gradients, strict=True))


def _products(
    graph: Graph, differences: dict[str, torch.Tensor], gradient: dict[Input, torch.Tensor]
) -> Float[np.ndarray, "edge trial"]:
    """Difference of messages · gradient of what the target reads, summed over positions and width."""
    rows = []
    for place in graph.inputs:
        target_gradient = gradient[place]
        for source in graph.sources_of(place.node):
            message = differences[source][:, -target_gradient.shape[1] :]
            rows.append(torch.einsum("bpd,bpd->b", message, target_gradient))
    return torch.stack(rows).cpu().numpy()


def agreement(scores: xr.DataArray, exact: xr.DataArray) -> dict[str, float | None]:
    """Pearson and Spearman correlation of mean scores with mean exact effects over edges where either is not 0.

    Also `slope`, of scores on effects through the origin, and `error`, the relative distance ‖scores − exact‖/‖exact‖.
    """
    comparison = edge_similarity(exact, scores)
    size = float(np.linalg.norm(mean_effect(exact).values))
    return {
        "pearson": comparison.pearson,
        "spearman": comparison.spearman,
        "slope": comparison.slope,
        "error": comparison.distance / size if size else None,
    }


def convergence(found: xr.Dataset, exact: xr.Dataset | None = None) -> xr.Dataset:
    """How scores settle with the number of steps, and what they agree with; from `scores_at`.

    Dims (steps): `change`, ‖scores − scores at the most steps‖ / ‖those‖ of the mean scores; `incompleteness`,
    |Σ over edges out of the embedding − (donor − base)| summed over trials, as a share of Σ |donor − base|. With the
    `exact` effects also `pearson`, `spearman`, `slope`, and `error` (see `agreement`), NaN where undefined.
    """
    wide = found.astype("float64")
    mean = wide["effect"].mean("trial")
    final = mean.sel(steps=int(mean["steps"].max()))
    size = float(np.linalg.norm(final.values))
    change = np.linalg.norm((mean - final).transpose("steps", "edge").values, axis=1) / (size or 1.0)
    whole = wide["donor"] - wide["base"]
    out = wide["effect"].where(wide["source"] == EMBED, drop=True).sum("edge")
    total = float(abs(whole).sum("trial"))
    missing = abs(out - whole).sum("trial").values / (total or 1.0)
    arrays = {
        "change": ("steps", change, {"units": "share", "method": "distance to the scores at the most steps"}),
        "incompleteness": ("steps", missing, {"units": "share", "method": "Σ embed → · against donor − base"}),
    }
    if exact is not None:
        rows = [agreement(mean.sel(steps=number, drop=True), exact["effect"]) for number in mean["steps"].values]
        for name in rows[0]:
            values = [np.nan if row[name] is None else row[name] for row in rows]
            arrays[name] = ("steps", np.array(values, dtype=np.float64), {"method": "scores against exact effects"})
    return xr.Dataset(arrays, {"steps": found["steps"].values}, found.attrs)


def _check_steps(steps: Sequence[int]) -> None:
    if not steps or min(steps) < 1:
        raise UserError(f"steps are {', '.join(map(str, steps)) or 'none'}; use 1 or more.")
