"""The paper's claims on planted evidence: for every row one run that agrees, one that differs, one that cannot say."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from hyst_interp.claim_inputs import Evidence
from hyst_interp.claims import CLAIMS, PAPER_SHARE_REMOVED, WIDEST_SHARE, Row, judge
from hyst_interp.config.study import ClaimsConfig
from hyst_interp.statistics import student_t

KEYS = [
    "arrival-gap",
    "same-sign",
    "sign-flip",
    "hold-25",
    "hold-100",
    "share-removed",
    "dominant-head",
    "r-resid-pre",
    "r-result",
]
SPREAD = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])
TINY = SPREAD / 20
HIGH = {site: np.full(5, 0.9996) + SPREAD / 100 for site in ("resid_pre", "result")}
LOW = {site: np.full(5, 0.9) + SPREAD for site in ("resid_pre", "result")}
MIXED = {site: np.array([0.9999, 0.9, 0.99, 0.9995, 0.95]) ** 0.02 for site in ("resid_pre", "result")}


def planted(gaps, at_25, at_100, peak, removed, same, correlation) -> Evidence:
    """Evidence of five seeds."""
    gap = 0.1 + SPREAD / 4
    return Evidence(
        seeds=(0, 1, 2, 3, 4),
        gap_at_hold={0: gaps, 25: at_25, 100: at_100},
        peak_gap=peak,
        attenuation_gap=gap,
        moved_by_heads=removed * gap,
        same_dominant_head=np.array(same),
        correlation=correlation,
    )


AGREES = planted(0.1 + SPREAD, -0.05 + SPREAD, TINY, 0.2, 0.868 + SPREAD, [True] * 5, HIGH)
DIFFERS = planted(-0.1 + SPREAD, 0.05 + SPREAD, 0.1 + SPREAD, 0.2, 0.3 + SPREAD, [True, False] * 2 + [False], LOW)
UNDETERMINED = planted(
    np.array([0.1, -0.2, 0.3, 0.1, -0.1]),
    np.array([0.1, -0.2, 0.3, 0.1, -0.3]),
    np.array([0.1, -0.2, 0.3, 0.1, -0.3]),
    0.2,
    np.array([0.1, 2.0, 0.9, -0.5, 1.8]),
    [True, True, True, True, False],
    MIXED,
)
COMPARABLE = ClaimsConfig()


def rows(found: Evidence, config: ClaimsConfig = COMPARABLE) -> dict[str, Row]:
    """Rows by key."""
    return {row.key: row for row in judge(found, config, "paper")}


def test_there_is_one_row_a_claim_in_a_fixed_order():
    assert [claim.key for claim in CLAIMS] == KEYS
    assert [row.key for row in judge(AGREES, COMPARABLE, "paper")] == KEYS


@pytest.mark.parametrize("key", KEYS)
def test_every_claim_can_agree_differ_and_be_undetermined(key):
    verdicts = [rows(found)[key].verdict for found in (AGREES, DIFFERS, UNDETERMINED)]
    assert verdicts == ["agrees", "differs", "undetermined"]


@pytest.mark.parametrize("found", [AGREES, DIFFERS, UNDETERMINED], ids=["agrees", "differs", "undetermined"])
def test_a_study_that_is_not_the_papers_is_not_comparable_in_any_row(found):
    judged = judge(found, ClaimsConfig(comparable=False), "smoke")
    assert [row.verdict for row in judged] == ["smoke: not comparable"] * len(KEYS)
    assert [row.estimate for row in judged] == [row.estimate for row in judge(found, COMPARABLE, "paper")]


def test_calibrated_rows_are_those_that_the_study_names():
    assert not any(row.calibrated for row in rows(AGREES).values())
    found = rows(AGREES, ClaimsConfig(calibrated=("sign-flip", "hold-25")))
    assert [key for key, row in found.items() if row.calibrated] == ["sign-flip", "hold-25"]


@pytest.mark.parametrize("found", [AGREES, DIFFERS, UNDETERMINED], ids=["agrees", "differs", "undetermined"])
@pytest.mark.parametrize("key", KEYS)
def test_json_has_every_key_and_never_nan(found, key):
    entry = rows(found)[key].to_dict()
    wanted = {"key", "quantity", "paper", "estimate", "low", "high", "level", "method", "unit", "n", "verdict"}
    assert wanted | {"calibrated"} <= set(entry)
    text = json.dumps(entry, allow_nan=False)
    assert json.loads(text) == entry
    assert (entry["low"] is None or entry["high"] is None or entry["estimate"] is None) == ("reason" in entry)
    assert (entry["n"], entry["calibrated"], entry["key"]) == (5, False, key)
    assert Row.from_dict(json.loads(text)) == rows(found)[key]


def test_a_p_value_has_no_interval_and_says_why():
    entry = rows(AGREES)["sign-flip"].to_dict()
    assert (entry["estimate"], entry["low"], entry["high"]) == (0.0625, None, None)
    assert "0.0625" in entry["reason"]


def test_estimates_are_those_of_the_seeds():
    found = rows(AGREES)
    assert found["arrival-gap"].estimate == student_t(AGREES.gap_at_hold[0], "logits")
    assert found["hold-25"].estimate == student_t(AGREES.gap_at_hold[25], "logits")
    assert found["hold-100"].estimate.level == pytest.approx(0.9)
    share = AGREES.moved_by_heads.mean() / AGREES.attenuation_gap.mean()
    assert found["share-removed"].estimate.estimate == pytest.approx(share)
    assert found["same-sign"].estimate.estimate == 1.0
    assert rows(DIFFERS)["dominant-head"].estimate.estimate == pytest.approx(0.4)
    z = np.arctanh(DIFFERS.correlation["result"]).mean()
    assert rows(DIFFERS)["r-result"].estimate.estimate == pytest.approx(math.tanh(z))


@pytest.mark.parametrize(
    ("values", "arrival", "same", "flip"),
    [
        ([0.1, 0.11, 0.12, 0.1, 0.09], "agrees", "agrees", "agrees"),
        ([-0.1, -0.11, -0.12, -0.1, -0.09], "differs", "differs", "differs"),
        ([0.5, 0.11, 0.12, 0.1, -0.01], "undetermined", "undetermined", "undetermined"),
        ([0.1, 0.11, 0.12, -0.1, -0.09], "undetermined", "undetermined", "undetermined"),
        ([0.1, 0.11, -0.12, -0.1, -0.09], "undetermined", "differs", "undetermined"),
        ([0.9, 0.01, 0.01, 0.01, 0.01], "undetermined", "agrees", "agrees"),
        ([0.0, 0.0, 0.0, 0.1, 0.1], "undetermined", "undetermined", "undetermined"),
        ([0.0, 0.0, 0.0, -0.1, -0.1], "undetermined", "differs", "undetermined"),
    ],
)
def test_three_readings_of_the_arrival_gap(values, arrival, same, flip):
    found = rows(replace(AGREES, gap_at_hold=AGREES.gap_at_hold | {0: np.array(values)}))
    assert [found[key].verdict for key in ("arrival-gap", "same-sign", "sign-flip")] == [arrival, same, flip]


def test_the_sign_at_hold_25_is_the_papers_negative_one():
    turned = {hold: -values for hold, values in AGREES.gap_at_hold.items()}
    found = rows(replace(AGREES, gap_at_hold=turned))
    assert [found[key].verdict for key in ("arrival-gap", "hold-25", "hold-100")] == ["differs", "differs", "agrees"]


def test_close_to_zero_is_judged_within_the_margin_of_the_peak():
    gaps = AGREES.gap_at_hold | {100: 0.012 + TINY / 10}
    large, small = (replace(AGREES, gap_at_hold=gaps, peak_gap=peak) for peak in (0.2, 0.05))
    assert rows(large)["hold-100"].verdict == "agrees"
    assert rows(small)["hold-100"].verdict == "differs"


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (PAPER_SHARE_REMOVED + SPREAD, "agrees"),
        (0.80 + SPREAD, "differs"),
        (1.5 + 10 * SPREAD, "differs"),
        (PAPER_SHARE_REMOVED + 5 * SPREAD, "agrees"),
        (PAPER_SHARE_REMOVED + 20 * SPREAD, "undetermined"),
    ],
)
def test_a_share_agrees_only_if_it_contains_the_papers_value_and_is_narrow_enough(share, verdict):
    row = rows(replace(AGREES, moved_by_heads=share * AGREES.attenuation_gap))["share-removed"]
    assert row.verdict == verdict
    if row.estimate.contains(PAPER_SHARE_REMOVED):
        assert (row.estimate.half_width <= WIDEST_SHARE) == (verdict == "agrees")


def test_a_share_of_a_gap_that_may_be_zero_is_undefined_with_its_reason():
    found = replace(AGREES, attenuation_gap=np.array([0.1, -0.2, 0.3, -0.1, 0.0]))
    row = rows(found)["share-removed"]
    assert row.estimate.estimate is None
    assert "denominator" in row.estimate.reason
    assert row.verdict == "undetermined"


def test_a_correlation_that_a_seed_lacks_is_undefined_with_its_reason():
    lacking = AGREES.correlation | {"result": np.array([1.0, 1.0, float("nan"), 1.0, 1.0])}
    found = rows(replace(AGREES, correlation=lacking))
    assert found["r-result"].verdict == "undetermined"
    assert found["r-result"].estimate.reason
    assert found["r-resid-pre"].verdict == "agrees"


def test_holds_that_the_study_lacks_are_undetermined_with_their_reason():
    found = rows(replace(AGREES, gap_at_hold={0: AGREES.gap_at_hold[0]}))
    for key, hold in (("hold-25", "25"), ("hold-100", "100")):
        assert found[key].verdict == "undetermined"
        assert hold in found[key].estimate.reason
    assert found["arrival-gap"].verdict == "agrees"


def test_histories_that_are_equal_bit_for_bit_claim_no_sign():
    """δ = 0: every gap is exactly 0, every head and every map the same."""
    zero = np.zeros(5)
    ones = {"resid_pre": np.ones(5), "result": np.ones(5)}
    equal = planted(zero, zero, zero, 0.0, zero, [True] * 5, ones)
    equal = replace(equal, attenuation_gap=zero)
    found = rows(equal)
    for key in ("arrival-gap", "same-sign", "sign-flip", "hold-25", "hold-100", "share-removed"):
        assert found[key].verdict == "undetermined", key
    assert found["share-removed"].estimate.estimate is None
    assert found["share-removed"].estimate.reason
    assert found["sign-flip"].estimate.estimate == 1.0
    assert [found[key].verdict for key in ("dominant-head", "r-resid-pre", "r-result")] == ["agrees"] * 3
    json.dumps([row.to_dict() for row in found.values()], allow_nan=False)


@pytest.mark.parametrize("seeds", [1, 2])
def test_few_seeds_give_rows_and_no_crash(seeds):
    few = Evidence(
        seeds=tuple(range(seeds)),
        gap_at_hold={hold: values[:seeds] for hold, values in AGREES.gap_at_hold.items()},
        peak_gap=0.2,
        attenuation_gap=AGREES.attenuation_gap[:seeds],
        moved_by_heads=AGREES.moved_by_heads[:seeds],
        same_dominant_head=AGREES.same_dominant_head[:seeds],
        correlation={site: values[:seeds] for site, values in AGREES.correlation.items()},
    )
    found = rows(few)
    json.dumps([row.to_dict() for row in found.values()], allow_nan=False)
    assert found["sign-flip"].verdict == "undetermined"
    if seeds == 1:
        for key in ("arrival-gap", "hold-25", "hold-100", "share-removed", "r-result"):
            assert found[key].verdict == "undetermined"
            assert found[key].estimate.reason
