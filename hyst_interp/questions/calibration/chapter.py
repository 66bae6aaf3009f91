"""The specification curve: in how many schedules of the calibration grid do the paper's signs hold?"""

from hyst_interp.analysis.summary import cell, summarise
from hyst_interp.config.study import PRESETS
from hyst_interp.questions.calibration.figure import specification_curve
from hyst_interp.questions.calibration.summary import SIGNS, counts, gaps, specification
from hyst_interp.report.blocks import Chapter, both
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import method
from hyst_interp.storage.results import read_results

GRID = PRESETS / "paper-calibration.nc"
"""The grid that the paper preset was chosen from."""


def chapter(source: RunResults) -> Chapter | None:
    """Left out where the study was not chosen from a grid."""
    if source.study.name != "paper" or not GRID.is_file():
        return None
    grid = read_results(GRID)
    table = summarise(gaps(grid), "logits").isel(hold=0, cell=0)
    tallies = []
    for hold, (leaning, certain, n) in counts(specification(grid)).items():
        where = "on arrival" if hold == 0 else f"after {hold} shared updates"
        tallies.append(f"{where} the gap is {SIGNS[hold]} in {leaning} of {n} schedules by its mean, in {certain} by")
    seeds = [str(seed) for seed in grid["seed"].values]
    drawn = both(
        "calibration",
        lambda stacked: specification_curve(grid, stacked),
        "Every schedule of the grid, sorted by its mean gap on arrival, with intervals over calibration seeds"
        f" ({method(cell(table))}); the squares below say which schedule it is. A filled point holds the paper’s"
        " sign by its whole interval, after 100 updates by two one-sided tests (so by the 90 % interval).",
    )
    words = {"tallies": [f"{tally} its whole interval" for tally in tallies], "seeds": seeds}
    return Chapter(
        "calibration", "The choice of the schedule, and what others would have found", "Calibration", {}, [drawn], words
    )
