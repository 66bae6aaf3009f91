"""Accounts of the gap: the exact sum of direct contributions, beside what replacing the same components moves.

A history's margin is an exact sum of terms (embedding, heads, MLPs, biases, each read through the final LayerNorm and
the unembedding), so the gap is a sum over terms too, and each term splits into what the component wrote (activation),
how it is read (readout), and the final LayerNorm's frozen scale. That is bookkeeping, not causation: a component's
*direct* effect leaves out all that later layers make of it, which a replacement includes. Where the two kinds of number
agree is said here by a rule, and the reason that they need not is said beside it.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from hyst_interp.analysis.agreement import compared
from hyst_interp.analysis.replicates import over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.statistics import Estimate

OFF_DISTRIBUTION = 0.9
"""Answer mass after a replacement below which the network counts as taken far from where it was trained."""


@dataclass(frozen=True)
class Account:
    """The gap as a sum over terms."""

    terms: xr.DataArray
    """What each term adds to the gap, dims (seed, term), in logits."""
    parts: xr.DataArray | None
    """The same by part, dims (seed, term, part)."""
    residual: float
    """Largest |sum over parts − term| of any seed, in logits: 0 but for rounding."""

    @property
    def total(self) -> Estimate:
        """The gap that the terms add up to, over seeds."""
        return over_seeds(self.terms.sum("term"))

    def term(self, name: str) -> Estimate:
        """One term, over seeds."""
        return over_seeds(self.terms.sel(term=name, drop=True))

    def part(self, name: str) -> Estimate:
        """One part, summed over terms, over seeds."""
        if self.parts is None:
            raise ValueError(f"the account has no parts, so none is called '{name}'")
        return over_seeds(self.parts.sel(part=name, drop=True).sum("term"))


@dataclass(frozen=True)
class Agreement:
    """One component: its direct term beside what replacing it moves."""

    component: str
    direct: Estimate
    moved: dict[str, Estimate]
    """Reference → logits moved."""
    verdict: dict[str, str]
    """Reference → `agree`, `same sign`, `opposite signs`, or `undetermined`."""
    mass: float | None
    """Answer mass after the replacement by own means, mean over seeds."""
    reason: str
    """Why the two kinds of number need not be equal here."""


def account(direct: xr.Dataset) -> Account:
    """The gap's account of `direct` (seed, order, branch, term, trial) and `split` (seed, order, term, part, trial)."""
    values = direct["direct"].astype("float64")
    terms = per_seed(values.sel(branch="below", drop=True) - values.sel(branch="above", drop=True))
    terms = terms.transpose("seed", "term")
    if "split" not in direct:
        return Account(terms, None, 0.0)
    parts = per_seed(direct["split"].astype("float64")).transpose("seed", "term", "part")
    return Account(terms, parts, float(np.abs(parts.sum("part") - terms).max()))


def margins(direct: xr.Dataset) -> xr.DataArray:
    """Each history's margin term by term, dims (seed, branch, term)."""
    found = per_seed(direct["direct"].astype("float64")).transpose("seed", "branch", "term")
    return found.sel(branch=list(BRANCHES))


def agreements(found: Account, rows: list[Row], references: tuple[str, ...]) -> list[Agreement]:
    """Components that stand both among the terms and among the replacements, in the account's order."""
    names = [str(name) for name in found.terms["term"].values]
    made = []
    for name in names:
        here = {row["reference"]: row for row in rows if row["components"] == name and row["reference"] in references}
        if not here:
            continue
        direct = found.term(name)
        moved = {str(reference): row["logits_moved"] for reference, row in here.items()}
        mass = here["own-mean"]["answer_mass"].estimate if "own-mean" in here else None
        verdict = {reference: compared(direct, one) for reference, one in moved.items()}
        made.append(Agreement(name, direct, moved, verdict, mass, _reason(name, names, mass)))
    return made


def _reason(name: str, names: list[str], mass: float | None) -> str:
    """What the direct term leaves out, by the component's place, and whether the replacement is off-distribution."""
    layer = int(name[1 : name.index("H") if "H" in name else name.index("M")])
    later = [
        one for one in names if one[:1] == "L" and one[1:2].isdigit() and int(one[1 : 1 + len(str(layer))]) > layer
    ]
    later_heads = [one for one in later if "H" in one]
    mlp_after = "H" in name and f"L{layer}MLP" in names
    if later_heads:
        words = f"direct only: layer {layer} also speaks to the layers after it"
    elif mlp_after or later:
        words = "direct only: the MLP after it reads it too"
    else:
        words = "nothing reads it but the readout: only the reference and the final scale can differ"
    if mass is not None and mass < OFF_DISTRIBUTION:
        words += "; its replacement leaves the distribution"
    return words
