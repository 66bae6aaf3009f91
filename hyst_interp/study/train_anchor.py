"""Train one seed's anchor until it has converged, and keep what the criterion saw on the way."""

from pathlib import Path

import numpy as np
import xarray as xr

from hyst_interp.config import StudyConfig
from hyst_interp.config.study import setup_of
from hyst_interp.history.convergence import Anchor, train_anchor
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.checkpoint import save
from hyst_interp.storage.manifest import Provenance
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.study.plan import Stage


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `seed-N/anchor`: the checkpoint with its optimizer, and `convergence.nc`."""
    write_anchor(train_anchor(setup_of(study, stage.seed)), root, stage)


def write_anchor(anchor: Anchor, root: Path, stage: Stage) -> None:
    """Write the stage's directory from a trained anchor."""
    with new_directory(root / stage.directory) as part:
        save(anchor.state, part, Provenance(step=anchor.state.step, formed_at=anchor.formed_at))
        write_results(_evaluations(anchor), part / "convergence.nc")
        write_stage(part, stage.kind, stage.digest)


def _evaluations(anchor: Anchor) -> xr.Dataset:
    seen = anchor.evaluations
    columns = {name: ("evaluation", np.array([getattr(e, name) for e in seen])) for name in ("margin", "p_contextual")}
    columns["answer_mass"] = ("evaluation", np.array([e.answer_mass for e in seen]))
    attrs = {"formed_at": anchor.formed_at, "step": anchor.state.step, "age": anchor.age}
    return xr.Dataset(columns, {"step": ("evaluation", np.array([e.step for e in seen]))}, attrs)
