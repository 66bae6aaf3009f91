"""What the repository ships is what it says: hashes, sizes, and every row of the table made again by plain loops."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from scipy import stats

from hyst_interp.analysis.pair_data import evaluation_trials, mean_inputs
from hyst_interp.history.advance import advance
from hyst_interp.history.schedule import paired_schedules
from hyst_interp.history.state import fork
from hyst_interp.model.build import HookedTransformer
from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.manifest import MANIFEST, read_manifest
from hyst_interp.storage.run import Run
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials

ROOT = Path(__file__).parent.parent / "checkpoints"
STUDY = Run(ROOT).study()
CLAIMS = json.loads((ROOT / "results" / "claims.json").read_text("utf-8"))
SHIPPED = sorted(path.parent for path in ROOT.rglob(MANIFEST))
WITH_WEIGHTS = STUDY.seeds[:5]
ROLES = ("queried key", "its value", "other keys", "other values", "query")


def results(name: str) -> xr.Dataset:
    return xr.load_dataset(ROOT / "results" / f"{name}.nc", engine="h5netcdf", decode_times=False)


def margins(model: HookedTransformer, trials: Trials, hooks: list | None = None) -> np.ndarray:
    """Margins by TransformerLens's own forward, in chunks of a size that the package does not use."""
    found = []
    for start in range(0, len(trials), 300):
        part = trials.take(slice(start, start + 300))
        with torch.no_grad():
            logits = model.run_with_hooks(torch.from_numpy(part.tokens), fwd_hooks=hooks or [])[:, -1].double()
        rows = torch.arange(len(part))
        found.append((logits[rows, part.contextual] - logits[rows, part.fixed]).numpy())
    return np.concatenate(found)


def test_sizes_and_layout() -> None:
    size = sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file())
    assert size <= 20_000_000
    names = {str(path.relative_to(ROOT)) for path in SHIPPED}
    for seed in WITH_WEIGHTS:
        for wanted in ("anchor", "order-0/below/hold-000", "order-0/above/hold-000"):
            assert f"seed-{seed}/{wanted}" in names
    first = STUDY.seeds[0]
    for wanted in ("order-0/below/hold-025", "order-0/above/hold-100", "order-1/below/hold-000"):
        assert f"seed-{first}/{wanted}" in names


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_checkpoint_verifies_and_names_its_parents(path: Path) -> None:
    checkpoint = load(path)
    place = checkpoint.provenance
    if place.branch is not None:
        _, anchor = read_manifest(ROOT / f"seed-{checkpoint.manifest.setup.seed}" / "anchor")
        assert place.anchor is not None
        assert place.anchor.weights == anchor.weights
        assert place.anchor.state == anchor.state


def test_no_two_checkpoints_are_copies() -> None:
    assert len({read_manifest(path)[1].weights for path in SHIPPED}) == len(SHIPPED)


def test_one_branch_made_again_from_its_anchor() -> None:
    seed = STUDY.seeds[0]
    start = fork(load(ROOT / f"seed-{seed}" / "anchor").state(), "below", 0)
    state = advance(start, paired_schedules(STUDY.schedule, STUDY.p0)["below"])
    shipped = load(ROOT / f"seed-{seed}" / "order-0" / "below")
    if state.weights_hash() != shipped.manifest.weights:  # another kind of CPU
        for name, value in shipped.weights.items():
            torch.testing.assert_close(state.weights[name], value, atol=2e-3, rtol=0)


@pytest.mark.parametrize("seed", WITH_WEIGHTS)
def test_order_0_of_every_shipped_seed_by_plain_loops(seed: int) -> None:
    setup = load(ROOT / f"seed-{seed}" / "anchor").manifest.setup
    models = {b: load(ROOT / f"seed-{seed}" / "order-0" / b).model() for b in ("below", "above")}
    trials = evaluation_trials(task_of(setup), STUDY.behaviour.headline_trials)
    shipped = results("behaviour")["margin"].sel(seed=seed, order=0, hold=0)
    found = {b: margins(model, trials) for b, model in models.items()}
    for branch, values in found.items():
        np.testing.assert_allclose(values, shipped.sel(branch=branch).values, atol=2e-4)
    gap = sum(a - b for a, b in zip(found["below"], found["above"], strict=True)) / len(trials)
    assert gap == pytest.approx(
        float(shipped.sel(branch="below").mean() - shipped.sel(branch="above").mean()), abs=2e-5
    )
    _heads_by_own_means(seed, setup, models, trials.take(slice(0, STUDY.attenuation.trials)))
    _maps(seed, setup, models, trials.take(slice(0, 48)))


@pytest.mark.parametrize("hold", STUDY.holds[1:])
def test_later_holds_of_the_first_seed_by_plain_loops(hold: int) -> None:
    seed = STUDY.seeds[0]
    shipped = results("behaviour")["margin"].sel(seed=seed, order=0, hold=hold)
    for branch in ("below", "above"):
        checkpoint = load(ROOT / f"seed-{seed}" / "order-0" / branch / f"hold-{hold:03d}")
        trials = evaluation_trials(checkpoint.task, STUDY.behaviour.headline_trials)
        values = margins(checkpoint.model(), trials)
        np.testing.assert_allclose(values, shipped.sel(branch=branch).values, atol=2e-4)


def _heads_by_own_means(seed: int, setup, models: dict, trials: Trials) -> None:
    """Own means of all heads at the query, by TransformerLens's cache and hooks."""
    inputs = mean_inputs(task_of(setup), STUDY.attenuation.means_trials)
    shipped = results("attenuation-heads").isel(row=0).sel(seed=seed, order=0)
    for branch, model in models.items():
        names = [f"blocks.{layer}.attn.hook_z" for layer in range(model.cfg.n_layers)]
        sums = dict.fromkeys(names, 0.0)
        for start in range(0, len(inputs), 700):
            tokens = torch.from_numpy(inputs.tokens[start : start + 700])
            with torch.no_grad():
                _, cache = model.run_with_cache(tokens, names_filter=names)
            for name in names:
                sums[name] = sums[name] + cache[name][:, -1].double().sum(0)

        def put(act: torch.Tensor, hook, sums: dict = sums) -> torch.Tensor:
            new = act.clone()
            new[:, -1] = (sums[hook.name] / len(inputs)).float()
            return new

        after = margins(model, trials, [(name, put) for name in names])
        np.testing.assert_allclose(after, shipped["margin_after"].sel(branch=branch).values, atol=1e-3)


def _maps(seed: int, setup, models: dict, trials: Trials) -> None:
    """Role maps of the residual stream and of heads for the first trials, one run a cell."""
    task = task_of(setup)
    for twin, site, branch in itertools.product(("value", "rename"), ("resid_pre", "result"), ("below", "above")):
        twins, model = task.twin(trials, twin), models[branch]
        clean, corrupted = torch.from_numpy(twins.tokens), torch.from_numpy(twins.corrupted)
        with torch.no_grad():
            _, cache = model.run_with_cache(clean)
        first = (twins.tokens != twins.corrupted).argmax(1)
        after = np.arange(twins.tokens.shape[1])[None] >= first[:, None]
        base = _read(model, corrupted, twins, [])
        shipped = results(f"patching-{site}")["effect"].sel(seed=seed, order=0, branch=branch, twin=twin)
        for layer, (index, role) in itertools.product(range(model.cfg.n_layers), enumerate(ROLES)):
            mask = torch.from_numpy((twins.roles == index) & after)
            for head in range(model.cfg.n_heads) if site == "result" else (None,):
                name = f"blocks.{layer}.hook_resid_pre" if head is None else f"blocks.{layer}.attn.hook_z"

                def put(act: torch.Tensor, hook, mask=mask, head=head, name=name, cache=cache) -> torch.Tensor:
                    new = act.clone()
                    if head is None:
                        new[mask] = cache[name][mask]
                    else:
                        new[:, :, head][mask] = cache[name][:, :, head][mask]
                    return new

                effect = _read(model, corrupted, twins, [(name, put)]) - base
                cell = shipped.sel(layer=layer, role=role)
                cell = cell if head is None else cell.sel(head=head)
                np.testing.assert_allclose(effect, cell.values[: len(trials)], atol=5e-4)


def _read(model: HookedTransformer, tokens: torch.Tensor, trials: Trials, hooks: list) -> np.ndarray:
    with torch.no_grad():
        logits = model.run_with_hooks(tokens, fwd_hooks=hooks)[:, -1].double()
    rows = torch.arange(len(trials))
    return (logits[rows, trials.contextual] - logits[rows, trials.fixed]).numpy()


# Every row of the table, from the shipped per-trial results, in plain numpy and scipy.


def _rows(block: dict) -> dict[str, dict]:
    return {row["key"]: row for row in block["rows"]}


BLOCKS = {
    "all seeds": (list(STUDY.seeds), _rows(CLAIMS)),
    **({"apart": (CLAIMS["apart"]["seeds"], _rows(CLAIMS["apart"]))} if "apart" in CLAIMS else {}),
}


def gaps(seeds: list[int], hold: int) -> np.ndarray:
    """Per seed: the mean over orders of the mean over trials of below − above."""
    margin = results("behaviour")["margin"]
    values = []
    for seed in seeds:
        orders = []
        for order in range(STUDY.orders):
            one = margin.sel(seed=seed, order=order, hold=hold)
            orders.append(np.mean(one.sel(branch="below").values.astype(float) - one.sel(branch="above").values))
        values.append(np.mean(orders))
    return np.array(values)


def interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(len(values))
    reach = stats.t.ppf((1 + level) / 2, len(values) - 1) * error
    return mean, mean - reach, mean + reach


def check(row: dict, wanted: tuple[float, float, float], tolerance: float = 1e-6) -> None:
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx(wanted, abs=tolerance)


@pytest.mark.parametrize("block", BLOCKS)
def test_rows_of_the_gap(block: str) -> None:
    seeds, rows = BLOCKS[block]
    values = gaps(seeds, 0)
    check(rows["arrival-gap"], interval(values))
    check(rows["hold-25"], interval(gaps(seeds, 25)))
    check(rows["hold-100"], interval(gaps(seeds, 100), 0.9))
    positive, n = int((values > 0).sum()), len(values)
    exact = stats.binomtest(positive, n).proportion_ci(0.95, method="exact")
    check(rows["same-sign"], (positive / n, exact.low, exact.high))
    flips = [abs(np.dot(signs, values)) for signs in itertools.product((1, -1), repeat=n)]
    p = np.mean([flip >= abs(values.sum()) * (1 - 1e-12) for flip in flips])
    assert rows["sign-flip"]["estimate"] == pytest.approx(p)


@pytest.mark.parametrize("block", BLOCKS)
def test_row_of_the_share_removed(block: str) -> None:
    seeds, rows = BLOCKS[block]
    found, moved, gap = results("attenuation-heads").isel(row=0), [], []
    for seed in seeds:
        one = found.sel(seed=seed).astype("float64")
        before = (one["margin"].sel(branch="below") - one["margin"].sel(branch="above")).values
        after = (one["margin_after"].sel(branch="below") - one["margin_after"].sel(branch="above")).values
        gap.append(before.mean())
        moved.append((before - after).mean())
    a, b, n = np.array(moved), np.array(gap), len(seeds)
    row = rows["share-removed"]
    _, low, high = interval(b)
    if low <= 0 <= high:
        assert row["estimate"] is None
        assert row["reason"]
        return
    t2 = stats.t.ppf(0.975, n - 1) ** 2
    saa, sbb, sab = a.var(ddof=1) / n, b.var(ddof=1) / n, np.cov(a, b)[0, 1] / n
    roots = np.roots([b.mean() ** 2 - t2 * sbb, -2 * (a.mean() * b.mean() - t2 * sab), a.mean() ** 2 - t2 * saa])
    check(row, (a.mean() / b.mean(), min(roots), max(roots)), 1e-5)


def free(site: str, twin: str, layer: int, role: str) -> bool:
    """Whether a cell of a two-layer map is free, written out from the definition."""
    if twin == "value" and role == "queried key":
        return False
    return layer == 1 if site == "resid_pre" else layer == 0 or role == "query"


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("site", "key"), [("resid_pre", "r-resid-pre"), ("result", "r-result")])
def test_rows_of_the_maps(block: str, site: str, key: str) -> None:
    seeds, rows = BLOCKS[block]
    effect = results(f"patching-{site}")["effect"]
    z = []
    for seed in seeds:
        vectors = []
        for branch in ("below", "above"):
            cells = []
            for twin, layer, role in itertools.product(("value", "rename"), (0, 1), ROLES):
                if not free(site, twin, layer, role):
                    continue
                one = effect.sel(seed=seed, branch=branch, twin=twin, layer=layer, role=role)
                for head in range(4) if site == "result" else (None,):
                    cell = one if head is None else one.sel(head=head)
                    cells.append(np.mean(cell.values.astype(float)))
            vectors.append(cells)
        z.append(np.arctanh(np.corrcoef(*vectors)[0, 1]))
    check(rows[key], tuple(np.tanh(value) for value in interval(np.array(z))), 1e-6)


@pytest.mark.parametrize("block", BLOCKS)
def test_row_of_the_dominant_head(block: str) -> None:
    seeds, rows = BLOCKS[block]
    effect = results("patching-result")["effect"]
    same = 0
    for seed in seeds:
        picks = []
        for branch in ("below", "above"):
            strength = {}
            for layer, head in itertools.product((0, 1), range(4)):
                total = 0.0
                for twin in ("value", "rename"):
                    one = effect.sel(seed=seed, branch=branch, twin=twin, layer=layer, head=head)
                    roles = [role for role in ROLES if free("result", twin, layer, role)]
                    total += abs(sum(float(np.mean(one.sel(role=role).values.astype(float))) for role in roles))
                strength[layer, head] = total
            picks.append(max(strength, key=strength.__getitem__))
        same += picks[0] == picks[1]
    assert rows["dominant-head"]["estimate"] == pytest.approx(same / len(seeds))
