"""Accounts of the gap: the exact sum of direct contributions, beside what replacing the same components moves.

A history's margin is an exact sum of terms (embedding, heads, MLPs, biases, each read through the final LayerNorm and
the unembedding), so the gap is a sum over terms too, and each term splits into what the component wrote (activation),
how it is read (readout), and the final LayerNorm's frozen scale. That is bookkeeping, not causation: a component's
*direct* effect leaves out all that later layers make of it, which a replacement includes. Where the two kinds of number
agree is said here by a rule, and the reason that they need not is said beside it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hyst_interp.analysis.agreement import compared
from hyst_interp.analysis.answer_mass import LOW_MASS
from hyst_interp.analysis.exchange import below_minus_above
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import cell, join, records, replicates, summarise
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.references import OWN_MEAN
from hyst_interp.statistics import Estimate
from hyst_interp.verdicts import Verdict

SUM = "sum"
"""Name of the last term, and of all parts together."""


@dataclass(frozen=True)
class Account:
    """The gap as a sum over terms."""

    table: xr.Dataset
    """What each term adds to the gap, in logits, dims (part, term); the last term, and the first part, are `sum`."""
    residual: float
    """Largest |sum over parts − term| of any seed, in logits: 0 but for rounding."""

    @property
    def parts(self) -> list[str]:
        """Names of the parts; none where the account has no split."""
        return [str(part) for part in self.table["part"].values if part != SUM]

    @property
    def total(self) -> Estimate:
        """The gap that the terms add up to."""
        return self.term(SUM)

    def term(self, name: str, part: str = SUM) -> Estimate:
        """One term, or one part of it."""
        return cell(self.table, term=name, part=part)

    def part(self, name: str) -> Estimate:
        """One part, summed over terms."""
        if name not in self.parts:
            raise ValueError(f"the account's parts are {', '.join(self.parts) or 'none'}, and none is '{name}'")
        return self.term(SUM, name)


@dataclass(frozen=True)
class Agreement:
    """One component: its direct term beside what replacing it moves."""

    component: str
    direct: Estimate
    moved: dict[str, Estimate]
    """Reference → logits moved."""
    verdict: dict[str, Verdict]
    """Reference → `agree`, `same sign`, `opposite signs`, or `undetermined`."""
    mass: float | None
    """Answer mass after the replacement by own means, mean over seeds."""
    reason: str
    """Why the two kinds of number need not be equal here."""


def account(direct: xr.Dataset) -> Account:
    """The gap's account of `direct` (seed, order, branch, term, trial) and `split` (seed, order, term, part, trial)."""
    terms = replicates(below_minus_above(direct["direct"])).transpose("seed", "term")
    tables, residual = {SUM: summarise(_with_sum(terms), "logits")}, 0.0
    if "split" in direct:
        parts = replicates(direct["split"]).transpose("seed", "term", "part")
        residual = float(np.abs(parts.sum("part") - terms).max())
        tables |= {
            str(part): summarise(_with_sum(parts.sel(part=part, drop=True)), "logits") for part in parts["part"].values
        }
    return Account(join(tables, "part"), residual)


def _with_sum(terms: xr.DataArray) -> xr.DataArray:
    return xr.concat([terms, terms.sum("term").expand_dims(term=[SUM])], "term")


def margins(direct: xr.Dataset) -> xr.DataArray:
    """Each history's margin term by term, dims (seed, branch, term)."""
    margin = replicates(direct["direct"]).transpose("seed", "branch", "term")
    return margin.sel(branch=list(BRANCHES))


def agreements(direct: Account, rows: list[Row], references: tuple[str, ...]) -> list[Agreement]:
    """Components that stand both among the terms and among the replacements, in the account's order."""
    terms: dict[str, Any] = {row["term"]: row["estimate"] for row in records(direct.table.sel(part=SUM, drop=True))}
    made = []
    for name, term in terms.items():
        by_reference = {
            row["reference"]: row for row in rows if row["components"] == name and row["reference"] in references
        }
        if not by_reference:
            continue
        moved = {str(reference): row["logits_moved"] for reference, row in by_reference.items()}
        mass = by_reference[OWN_MEAN.name]["answer_mass"].estimate if OWN_MEAN.name in by_reference else None
        verdict = {reference: compared(term, estimate) for reference, estimate in moved.items()}
        made.append(Agreement(name, term, moved, verdict, mass, _reason(name, list(terms), mass)))
    return made


def _reason(name: str, names: list[str], mass: float | None) -> str:
    """What the direct term leaves out, by the component's place, and whether the replacement is off-distribution."""
    layer = int(name[1 : name.index("H") if "H" in name else name.index("M")])
    later = [
        component
        for component in names
        if component[:1] == "L" and component[1:2].isdigit() and int(component[1 : 1 + len(str(layer))]) > layer
    ]
    later_heads = [component for component in later if "H" in component]
    mlp_after = "H" in name and f"L{layer}MLP" in names
    if later_heads:
        words = f"direct only: layer {layer} also speaks to the layers after it"
    elif mlp_after or later:
        words = "direct only: the MLP after it reads it too"
    else:
        words = "nothing reads it but the readout: only the reference and the final scale can differ"
    if mass is not None and mass < LOW_MASS:
        words += "; its replacement leaves the distribution"
    return words
