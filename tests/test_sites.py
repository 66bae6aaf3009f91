"""Names of places: what is printed can be read back, sets are what they say, and wrong names are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyst_interp import sites
from hyst_interp.errors import UserError
from hyst_interp.sites import SITES, Component, Site, component, components, parse_sets

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 6), st.booleans())


@given(st.integers(0, 99), st.integers(-1, 99))
def test_a_printed_component_reads_back(layer, head):
    assert component(str(Component(layer, head))) == Component(layer, head)
    assert Component(layer, head).is_head == (head >= 0)


@pytest.mark.parametrize("text", ["", "L1", "H3", "l1h3", "L1H", "LMLP", "L1MLP2", "L-1H0", "L1H3 ", "L1H3\n", "xL1H3"])
def test_what_is_no_component_is_refused(text, one_sentence):
    with pytest.raises(UserError) as error:
        component(text)
    one_sentence(str(error.value).replace("\n", ""), "L1H3", "L0MLP")


@given(SIZES)
def test_named_sets_partition_the_model(size):
    layers, heads, mlps = size
    every = components(*size)
    assert len(every) == len(set(every)) == layers * (heads + mlps)
    assert {s.name: s.members for s in parse_sets("each", *size)} == {str(c): frozenset([c]) for c in every}
    found = {s.name: s.members for s in parse_sets("heads,all" + (",mlps" if mlps else ""), *size)}
    assert found["all"] == frozenset(every)
    assert found["heads"] | found.get("mlps", frozenset()) == found["all"]
    assert len(found["heads"]) + len(found.get("mlps", ())) == len(every)


@given(SIZES, st.data())
def test_joined_components_are_their_union(size, data):
    wanted = data.draw(st.lists(st.sampled_from(components(*size)), min_size=1, max_size=5))
    (found,) = parse_sets("+".join(map(str, wanted)), *size)
    assert found.members == frozenset(wanted)


def test_a_set_named_twice_stands_once():
    assert [s.name for s in parse_sets("L0H0, each, heads,L0H0", 1, 2)] == ["L0H0", "L0H1", "L0MLP", "heads"]


@pytest.mark.parametrize(
    ("text", "size", "words"),
    [
        ("L2H0", (2, 4, True), ("L2H0", "2 layers", "4 heads")),
        ("L0H0+L1H4", (2, 4, True), ("L1H4", "L0H0 to L1H3")),
        ("L0MLP", (2, 4, False), ("L0MLP",)),
        ("mlps", (2, 4, False), ("mlps", "no MLP")),
        ("heads,", (2, 4, True), ("''",)),
        ("head", (2, 4, True), ("head", "L1H3")),
    ],
)
def test_a_set_that_the_model_lacks_is_refused(text, size, words, one_sentence):
    with pytest.raises(UserError) as error:
        parse_sets(text, *size)
    one_sentence(error.value, *words)


@pytest.mark.parametrize("kind", SITES)
def test_a_site_has_a_head_exactly_where_its_kind_has_heads(kind, one_sentence):
    good, bad = (2, None) if kind in ("result", "pattern") else (None, 2)
    assert Site(kind, 0, good).head == good
    with pytest.raises(UserError) as error:
        Site(kind, 0, bad)
    one_sentence(error.value, kind, "head")


def test_an_unknown_site_is_refused(one_sentence):
    with pytest.raises(UserError) as error:
        Site("resid_mid", 0)
    one_sentence(error.value, "resid_mid", *SITES)


def test_hook_names_exist_in_a_model(small_pair):
    """Every name that we ask for is a hook point of the model, and the residual axis has n_layers + 1 rows."""
    hooks = small_pair.below.hook_dict
    for layer in range(2):
        for name in (sites.hook_z, sites.hook_pattern, sites.hook_attn_out, sites.hook_mlp_out):
            assert name(layer) in hooks
    rows = [sites.hook_resid(row, 2) for row in range(3)]
    assert rows == ["blocks.0.hook_resid_pre", "blocks.1.hook_resid_pre", "blocks.1.hook_resid_post"]
    assert set(rows) <= set(hooks)
    assert sites.hook_z(2) not in hooks
