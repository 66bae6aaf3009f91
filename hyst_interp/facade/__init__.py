"""Pair: two checkpoints side by side, for notebooks and the command line.

    pair = hi.pair("checkpoints/seed-0/order-0/below", "checkpoints/seed-0/order-0/above")

`histories` holds the two checkpoints, their networks, trials, and gap; `pairs` what is compared between them, `located`
and `routed` where the difference is; `kept` says for how long a number is kept; `maps` are the maps of one network,
`rows` what a table of estimates looks like, and `pictures` which arrays a figure takes. Every method is one call down;
nothing is computed here that the rooms above define. Numbers over the trials of one pair speak of these two networks
only.
"""

from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.facade.pairs import Pair, pair
from hyst_interp.questions.patching.measure import checkpoint_map, history_map

__all__ = ["Column", "Pair", "Rows", "checkpoint_map", "history_map", "pair"]
