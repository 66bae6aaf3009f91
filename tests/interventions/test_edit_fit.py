"""What does not fit is refused with its value and the range, wherever edits are taken; what fits is run as it was."""

import numpy as np
import pytest
import torch

from hyst_interp.config import ModelConfig
from hyst_interp.errors import UserError
from hyst_interp.interventions.cached_run import CachedRun
from hyst_interp.interventions.cached_sweep import cached_sweep
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.fit import at_query, check_cells
from hyst_interp.interventions.hooks import hooks_of
from hyst_interp.interventions.install import installed
from hyst_interp.interventions.patching import hook_at
from hyst_interp.interventions.references import edits_for, means, own_mean, query_only, stream_mean, written_by
from hyst_interp.interventions.sweep import run, sweep
from hyst_interp.model.build import initial_weights, model_from
from hyst_interp.questions.information.off_distribution import off_distribution
from hyst_interp.sites import Component, Site, components, hook_resid
from hyst_interp.streams import Stream

N_TRIALS, N_POS, WIDTH, HEAD = 5, 7, 32, 16
QUERY = query_only(N_POS)
EARLY = np.arange(N_POS) < 3


def edit(site: Site, *shape: int, per_trial=False, frame="site", strength=1.0, positions=None) -> Edit:
    return Edit(site, Reference(torch.ones(shape), per_trial, frame), strength, positions)


RESID, MLP, RESULT, PATTERN = Site("resid_pre", 1), Site("mlp_out", 0), Site("result", 0, 1), Site("pattern", 0, 1)
WRONG = {
    "a row past the final stream": (edit(Site("resid_pre", 99), WIDTH), "layer 99", "0 to 2"),
    "the first row past it": (edit(Site("resid_pre", 3), WIDTH), "layer 3", "0 to 2"),
    "an MLP past the last": (edit(Site("mlp_out", 2), WIDTH), "layer 2", "0 to 1"),
    "a layer of heads past the last": (edit(Site("result", 2, 0), HEAD), "layer 2", "0 to 1"),
    "a head past the last": (edit(Site("result", 0, 2), HEAD), "head 2", "0 to 1"),
    "a pattern's head past the last": (edit(Site("pattern", 0, 7), N_POS), "head 7", "0 to 1"),
    "a layer of patterns past the last": (edit(Site("pattern", 5, 0), N_POS), "layer 5", "0 to 1"),
    "width 1": (edit(RESID, 1), "[1]", "[32]"),
    "width 1 by position": (edit(MLP, N_POS, 1), "[7, 1]", "[7, 32]"),
    "width 1 by trial": (edit(MLP, N_TRIALS, N_POS, 1, per_trial=True), "[5, 7, 1]", "[5, 7, 32]"),
    "width 1 of a head": (edit(RESULT, 1), "[1]", "[16]"),
    "the stream's width for a head": (edit(RESULT, WIDTH), "[32]", "[16]"),
    "the head's width for the stream": (edit(RESULT, HEAD, frame="stream"), "[16]", "[32]"),
    "width 1 in the stream": (edit(RESULT, N_POS, 1, frame="stream"), "[7, 1]", "[7, 32]"),
    "fewer keys than positions": (edit(PATTERN, N_POS - 1), "[6]", "[7]"),
    "one key": (edit(PATTERN, 1), "[1]", "[7]"),
    "a pattern in the stream": (edit(PATTERN, N_POS, frame="stream"), "'stream'", "'site'"),
    "fewer positions": (edit(MLP, N_POS - 1, WIDTH), "[6, 32]", "[7, 32]"),
    "one row for all positions": (edit(MLP, 1, WIDTH), "[1, 32]", "[7, 32]"),
    "one row for early positions": (edit(RESULT, 1, HEAD, positions=EARLY), "[1, 16]", "[7, 16]"),
    "one row a trial for all positions": (edit(MLP, N_TRIALS, 1, WIDTH, per_trial=True), "[5, 1, 32]", "[5, 7, 32]"),
    "no axis of positions though per trial": (edit(MLP, N_TRIALS, WIDTH, per_trial=True), "[5, 32]", "[5, 7, 32]"),
    "a number though per trial": (edit(MLP, per_trial=True), "[]", "[5, 7, 32]"),
    "trials though not per trial": (edit(MLP, N_TRIALS, N_POS, WIDTH), "[5, 7, 32]", "[7, 32]"),
    "the head axis left in": (edit(RESULT, N_POS, 2, HEAD), "[7, 2, 16]", "[7, 16]"),
    "one trial": (edit(MLP, 1, N_POS, WIDTH, per_trial=True), "[1, 7, 32]", "[5, 7, 32]"),
    "a trial more": (edit(MLP, N_TRIALS + 1, N_POS, WIDTH, per_trial=True), "[6, 7, 32]", "[5, 7, 32]"),
    "a mask of other positions": (edit(MLP, WIDTH, positions=np.ones(6, bool)), "[6]", "[7]"),
    "a mask of one position": (edit(MLP, WIDTH, positions=np.ones(1, bool)), "[1]", "[7]"),
    "a mask of one trial": (edit(MLP, WIDTH, positions=np.ones((1, 7), bool)), "[1, 7]", "[5, 7]"),
    "a mask of other trials": (edit(MLP, WIDTH, positions=np.ones((6, 7), bool)), "[6, 7]", "[5, 7]"),
    "no number as strength": (edit(MLP, WIDTH, strength=float("nan")), "nan", "finite"),
    "no end to the strength": (edit(RESID, WIDTH, strength=float("inf")), "inf", "finite"),
    "a row that is nowhere, at strength 0": (edit(Site("resid_pre", 99), WIDTH, strength=0.0), "layer 99", "0 to 2"),
}
"""What is wrong → the edit, its value, and what is right."""
GOOD = edit(MLP, WIDTH, positions=QUERY)


def hooked(model, trials, one) -> None:
    with torch.no_grad(), installed(model, hooks_of(one, model)):
        model(torch.from_numpy(trials.tokens))


WAYS = {
    "run": lambda model, trials, one: run(model, torch.from_numpy(trials.tokens), [GOOD, one]),
    "sweep": lambda model, trials, one: sweep(model, trials, [[], [GOOD, one]]),
    "cached sweep": lambda model, trials, one: cached_sweep(model, trials, [[], [GOOD, one]]),
    "chunk": lambda model, trials, one: CachedRun(model, trials).sweep([[], [GOOD, one]]),
    "off_distribution": lambda model, trials, one: off_distribution(model, trials, [[], [GOOD, one]]),
    "hooks": hooked,
}
"""Every way in which edits are run."""


@pytest.fixture
def trials(small_pair):
    return small_pair.trials.take(slice(0, N_TRIALS))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_fit_is_refused_everywhere(way, wrong, small_pair, trials, one_sentence):
    one, value, right = WRONG[wrong]
    with pytest.raises(UserError) as caught:
        WAYS[way](small_pair.below, trials, one)
    if way != "hooks" or value != "[]":
        one_sentence(caught.value, value)
    if way != "hooks":  # which know neither the trials nor the positions before they meet them
        one_sentence(caught.value, right)


@pytest.mark.parametrize("way", WAYS)
def test_a_model_without_mlps_has_none_to_edit(way, trials, one_sentence):
    config = ModelConfig(d_model=WIDTH, n_heads=2, d_mlp=0)
    model = model_from(config, 13, N_POS, initial_weights(config, 13, N_POS, Stream("initialisation", 7)))
    with pytest.raises(UserError) as caught:
        WAYS[way](model, trials, GOOD)
    one_sentence(caught.value, "'mlp_out' of layer 0", "no MLP")


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda: Site("result", 0, -1), "head -1"),
        (lambda: Site("pattern", 1, -2), "head -2"),
        (lambda: Site("resid_pre", -1), "layer -1"),
        (lambda: Site("mlp_out", -3), "layer -3"),
        (lambda: Component(-1), "layer -1"),
        (lambda: Component(-1, 0), "layer -1"),
        (lambda: Component(0, -2), "head -2"),
        (lambda: hook_resid(3, 2), "layer 3"),
        (lambda: hook_resid(-1, 2), "layer -1"),
        (lambda: hook_at(Site("resid_pre", 99), 2), "layer 99"),
        (lambda: hook_at(Site("result", 2, 0), 2), "layer 2"),
    ],
)
def test_places_that_no_model_has_cannot_be_named(make, value, one_sentence):
    with pytest.raises(UserError) as caught:
        make()
    one_sentence(caught.value, value)


def test_places_at_either_end_can():
    assert not Component(0).is_head
    assert Component(0, 0).is_head
    assert hook_resid(2, 2) == hook_at(Site("resid_pre", 2), 2) == "blocks.1.hook_resid_post"
    assert hook_at(Site("pattern", 1, 0), 2) == "blocks.1.attn.hook_pattern"


def legal_edits() -> list[tuple[Edit, Edit]]:
    """Every legal short form of a reference, beside the same edit with its reference written out."""
    random, found = torch.Generator().manual_seed(2), []
    by_trial = np.random.default_rng(2).random((N_TRIALS, N_POS)) < 0.4
    final = Site("resid_pre", 2)
    whole_stream = [(RESID, "site"), (final, "site"), (MLP, "site"), (MLP, "stream")]
    for site, frame in (*whole_stream, (RESULT, "site"), (RESULT, "stream"), (PATTERN, "site")):
        width = {"pattern": N_POS, "result": HEAD if frame == "site" else WIDTH}.get(site.kind, WIDTH)
        for shape in ((), (width,), (1, width), (N_POS, width), (N_TRIALS, 1, width), (N_TRIALS, N_POS, width)):
            per_trial, one_row = len(shape) == 3, len(shape) > 1 and shape[-2] == 1
            values = torch.randn(shape, generator=random)
            whole = values.expand(N_TRIALS, N_POS, width).contiguous()
            for positions in (QUERY,) if one_row else (None, QUERY, EARLY, by_trial):
                short, long = Reference(values, per_trial, frame), Reference(whole, True, frame)
                found.append((Edit(site, short, 0.7, positions), Edit(site, long, 0.7, positions)))
    return found


@pytest.mark.parametrize("way", [sweep, cached_sweep, off_distribution])
def test_what_fits_is_what_it_would_be_written_out(way, small_pair, trials):
    pairs = legal_edits()
    short, long = (way(small_pair.below, trials, [[], *([one[side]] for one in pairs)]) for side in (0, 1))
    for name, values in short.items():
        np.testing.assert_allclose(values, long[name], atol=1e-5)
        moved = np.abs(values - values[:1]).max(1) > 0
        assert moved.mean() > 0.8


def test_what_the_package_makes_itself_fits(small_pair, trials):
    every = components(2, 2)
    for where, at_the_query in ((None, False), (QUERY, False), (QUERY, True)):
        own = means(small_pair.below, small_pair.inputs, every, at_the_query)
        written = written_by(small_pair.above, torch.from_numpy(trials.tokens), every, at_the_query)
        tables = [
            {c: own_mean(c, own) for c in every},
            {c: stream_mean(c, own) for c in every},
            {c: Reference(value, True, "stream") for c, value in written.items()},
        ]
        check_cells(small_pair.below, [edits_for(every, table, where) for table in tables], N_TRIALS, N_POS)


def test_one_row_is_for_the_query_alone():
    assert at_query(edit(MLP, WIDTH, positions=QUERY))
    assert at_query(edit(MLP, WIDTH, positions=np.tile(QUERY, (N_TRIALS, 1))))
    assert not at_query(edit(MLP, WIDTH))
    assert not at_query(edit(MLP, WIDTH, positions=EARLY))


def test_nothing_is_run_before_everything_was_looked_at(small_pair, trials):
    seen: list[int] = []
    handle = small_pair.below.register_forward_pre_hook(lambda *given: seen.append(1))
    try:
        for way in ("run", "sweep", "cached sweep", "off_distribution"):
            with pytest.raises(UserError):
                WAYS[way](small_pair.below, trials, WRONG["width 1 by position"][0])
    finally:
        handle.remove()
    assert not seen
