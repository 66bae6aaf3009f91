"""The sweep that repeats no work: a cell is run from its first change on; everything before it comes from a cache.

An edit changes nothing before its layer, nothing at earlier positions, and in the last layer only the query is read. So
one pass over the prompts is kept (`BaseRun`), and a cell starts at the first place where it puts in something else than
what is there: at that layer and step, from that position on. A trial for which it puts in what is there already is not
run at all; its result is the base run's, exactly. Cells and trials that start at the same place are run together, as
many at a time as the memory budget holds. The plain sweep takes the same cells and is the oracle (equal within 1e-5 a
trial); models that `covers_model` does not cover are handed over to it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from hyst_interp.interventions.edit import Edit
from hyst_interp.interventions.fit import check_cells
from hyst_interp.interventions.hooks import contribution
from hyst_interp.interventions.network import BaseRun, Network
from hyst_interp.interventions.observe import READOUT, Observer, Seen
from hyst_interp.interventions.resumed_forward import Group, ResumedForward, values_for
from hyst_interp.interventions.sweep import Cell, sweep
from hyst_interp.model.hooked import Hooked
from hyst_interp.model.plain_build import covers_model
from hyst_interp.readout import chunks
from hyst_interp.tasks.trials import Trials

BUDGET = 32 * 2**20
"""Bytes of activations of the widest step that are worked on at a time; small enough to stay near the processor."""
STEPS = ("resid_pre", "pattern", "result", "mlp_out")
"""Kinds of sites in the order in which a layer comes to them."""


def cached_sweep(
    model: Hooked,
    trials: Trials,
    cells: Sequence[Cell],
    corrupted: bool = False,
    budget: int = BUDGET,
    observe: Observer = READOUT,
) -> dict[str, np.ndarray]:
    """What `sweep` returns for the same cells, at a fraction of its cost; `budget` is working memory in bytes."""
    check_cells(model, cells, *trials.tokens.shape)
    source = trials.corrupted if corrupted else trials.tokens
    if source is None or not covers_model(model):
        return sweep(model, trials, cells, corrupted, observe)
    parts = []
    network = Network(model)
    for part in chunks(len(trials)):
        base = BaseRun(network, torch.from_numpy(source[part]))
        chunk_cells = [[edit.rows(part) for edit in cell] for cell in cells]
        parts.append(sweep_from(base, trials.take(part), chunk_cells, budget, observe))
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}


def sweep_from(
    base: BaseRun, trials: Trials, cells: Sequence[Cell], budget: int = BUDGET, observe: Observer = READOUT
) -> dict[str, np.ndarray]:
    """The sweep of one chunk whose base run is at hand; edits and trials are those of the chunk, and fit it (`fit`)."""
    before = Seen(base.logits, base.resid[-1][:, -1])
    undisturbed = observe.measure(before, before, trials)
    measured = {name: np.repeat(value[None], len(cells), 0) for name, value in undisturbed.items()}
    for group in _groups(base, cells):
        values = trials.take(group.trials)
        for members in _within(budget, group, base.network.cfg, base.resid[0].shape[1]):
            seen = ResumedForward(base, group, [cells[index] for index in members]).seen()
            for name, value in observe.measure(seen, before.rows(group.trials), values).items():
                measured[name][np.array(members)[:, None], group.trials[None]] = value
    return measured


def _groups(base: BaseRun, cells: Sequence[Cell]) -> Iterator[Group]:
    """Where every cell has to start, for which trials; cells and trials that nothing changes are left out."""
    groups: dict[tuple, Group] = {}
    for index, cell in enumerate(cells):
        for layer, step, start, trials in _starts(base, cell):
            key = (layer, step, start, trials.tobytes())
            groups.setdefault(key, Group(layer, step, start, trials, [])).cells.append(index)
    yield from groups.values()


def _starts(base: BaseRun, cell: Cell) -> Iterator[tuple[int, str, int, np.ndarray]]:
    edits = sorted((edit for edit in cell if edit.strength), key=_when)
    for index, edit in enumerate(edits):
        differs = _differs(base, edit)
        if not differs.any():
            continue
        step = "resid_pre" if edit.site.kind == "pattern" else edit.site.kind
        later = edits[index + 1 :]
        if later:
            everywhere = differs.any(0)
            for other in later:
                everywhere = everywhere | _where(base, other).any(0)
            yield edit.site.layer, step, int(everywhere.argmax()), np.arange(len(differs))
        else:
            first = np.where(differs.any(1), differs.argmax(1), -1)
            for start in np.unique(first[first >= 0]):
                yield edit.site.layer, step, int(start), np.flatnonzero(first == start)
        return


def _when(edit: Edit) -> tuple[int, int]:
    """When a forward pass comes to an edit."""
    return edit.site.layer, STEPS.index(edit.site.kind)


def _where(base: BaseRun, edit: Edit) -> np.ndarray:
    """[trial, pos]: where an edit can change what is read: its positions, in the last layer the query alone."""
    n_trials, n_pos = base.resid[0].shape[:2]
    where = np.ones((n_trials, n_pos), dtype=bool)
    if edit.positions is not None:
        where &= edit.positions if edit.positions.ndim == 2 else edit.positions[None]
    if edit.site.layer >= base.network.n_layers - (edit.site.kind != "resid_pre"):
        where[:, :-1] = False
    return where


def _differs(base: BaseRun, edit: Edit) -> np.ndarray:
    """[trial, pos]: where an edit puts in something else than what stands there in the base run."""
    where = _where(base, edit)
    first = int(where.any(0).argmax())
    act = _standing(base, edit, first)
    reference = values_for(edit, act, base.resid[0].shape[1])
    other = (act != reference).flatten(2).any(-1).cpu().numpy()
    where[:, first:] &= other
    return where


def _standing(base: BaseRun, edit: Edit, first: int) -> torch.Tensor:
    """[trial, pos from `first` on, …]: what an edit would replace, in the frame of its reference."""
    layer, head = edit.site.layer, edit.site.head or 0
    match edit.site.kind:
        case "resid_pre":
            return base.resid[layer][:, first:]
        case "mlp_out":
            return base.mlp_out[layer][:, first:]
        case "pattern":
            return base.pattern[layer][:, head, first:]
        case _:
            z = base.z[layer][:, first:, head]
            in_stream = edit.reference.frame == "stream"
            return contribution(z, base.network.model.blocks[layer].attn.W_O[head].detach()) if in_stream else z


def _within(budget: int, group: Group, cfg, n_pos: int) -> Iterator[list[int]]:
    """The group's cells in portions whose widest activations stay within the budget."""
    width = max(cfg.d_mlp or 0, 3 * cfg.n_heads * cfg.d_head, cfg.n_heads * n_pos)
    size = max(1, budget // (4 * width * len(group.trials) * (n_pos - group.start)))
    for at in range(0, len(group.cells), size):
        yield group.cells[at : at + size]
