"""How much answer mass is too little: the one bound for every place that says so.

The answer mass is P(contextual) + P(fixed). Trained networks keep it near 1; after a replacement that leaves less than
the bound, a network is far from where it was trained, and what the replacement moves is a statement about that place.
Imports nothing: commands say it before they measure.
"""

LOW_MASS = 0.9
"""Answer mass below which a network counts as taken far from where it was trained."""
