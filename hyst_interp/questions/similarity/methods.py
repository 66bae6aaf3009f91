"""How alike two histories' maps are, which head dominates, and how strongly the circuit is engaged.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from collections.abc import Sequence

from hyst_interp.analysis.histories import Histories
from hyst_interp.questions.patching.methods import role_maps
from hyst_interp.questions.similarity import measure as topology
from hyst_interp.streams import Stream


def similarity(
    pair: Histories, site: str = "resid_pre", twins: Sequence[str] = ("value", "rename"), trials: int = 512
) -> topology.Similarity:
    """How alike the two histories' maps of a site are, over roles, the twins' maps joined."""
    below, above = role_maps(pair, site, twins, trials)
    return topology.similarity([topology.mean_map(m) for m in below], [topology.mean_map(m) for m in above])


def dominant_head(
    pair: Histories, twins: Sequence[str] = ("value", "rename"), trials: int = 512
) -> topology.DominantHead:
    """The head that matters most in each history, with its stability under resampling of trials."""
    below, above = role_maps(pair, "result", twins, trials)
    return topology.dominant_head(below, above, Stream("resampling", pair.below.manifest.setup.seed))


def gain(
    pair: Histories, site: str = "resid_pre", twins: Sequence[str] = ("value", "rename"), trials: int = 512
) -> dict[str, dict[str, float | None]]:
    """Engagement, a twin at a time: slope of the raw map from above on that from below, and the ratio of wholes."""
    below, above = role_maps(pair, site, twins, trials)
    return {a.attrs["twin"]: topology.gain(a, b) for a, b in zip(below, above, strict=True)}
