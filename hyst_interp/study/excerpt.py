"""A small part of a run, in the run's own layout: what the repository ships as `checkpoints/`.

Weights of the first seeds' anchors and branches on arrival (data order 0); for the first seed also optimizer states,
later holds, and a second data order as sibling; and the results behind the table: per trial where a row is computed
from trials, averaged over trials elsewhere. `python -m hyst_interp.study.excerpt RUN OUT`.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import TypeVar

import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.references import OWN_MEAN
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.manifest import MANIFEST, OPTIMIZER, WEIGHTS, Manifest, file_hash, read_manifest, to_text
from hyst_interp.storage.results import read_results, write_results
from hyst_interp.storage.run import STUDY, Run
from hyst_interp.study.plan import BRANCHES

Frame = TypeVar("Frame", xr.Dataset, xr.DataArray)
SEEDS = 5
PER_TRIAL = ("patching-resid_pre", "patching-result")
"""Results whose rows need every trial, shipped as they are."""
SKIPPED = ("patching-mlp_out", "transplant", "weights", "information", "ladder", "mechanism", "circuits", "attribution")
"""Results that are left out. Those of localization are checked trial by trial, and every trial would be too much."""
SKIPPED_KINDS = ("shapley-", "crossing-", "routes")


def excerpt(run: Run, out: Path) -> None:
    """Write the excerpt of a finished run; whole or not at all. UserError where `out` has something else in it."""
    study = run.study()
    strange = [path.name for path in out.iterdir() if path.name != "README.md"] if out.is_dir() else []
    if strange and not (out / STUDY).is_file():
        raise UserError(f"'{out}' is not empty and holds no run; name another directory.")
    readme = (out / "README.md").read_bytes() if (out / "README.md").is_file() else None
    with new_directory(out) as part:
        small, first = Run(part), study.seeds[0]
        shutil.copy(run.root / STUDY, part / STUDY)
        for seed in study.seeds[:SEEDS]:
            _checkpoint(run.anchor(seed), small.anchor(seed), optimizer=seed == first)
            for branch in BRANCHES:
                for order in range(min(2, study.orders) if seed == first else 1):
                    for hold in study.holds if seed == first and order == 0 else study.holds[:1]:
                        keeps = seed == first and order == 0
                        _checkpoint(run.hold(seed, order, branch, hold), small.hold(seed, order, branch, hold), keeps)
        _results(run, small)
        if readme is not None:
            (part / "README.md").write_bytes(readme)


def _checkpoint(source: Path, target: Path, optimizer: bool) -> None:
    """Copy a checkpoint, with or without its optimizer; the manifest lists the files that are there."""
    _, manifest = read_manifest(source)
    target.mkdir(parents=True)
    names = [WEIGHTS, *([OPTIMIZER] if optimizer and OPTIMIZER in manifest.files else [])]
    for name in names:
        shutil.copy(source / name, target / name)
    kept = Manifest.model_validate(
        manifest.model_dump() | {"files": {name: file_hash(target / name) for name in names}}
    )
    (target / MANIFEST).write_text(to_text(kept), "utf-8")


def _results(run: Run, small: Run) -> None:
    """Results behind the table, and averages of the rest for the figures."""
    for path in sorted(run.results.glob("*.nc")):
        if path.stem in SKIPPED or path.stem.startswith(SKIPPED_KINDS):
            continue
        result = read_results(path)
        if path.stem == "behaviour":
            result = result.assign({name: _mean(result[name]) for name in result.data_vars if name != "margin"})
        elif path.stem == "attenuation-hold-000":
            heads = ((result["components"] == "heads") & (result["reference"] == OWN_MEAN.name)).values
            write_results(_mean(result), small.results / path.name)
            write_results(result[["margin", "margin_after"]].isel(row=heads), small.results / "attenuation-heads.nc")
            continue
        elif path.stem not in PER_TRIAL:
            result = _mean(result)
        write_results(result, small.results / path.name)
    content = json.loads((run.results / "claims.json").read_text("utf-8"))
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    (small.results / "claims.json").write_text(text, "utf-8")


def _mean(found: Frame) -> Frame:
    """The mean over trials where there are any; labels of single trials go with them."""
    if "trial" not in found.dims:
        return found
    labels = [name for name, coordinate in found.coords.items() if "trial" in coordinate.dims]
    return found.drop_vars(labels).astype("float64").mean("trial", keep_attrs=True).astype("float32")


def main() -> None:
    """`python -m hyst_interp.study.excerpt runs/paper checkpoints`."""
    parser = argparse.ArgumentParser(description="Write a small part of a finished run, in the run's own layout.")
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    words = parser.parse_args()
    excerpt(Run(words.run), words.out)


if __name__ == "__main__":
    main()
