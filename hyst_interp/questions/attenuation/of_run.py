"""What chapters and notebooks read of a run about replacements, made once."""

from dataclasses import dataclass

from hyst_interp.analysis.rows import Row
from hyst_interp.questions.attenuation.summary import replacement_gap, replacement_rows
from hyst_interp.report.run_results import RunResults
from hyst_interp.statistics import Estimate


@dataclass(frozen=True)
class Replaced:
    """What replacing components did at one hold."""

    gap: Estimate
    rows: list[Row]


def replaced(run: RunResults) -> dict[int, Replaced]:
    """Hold → replacements."""
    return {
        hold: Replaced(replacement_gap(found), replacement_rows(found))
        for hold in run.study.holds
        if (found := run.results.get(f"attenuation-hold-{hold:03d}")) is not None
    }
