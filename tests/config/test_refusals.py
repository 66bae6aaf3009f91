"""What cannot be chosen is refused in one sentence that names the field, its value, and the remedy."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hyst_interp.config import ModelConfig, ScheduleConfig, StudyConfig, TaskConfig, TrainingConfig
from hyst_interp.config.frozen import parse
from hyst_interp.config.schedule import P_MAX, P_MIN
from hyst_interp.config.study import load_study, parse_seeds
from hyst_interp.errors import UserError


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (TaskConfig, {"n_keys": 16, "n_values": 15}, ("n_values is 15", "n_keys 16", "n_values >= 16")),
        (TaskConfig, {"n_keys": 8, "n_pairs": 8}, ("n_keys is 8", "n_pairs 8", "n_keys > 8")),
        (TaskConfig, {"n_keys": 4, "n_values": 4, "n_pairs": 3}, ("n_values is 4", "n_pairs 3", "n_values >= 5")),
        (TaskConfig, {"n_keys": 1}, ("n_keys", "1", "greater")),
        (TaskConfig, {"n_pairs": "many"}, ("n_pairs", "'many'")),
        (TaskConfig, {"n_key": 4}, ("unknown field 'n_key'", "spelling")),
        (TaskConfig, {"name": "copying"}, ("name", "copying", "associative-recall")),
        (TaskConfig, [1], ("the configuration", "[1]")),
        (ModelConfig, {"d_model": 65}, ("d_model is 65", "n_heads 4", "multiple of 4")),
        (ModelConfig, {"act_fn": "tanh"}, ("act_fn", "tanh", "gelu")),
        (ModelConfig, {"init_std": 0.0}, ("init_std", "0.0")),
        (TrainingConfig, {"optimizer": {"lr": -1}}, ("optimizer.lr", "-1")),
        (TrainingConfig, {"optimizer": {"name": "lion"}}, ("optimizer.name", "lion")),
        (TrainingConfig, {"optimizer": {"lr": math.nan}}, ("optimizer.lr", "nan")),
        (TrainingConfig, {"convergence": {"tolerance": 1}}, ("unknown field 'convergence.tolerance'",)),
        (ScheduleConfig, {"shape": "triangle", "dwell": 10}, ("dwell is 10", "triangle", "dwell = 1")),
        (ScheduleConfig, {"shape": "triangle"}, ("dwell is 10", "dwell = 1")),
        (ScheduleConfig, {"delta": -0.1}, ("delta", "-0.1")),
        (ScheduleConfig, {"delta": math.inf}, ("delta", "inf")),
        (StudyConfig, {}, ("field 'name' is missing",)),
        (StudyConfig, {"name": "../x"}, ("name", "../x")),
        (StudyConfig, {"name": "a", "seed": 1}, ("unknown field 'seed'",)),
        (StudyConfig, {"name": "a", "colour": 1, "shade": 2}, ("unknown field 'colour'", "and 1 more")),
        (StudyConfig, {"name": "a", "schedule": {"delta": 0.6}}, ("delta is 0.6", "p0 = 0.5", "delta < 0.5")),
        (StudyConfig, {"name": "a", "schedule": {"delta": 0.49}}, ("delta is 0.49", "0.01 and 0.99", "smaller")),
        (StudyConfig, {"name": "a", "p0": 0.99}, ("p0 is 0.99", "[0.02, 0.98]")),
        (StudyConfig, {"name": "a", "p0": 0.0}, ("p0 is 0.0", "[0.02, 0.98]")),
        (StudyConfig, {"name": "a", "p0": 0.3}, ("delta is 0.4", "p0 = 0.3", "delta < 0.3")),
        (StudyConfig, {"name": "a", "seeds": []}, ("seeds are []",)),
        (StudyConfig, {"name": "a", "seeds": [0, 0]}, ("seeds are [0, 0]", "distinct")),
        (StudyConfig, {"name": "a", "seeds": [-1]}, ("seeds are [-1]",)),
        (StudyConfig, {"name": "a", "holds": [25, 100]}, ("holds are [25, 100]", "start at 0")),
        (StudyConfig, {"name": "a", "holds": [0, 9, 9]}, ("holds are [0, 9, 9]",)),
        (StudyConfig, {"name": "a", "orders": 1}, ("patching.orders is 2", "orders 1", "at most 1")),
        (StudyConfig, {"name": "a", "behaviour": {"hold_positions": [0]}}, ("hold_positions are [0]",)),
        (StudyConfig, {"name": "a", "attenuation": {"holds": {"mean": ["all"]}}}, ("reference 'mean'", "own-mean")),
        (StudyConfig, {"name": "a", "attenuation": {"holds": {"donor": ["L9H0"]}}}, ("'L9H0'", "2 layers")),
        (StudyConfig, {"name": "a", "attenuation": {"arrival": {"donor": ["all"]}}}, ("own-mean of 'heads'", "add it")),
        (StudyConfig, {"name": "a", "patching": {"sites": ["result"]}}, ("patching.sites are ['result']", "resid_pre")),
        (StudyConfig, {"name": "a", "model": {"d_mlp": 0}}, ("'mlps'", "no MLP")),
        (
            StudyConfig,
            {"name": "a", "orders": 1, "patching": {"orders": 1}, "localization": {"orders": 2}},
            ("localization.orders is 2 with orders 1", "use at most 1"),
        ),
        (
            StudyConfig,
            {"name": "a", "localization": {"updates": [1, 5]}},
            ("localization.updates are [1, 5]", "start at 0"),
        ),
        (
            StudyConfig,
            {"name": "a", "schedule": {"excursion": "log-odds", "delta": 1e6}},
            ("delta is 1000000.0", "smaller delta"),
        ),
    ],
)
def test_refusals(kind, data, words, one_sentence):
    with pytest.raises(UserError) as error:
        parse(kind, data, "the file")
    one_sentence(error.value, "the file: ", *words)


@given(st.integers(2, 30), st.integers(2, 30), st.integers(1, 15))
def test_sizes_are_refused_exactly_where_the_design_says(keys, values, pairs):
    impossible = values < keys or keys <= pairs or values < pairs + 2
    try:
        TaskConfig(n_keys=keys, n_values=values, n_pairs=pairs)
    except ValidationError:
        assert impossible
    else:
        assert not impossible


@given(st.floats(-0.5, 1.5), st.floats(0, 1), st.integers(1, 6))
def test_mixtures_are_refused_exactly_where_they_leave_the_range(p0, delta, levels):
    """In probability: p0 ± δ within [0.02, 0.98] up to rounding."""
    reach = min(p0 - delta - P_MIN, P_MAX - p0 - delta)
    if abs(reach) < 1e-9:
        return
    try:
        ScheduleConfig(delta=delta, levels=levels).refuse_impossible(p0)
    except ValueError:
        assert reach < 0
    else:
        assert reach > 0


@given(st.floats(P_MIN, P_MAX), st.floats(0, 8))
def test_log_odds_excursions_are_symmetric_in_log_odds(p0, offset):
    schedule = ScheduleConfig(excursion="log-odds")
    low, high = schedule.mixture(p0, -offset), schedule.mixture(p0, offset)
    assert 0 < low <= p0 + 1e-12
    assert p0 - 1e-12 <= high < 1
    middle = math.log(p0 / (1 - p0))
    for mixture, sign in ((low, -1), (high, 1)):
        assert math.isclose(math.log(mixture / (1 - mixture)) - middle, sign * offset, abs_tol=1e-8)


@given(st.floats(P_MIN, P_MAX), st.floats(0, 0.5))
def test_probability_excursions_are_symmetric_in_p(p0, offset):
    schedule = ScheduleConfig()
    assert schedule.mixture(p0, offset) == p0 + offset
    assert schedule.mixture(p0, -offset) == p0 - offset


@given(st.floats(P_MIN, P_MAX), st.sampled_from(["probability", "log-odds"]))
def test_no_offset_is_p0_bit_for_bit(p0, excursion):
    schedule = ScheduleConfig(excursion=excursion)
    assert schedule.mixture(p0, 0.0) == schedule.mixture(p0, -0.0) == p0


@given(st.floats(P_MIN, P_MAX), st.floats(0, 5))
def test_log_odds_may_reach_exactly_the_allowed_mixtures(p0, delta):
    schedule = ScheduleConfig(excursion="log-odds", delta=delta)
    bound = math.log(P_MAX / (1 - P_MAX))
    reach = bound - abs(math.log(p0 / (1 - p0))) - delta
    if abs(reach) < 1e-6:
        return
    try:
        schedule.refuse_impossible(p0)
    except ValueError:
        assert reach < 0
    else:
        assert reach > 0


def test_configurations_are_frozen():
    config = TaskConfig()
    with pytest.raises(ValidationError, match="frozen"):
        config.n_keys = 3  # type: ignore[misc]


def test_replace_validates_again(one_sentence):
    study = StudyConfig(name="a")
    assert study.replace(p0=0.45).p0 == 0.45
    assert study.replace(p0=0.45).replace(p0=0.5) == study
    with pytest.raises(UserError) as error:
        study.replace(p0=0.3)
    one_sentence(error.value, "delta is 0.4")


@given(st.sets(st.integers(0, 60), min_size=1, max_size=12))
def test_seeds_read_back(seeds):
    """Any set of seeds, written as runs `a-b` and single numbers."""
    ordered, parts = sorted(seeds), []
    for seed in ordered:
        if parts and parts[-1][1] == seed - 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    text = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
    assert parse_seeds(text) == tuple(ordered)
    assert parse_seeds(", ".join(map(str, reversed(ordered)))) == tuple(reversed(ordered))


@pytest.mark.parametrize("text", ["", "a", "0-", "-1", "4-0", "0,,1", "0-2-4", "1.5", "0-2,2", "3,3", "²", "0-²"])
def test_seeds_that_cannot_be_read_are_refused(text, one_sentence):
    with pytest.raises(UserError) as error:
        parse_seeds(text)
    one_sentence(error.value, f"'{text}'")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name = ", ("cannot be read as TOML",)),
        (b"\xff\xfe", ("cannot be read as TOML",)),
        (b"name = 'a'\np0 = 2.0\n", ("p0 is 2.0",)),
        (b"name = 'a'\n[tasks]\nn_keys = 3\n", ("unknown field 'tasks'",)),
        (b"[schedule]\ndelta = 'high'\n", ("field", "more")),
    ],
)
def test_a_wrong_study_file_is_refused(tmp_path, content, words, one_sentence):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        load_study(str(path))
    one_sentence(error.value, "mine.toml", *words)


def test_a_missing_study_is_refused(tmp_path, one_sentence):
    for name, word in ((str(tmp_path / "none.toml"), "check the path"), ("papper", "preset 'papper' does not exist")):
        with pytest.raises(UserError) as error:
            load_study(name)
        one_sentence(error.value, word)
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(UserError) as error:
        load_study(str(tmp_path / "folder.toml"))
    one_sentence(error.value, "cannot be read")


def test_a_study_file_reads_as_what_it_says(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nseeds = [3]\np0 = 0.4\n[schedule]\ndelta = 0.1\n')
    study = load_study(str(path))
    assert study == StudyConfig(name="mine", seeds=(3,), p0=0.4, schedule=ScheduleConfig(delta=0.1))
