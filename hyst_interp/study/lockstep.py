"""Train the histories of a study together: all anchors that are not done, then all branches that are not done.

What is written is what the stages `anchor` and `branch` write, so the rest of the plan cannot tell the difference.
Members train in groups that fit into `BUDGET`; the branches of a pair are always in one group, where the exact null
holds bit for bit. Groups follow from the configuration and from what is left to do, never from the memory that happens
to be free. On a GPU margins along the way are measured there too.

A group's branches are renamed into place when the whole group is done, so a killed run repeats at most one group;
anchors are kept as they converge.
"""

import os
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TypeVar

import torch

from hyst_interp.config import StudyConfig
from hyst_interp.config.study import hold_positions, schedule_positions, setup_of
from hyst_interp.errors import UserError
from hyst_interp.history.convergence import train_anchors
from hyst_interp.history.ensemble import trajectory_together
from hyst_interp.history.schedule import Schedule, hold_schedule
from hyst_interp.history.state import TrainingState
from hyst_interp.model.query_forward import covers
from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.run import Run
from hyst_interp.study.ledger import Ledger, pair_of
from hyst_interp.study.plan import Stage
from hyst_interp.study.train_anchor import write_anchor
from hyst_interp.study.train_branch import BranchRecord, branch_record

BUDGET = 8 * 2**30
"""Bytes that one group may take on the device, as `bytes_of_member` estimates them."""


def refuse_device(study: StudyConfig) -> None:
    """UserError where `study` cannot be trained on the device that it names."""
    if study.device == "cpu":
        return
    if not covers(study.model):
        raise UserError(
            f"device '{study.device}' trains models with LayerNorm, an MLP, and the activation gelu, relu or silu, and"
            f" this one has normalization_type '{study.model.normalization_type}', d_mlp {study.model.d_mlp} and act_fn"
            f" '{study.model.act_fn}'; use device 'cpu'."
        )
    if not torch.cuda.is_available():
        raise UserError(
            f"device '{study.device}' is not available here: torch finds no GPU; use device 'cpu', or a machine with a"
            " GPU and a build of torch for it."
        )


def train_together(study: StudyConfig, ledger: Ledger, device: str) -> None:
    """Do every waiting stage `anchor` and `branch` of the ledger on `device`; UserError as those stages raise it."""
    if device != "cpu":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS may not repeat its bits
    fit = max(1, BUDGET // bytes_of_member(study))
    anchors = [stage for stage in ledger.waiting if stage.kind == "anchor"]
    for group in _groups(anchors, fit):
        _train_anchors(study, ledger, group, device)
    pairs: dict[tuple[int, int], list[Stage]] = {}
    for stage in ledger.waiting:
        if stage.kind == "branch":
            pairs.setdefault(pair_of(stage), []).append(stage)
    for group in _groups(list(pairs.values()), max(1, fit // 2)):
        _train_branches(study, ledger, [stage for pair in group for stage in pair], device)


def bytes_of_member(study: StudyConfig) -> int:
    """Memory of one member, estimated from above: its parameters six times, and what an update keeps for backward.

    Per layer and token some fourteen vectors of the residual stream's width, three of the MLP's, and three rows of
    scores a head; twice that for the gradients on their way back.
    """
    model, task = study.model, study.task
    width, tokens = model.d_model, study.training.batch_size * task.n_ctx
    layer = 14 * width + 3 * model.d_mlp + 3 * model.n_heads * task.n_ctx
    parameters = model.n_layers * (4 * width**2 + 2 * width * model.d_mlp) + (2 * task.d_vocab + task.n_ctx) * width
    return 4 * (6 * parameters + 2 * model.n_layers * tokens * layer)


T = TypeVar("T")


def _groups(items: Sequence[T], size: int) -> list[list[T]]:
    """As few groups of at most `size` as possible, of nearly equal size."""
    if not items:
        return []
    count = -(-len(items) // size)
    return [list(items[len(items) * i // count : len(items) * (i + 1) // count]) for i in range(count)]


class _Share:
    """Every stage's share of the time that its group takes."""

    def __init__(self, members: int, device: str) -> None:
        self.start, self.members, self.device = time.perf_counter(), members, device

    def found(self) -> dict:
        seconds = (time.perf_counter() - self.start) / self.members
        place = {"host": platform.node(), "worker": os.getpid(), "device": self.device}
        return {"seconds": seconds, **place, "together": self.members}


def _train_anchors(study: StudyConfig, ledger: Ledger, stages: list[Stage], device: str) -> None:
    for stage in stages:
        ledger.start(stage)
    share, left = _Share(len(stages), device), list(stages)
    try:
        for place, anchor in train_anchors([setup_of(study, stage.seed) for stage in stages], device):
            write_anchor(anchor, ledger.root, stages[place])
            left.remove(stages[place])
            ledger.finish(stages[place], share.found())
    except UserError as error:
        for stage in left:
            ledger.fail(stage, error)
        raise


def _train_branches(study: StudyConfig, ledger: Ledger, stages: list[Stage], device: str) -> None:
    for stage in stages:
        ledger.start(stage)
    share = _Share(len(stages), device)
    anchors = {seed: load(Run(ledger.root).anchor(seed)).state() for seed in {stage.seed for stage in stages}}
    with ExitStack() as open_records:
        records: list[BranchRecord] = [
            open_records.enter_context(branch_record(study, ledger.root, stage, anchors[stage.seed], device))
            for stage in stages
        ]
        starts, schedules = [record.start for record in records], [record.schedule for record in records]
        for states in _states(study, starts, schedules, device):
            for record, state in zip(records, states, strict=True):
                record.add(state)
    record_of_work = share.found()
    for stage in stages:
        ledger.finish(stage, record_of_work)


def _states(
    study: StudyConfig, starts: list[TrainingState], schedules: list[Schedule], device: str
) -> Iterator[list[TrainingState]]:
    """All branches at every measured position, through schedule and hold."""
    arrivals = starts
    for arrivals in trajectory_together(starts, schedules, schedule_positions(study), device):
        yield arrivals
    holds = [hold_schedule(study.holds[-1], study.p0)] * len(starts)
    yield from trajectory_together(arrivals, holds, hold_positions(study), device)
