"""EAP-IG: gradients against finite differences, exact where all is linear, complete out of the embedding, settling."""

import numpy as np
import pytest
import torch
import xarray as xr
from edge_models import linear, noisy, silence, twins_of

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.errors import UserError
from hyst_interp.questions.edges.edge_attribution import (
    agreement,
    attribution,
    convergence,
    from_donor,
    gradients,
    midpoints,
    scores_at,
)
from hyst_interp.questions.edges.edge_forward import embedding, forward, graph_of
from hyst_interp.questions.edges.graph import Graph, Input
from hyst_interp.questions.edges.measure import edge_coords, edge_effects, edges_of, twin_runs
from hyst_interp.tasks.registry import task_of


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("direction", ["noise", "denoise"])
def test_scores_are_the_exact_effects_of_a_linear_network(small_setup, n_layers, direction):
    model, trials = linear(n_layers), twins_of(small_setup)
    exact = edge_effects(model, trials, direction)["effect"]
    for steps, rule in ((1, from_donor), (4, from_donor), (3, midpoints)):
        found = attribution(model, trials, direction, steps, rule)["effect"]
        np.testing.assert_allclose(found, exact, atol=5e-4)
    assert float(abs(exact).max()) > 0.1
    assert agreement(found, exact)["pearson"] == pytest.approx(1, abs=1e-5)


def test_scores_of_a_curved_network_are_not_exact(small_setup):
    trials = twins_of(small_setup)
    difference = attribution(noisy(), trials)["effect"] - edge_effects(noisy(), trials)["effect"]
    assert float(abs(difference).max()) > 0.01


@pytest.mark.parametrize("change", [{}, {"n_layers": 3}, {"d_mlp": 0}], ids=str)
def test_gradients_are_finite_differences(small_setup, change):
    """What every input reads is moved a little, in one direction a trial, and everything after it runs again."""
    model, trials = noisy(**change).to(torch.float64), twins_of(small_setup)
    start = embedding(model, torch.from_numpy(trials.tokens)).detach()
    graph = graph_of(model)
    found = gradients(model, graph, start, trials)
    rows, random = np.arange(len(trials)), torch.Generator().manual_seed(0)
    assert set(found) == set(graph.inputs)
    for place in graph.inputs:
        step = torch.randn(found[place].shape, generator=random, dtype=torch.float64)
        margins = []
        for size in (1e-5, -1e-5):
            change_by = {place: lambda stream, messages, size=size, step=step: stream + size * step}
            logits = forward(model, start, change_by).logits.detach().numpy()
            margins.append(logits[rows, trials.contextual] - logits[rows, trials.fixed])
        expected = (margins[0] - margins[1]) / 2e-5
        np.testing.assert_allclose((found[place] * step).sum((1, 2)), expected, atol=1e-6, rtol=1e-5)


def test_the_last_layer_reads_its_queries_at_the_query_alone(small_setup):
    model, trials = noisy(), twins_of(small_setup)
    found = gradients(model, Graph(2, 2), embedding(model, torch.from_numpy(trials.tokens)), trials)
    assert found[Input("L1H0", "q")].shape == (7, 1, 32)
    assert found[Input("L1H0", "k")].shape == found[Input("L0MLP", "in")].shape == (7, 7, 32)


def test_one_step_is_the_gradient_in_the_base_run(small_setup):
    model, trials = noisy(), twins_of(small_setup)
    base, donor = twin_runs(model, trials)
    gradient = gradients(model, Graph(2, 2), base.messages["embed"], trials)
    found = attribution(model, trials, steps=1)["effect"]
    for name, source, place in (
        ("L0MLP→logits", "L0MLP", Input("logits", "in")),
        ("L0H1→L1H0.k", "L0H1", Input("L1H0", "k")),
    ):
        message, slope = donor.messages[source] - base.messages[source], gradient[place]
        by_hand = (message[:, -slope.shape[1] :] * slope).sum((1, 2))
        np.testing.assert_allclose(found.sel(edge=name), by_hand, atol=1e-5)


def test_rules_lie_on_the_path():
    np.testing.assert_allclose(from_donor(1), [0])
    np.testing.assert_allclose(from_donor(4), [0.75, 0.5, 0.25, 0])
    np.testing.assert_allclose(midpoints(2), [0.25, 0.75])


@pytest.mark.parametrize("change", [{}, {"n_layers": 3}, {"n_heads": 4, "d_mlp": 0}], ids=str)
def test_edges_out_of_the_embedding_sum_to_the_whole_difference(small_setup, change):
    """Trial by trial; the same sum over edges into the logits does not, so this is no accident."""
    found = attribution(noisy(**change), twins_of(small_setup), steps=20, rule=midpoints)
    whole = found["donor"] - found["base"]
    out = found["effect"].where(found["source"] == "embed", drop=True).sum("edge")
    into = found["effect"].where(found["target"] == "logits", drop=True).sum("edge")
    np.testing.assert_allclose(out, whole, atol=0.01)
    assert float(abs(into - whole).max()) > 4 * float(abs(out - whole).max())


def test_both_directions_walk_the_same_path(small_setup):
    """At midpoints the two directions take the same gradients, so scores differ by their sign alone."""
    trials = twins_of(small_setup)
    noise, denoise = (attribution(noisy(), trials, way, 4, midpoints)["effect"] for way in ("noise", "denoise"))
    np.testing.assert_allclose(noise, -denoise, atol=1e-5)


def test_scores_settle_with_steps(small_setup, small_pair):
    trials = twins_of(small_setup, 20)
    exact = edge_effects(small_pair.below, trials)
    for rule, order in ((from_donor, 1), (midpoints, 2)):
        found = convergence(scores_at(small_pair.below, trials, "noise", (2, 8, 32), rule), exact)
        change, missing = found["change"].values, found["incompleteness"].values
        assert change[0] > 2 * change[1] > 0
        assert change[2] == 0
        assert missing[0] > missing[1] > missing[2]
        assert missing[2] < (0.1 if order == 1 else 0.01)
    assert (found["pearson"] > 0.5).all()


def test_shared_points_change_nothing(small_setup):
    model, trials = noisy(), twins_of(small_setup)
    together = scores_at(model, trials, "noise", (1, 2, 6))
    for steps in (1, 2, 6):
        alone = attribution(model, trials, steps=steps)["effect"]
        np.testing.assert_allclose(together["effect"].sel(steps=steps), alone, atol=1e-5)


def test_edges_of_a_head_that_writes_nothing_are_exactly_0(small_setup):
    found = attribution(silence(noisy(), "0.W_O.1"), twins_of(small_setup))["effect"]
    assert (found.where((found["source"] == "L0H1") | (found["target"] == "L0H1"), drop=True) == 0).all()
    assert (found.sel(edge=["embed→logits", "embed→L1H0.q"]) == 0).all()


def test_labels_are_those_of_exact_patching_and_no_gradient_is_left(small_setup):
    model, trials = noisy(), twins_of(small_setup)
    found, exact = attribution(model, trials), edge_effects(model, trials)
    assert edges_of(found) == edges_of(exact)
    xr.testing.assert_equal(found["base"].drop_vars("steps"), exact["base"])
    assert all(parameter.grad is None for parameter in model.parameters())


def test_agreement_is_measured_over_edges_that_can_matter():
    coords = edge_coords(Graph(2, 2).edges)
    exact = xr.DataArray(np.zeros(46), coords, ("edge",))
    exact[:4] = [1.0, 2.0, 3.0, 4.0]
    scores = 2 * exact
    found = agreement(scores, exact)
    assert found == {"pearson": pytest.approx(1), "spearman": pytest.approx(1), "slope": 2, "error": pytest.approx(1)}
    assert agreement(0 * exact, 0 * exact) == {"pearson": None, "spearman": None, "slope": None, "error": None}


def test_refusals(small_setup, one_sentence):
    model, trials = noisy(), twins_of(small_setup)
    found = attribution(model, trials, steps=1)["effect"]
    cases = [
        (lambda: attribution(model, trials, steps=0), "steps are 0"),
        (lambda: scores_at(model, trials, "noise", ()), "steps are none"),
        (lambda: attribution(model, evaluation_trials(task_of(small_setup), 4)), "twin"),
        (lambda: attribution(model, trials, "up"), "'up'"),
        (lambda: agreement(found, found[3:]), "one graph"),
    ]
    for call, word in cases:
        with pytest.raises(UserError) as caught:
            call()
        one_sentence(caught.value, word)
