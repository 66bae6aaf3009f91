"""Two histories, one exposure: the schedules, and the proof that both branches saw the same."""

from hyst_interp.history.schedule import Schedule, exposure_digest, paired_schedules
from hyst_interp.questions.gap.schedule_figure import mixture_steps
from hyst_interp.questions.gap.trajectory import mixtures
from hyst_interp.report.blocks import Chapter, both
from hyst_interp.report.run_results import RunResults


def chapter(source: RunResults) -> Chapter:
    """Always there: the schedule follows from the configuration, its hashes were recorded."""
    study, attrs = source.study, source.results["trajectory"].attrs
    schedules: dict[str, Schedule] = {
        str(b): schedule for b, schedule in paired_schedules(study.schedule, study.p0).items()
    }
    updates, mixture = len(schedules["below"]), mixtures(schedules, source.last_hold)
    batches = " on the same batches" if study.schedule.pairing == "paired" else ""
    drawn = both(
        "schedule",
        lambda stacked: mixture_steps(mixture, updates, stacked),
        f"The mixture p at every update. Both branches visit the same mixtures{batches}, in opposite order; the line"
        " marks the end of the schedule, after which both stay at p0.",
    )
    words = {
        "updates": updates,
        "hashes": {name: str(attrs[name]) for name in ("schedule_below", "schedule_above", "exposure")},
        "exposed_equally": {exposure_digest(schedule) for schedule in schedules.values()} == {str(attrs["exposure"])},
    }
    return Chapter("schedule", "Two histories, one exposure", "Schedule", {}, [drawn], words)


def arrival(source: RunResults) -> int:
    """Position at which the schedule ends."""
    return len(paired_schedules(source.study.schedule, source.study.p0)["below"])
