# Made by hyst_interp.stubs from the lists of names; do not edit.
from pathlib import Path

from hyst_interp.analysis.histories import Histories

class Pair(Histories):
    from hyst_interp.explorer.explorer_data import explore_pair as exploration
    from hyst_interp.questions.gap.methods import gap as gap
    from hyst_interp.questions.gap.methods import margins as margins
    from hyst_interp.questions.gap.methods import mean_margins as mean_margins
    from hyst_interp.questions.gap.methods import by_stratum as by_stratum
    from hyst_interp.questions.gap.methods import by_key as by_key
    from hyst_interp.questions.attenuation.methods import attenuation as attenuation
    from hyst_interp.questions.attenuation.methods import replaced as replaced
    from hyst_interp.questions.patching.methods import patching as patching
    from hyst_interp.questions.patching.methods import role_maps as role_maps
    from hyst_interp.questions.similarity.methods import similarity as similarity
    from hyst_interp.questions.similarity.methods import dominant_head as dominant_head
    from hyst_interp.questions.similarity.methods import gain as gain
    from hyst_interp.questions.transplant.methods import transplant as transplant
    from hyst_interp.questions.weights.methods import weights as weights
    from hyst_interp.questions.shapley.methods import shapley as shapley
    from hyst_interp.questions.information.methods import information as information
    from hyst_interp.questions.crossing.methods import crossing as crossing
    from hyst_interp.questions.crossing.methods import layer_swap as layer_swap
    from hyst_interp.questions.edges.methods import edge_effects as edge_effects
    from hyst_interp.questions.edges.methods import edges as edges
    from hyst_interp.questions.edges.methods import gap_edges as gap_edges
    from hyst_interp.questions.edges.methods import circuit as circuit
    from hyst_interp.questions.edges.methods import edge_attribution as edge_attribution

def pair(
    below: str | Path,
    above: str | Path,
    trials: int = 2048,
    seed: int | None = None,
    anchor: str | Path | None = None,
) -> Pair: ...
