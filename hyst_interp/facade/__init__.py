"""What notebooks hold: `Pair`, two checkpoints side by side, and `Run`, a finished study.

    pair = hi.pair("checkpoints/seed-0/order-0/below", "checkpoints/seed-0/order-0/above")
    run = hi.open_run("checkpoints")

Both get their methods from the questions; nothing is computed here. Numbers over the trials of one pair speak of these
two networks only, numbers of a run are over its seeds.
"""

from hyst_interp.facade.pair import Pair, pair
from hyst_interp.facade.run import Run, open_run

__all__ = ["Pair", "Run", "open_run", "pair"]
