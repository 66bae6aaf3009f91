"""What chapters and notebooks read of a run about the likeness of its maps, made once."""

from hyst_interp.questions.patching.of_run import effects
from hyst_interp.questions.similarity.engagement import Engagement, engagement
from hyst_interp.questions.similarity.similarity_over_seeds import Likeness, likeness
from hyst_interp.report.run_results import RunResults


def comparisons(run: RunResults) -> dict[tuple[str, str], Likeness]:
    """(site, axis) → every comparison of its maps."""
    return {key: likeness(effect) for key, effect in run.once(effects).items()}


def engagements(run: RunResults) -> dict[tuple[str, str], Engagement]:
    """(site, axis) → similarity and gain."""
    return {key: engagement(alike, key[1]) for key, alike in run.once(comparisons).items()}
