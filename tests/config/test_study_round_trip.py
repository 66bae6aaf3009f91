"""A study's TOML text gives the study back, and its digest changes exactly with its content."""

import math
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyst_interp.config import ScheduleConfig, StudyConfig
from hyst_interp.config.frozen import canonical_json, digest, parse
from hyst_interp.storage.run import study_text

POSITIVE = st.floats(1e-12, 1e12)
BOUND = math.log(0.98 / 0.02)


@st.composite
def studies(draw) -> dict[str, Any]:
    """Plain data of a possible study; it is parsed in the test, because beartype may not draw inside a strategy."""
    pairs = draw(st.integers(1, 12))
    keys = draw(st.integers(pairs + 2, 40))
    heads, mlp = draw(st.integers(1, 8)), draw(st.sampled_from([0, 1, 48]))
    p0 = draw(st.floats(0.021, 0.979))
    excursion = draw(st.sampled_from(["probability", "log-odds"]))
    room = min(p0 - 0.02, 0.98 - p0) if excursion == "probability" else BOUND - abs(math.log(p0 / (1 - p0)))
    shape = draw(st.sampled_from(["staircase", "triangle"]))
    sets = st.lists(
        st.sampled_from(["each", "heads", "all", "L0H0", *(["mlps", "L0MLP+L0H0"] if mlp else [])]), min_size=1
    )
    tables = st.dictionaries(st.sampled_from(["own-mean", "pooled-mean", "donor", "anchor-mean"]), sets)
    optimizer = {
        "name": draw(st.sampled_from(["adamw", "adam", "sgd", "momentum"])),
        "lr": draw(POSITIVE),
        "betas": [draw(st.floats(0, 1)), draw(st.floats(0, 1))],
        "eps": draw(POSITIVE),
        "clip_norm": draw(st.none() | POSITIVE),
        "fused": draw(st.booleans()),
    }
    data: dict[str, Any] = {
        "name": draw(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,8}", fullmatch=True)),
        "seeds": draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=5, unique=True)),
        "orders": draw(st.integers(2, 6)),
        "p0": p0,
        "holds": sorted({0, *draw(st.sets(st.integers(1, 500), max_size=3))}),
        "task": {"n_keys": keys, "n_values": draw(st.integers(max(keys, pairs + 2), 60)), "n_pairs": pairs},
        "model": {
            "n_layers": draw(st.integers(1, 3)),
            "n_heads": heads,
            "d_model": heads * draw(st.integers(2, 16)),
            "d_mlp": mlp,
            "act_fn": draw(st.sampled_from(["gelu", "relu", "silu", "gelu_new"])),
            "normalization_type": draw(st.sampled_from(["LN", "none"])),
            "init_std": draw(st.none() | POSITIVE),
        },
        "training": {"batch_size": draw(st.integers(1, 999)), "optimizer": optimizer},
        "schedule": {
            "shape": shape,
            "delta": abs(draw(st.floats(0, 0.99))) * room,
            "levels": draw(st.integers(1, 9)),
            "dwell": 1 if shape == "triangle" else draw(st.integers(1, 30)),
            "excursion": excursion,
            "pairing": draw(st.sampled_from(["paired", "independent"])),
        },
        "attenuation": {
            "arrival": {**draw(tables), "own-mean": [*draw(sets), "heads"]},
            "holds": draw(tables),
        },
        "claims": {"comparable": draw(st.booleans()), "calibrated": draw(st.lists(st.text(max_size=8), max_size=3))},
        "device": draw(st.sampled_from(["cpu", "cuda"])),
        "save_optimizer": draw(st.lists(st.sampled_from(["hold-000", "later-holds"]), unique=True)),
    }
    return data


@settings(deadline=None, max_examples=80)
@given(studies())
def test_the_text_of_a_study_gives_the_study_back(data):
    study = parse(StudyConfig, data, "a drawn study")
    text = study_text(study)
    again = StudyConfig.model_validate(tomllib.loads(text))
    assert again == study
    assert again.digest() == study.digest()
    assert study_text(again) == text
    text.encode("utf-8")


def test_characters_that_toml_forbids_are_escaped():
    study = StudyConfig(name="a").replace(claims={"calibrated": ['"\\\n\t\x00\x1f\x7f\x85é', "'''"]})
    assert StudyConfig.model_validate(tomllib.loads(study_text(study))) == study


@settings(deadline=None, max_examples=25)
@given(studies(), studies())
def test_digests_are_equal_exactly_where_studies_are(a, b):
    first, second = parse(StudyConfig, a, "a"), parse(StudyConfig, b, "b")
    assert (first.digest() == second.digest()) == (first == second)
    assert len(first.digest()) == 64
    assert StudyConfig.model_validate(first.to_json()).digest() == first.digest()


def leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in leaves(part, (*path, key))]
    return [(path, value)]


OTHER = {
    "attenuation.holds.donor": ["all"],
    "attenuation.holds.own-mean": ["all"],
    "claims.calibrated": ["gap"],
    "device": "cuda",
    "model.act_fn": "relu",
    "model.d_model": 128,
    "model.n_heads": 2,
    "model.normalization_type": "none",
    "name": "b",
    "patching.figure_site": "result",
    "save_optimizer": [],
    "schedule.excursion": "log-odds",
    "schedule.pairing": "independent",
    "training.optimizer.name": "sgd",
}
"""Fields whose change is no plain step up or down."""
ALONE = {"task.name", "schedule.shape"}
"""Fields that have one value, or whose change needs another one's."""


def changed(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value * 0.9375]
    if isinstance(value, list):
        return [value[:-1]]
    return [0.5]


START = StudyConfig(name="a")


@pytest.mark.parametrize(
    ("path", "value"),
    [(p, v) for p, v in leaves(START.to_json()) if ".".join(p) not in ALONE],
    ids=[".".join(p) for p, _ in leaves(START.to_json()) if ".".join(p) not in ALONE],
)
def test_every_field_counts_for_the_digest(path, value):
    name = ".".join(path)
    found = []
    for other in [OTHER[name]] if name in OTHER else changed(value):
        if name == "training.optimizer.betas":
            other = [0.9, 0.95]
        data = START.to_json()
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = other
        try:
            found.append(StudyConfig.model_validate(data).digest())
        except ValueError:
            continue
    assert found
    assert START.digest() not in found


def test_the_shape_counts_for_the_digest():
    assert ScheduleConfig(dwell=1).digest() != ScheduleConfig(dwell=1, shape="triangle").digest()


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4) | st.lists(st.booleans()), max_size=5))
def test_the_digest_does_not_depend_on_the_order_of_keys(data):
    turned = dict(reversed(data.items()))
    assert canonical_json(turned) == canonical_json(data)
    assert digest(turned) == digest(data)
    assert digest({**data, "one more": 1}) != digest(data)


def test_what_is_no_json_has_no_digest():
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest({"x": math.nan})
