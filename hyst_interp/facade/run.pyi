# Made by hyst_interp.stubs from the lists of names; do not edit.
from pathlib import Path

from hyst_interp.report.run_results import RunResults

class Run(RunResults):
    from hyst_interp.questions.gap.of_run import curve as curve
    from hyst_interp.questions.gap.of_run import largest as largest
    from hyst_interp.questions.gap.of_run import relaxation as relaxation
    from hyst_interp.questions.gap.of_run import named_phases as named_phases
    from hyst_interp.questions.gap.of_run import gaps as gaps
    from hyst_interp.questions.attenuation.of_run import replaced as replaced
    from hyst_interp.questions.patching.of_run import effects as effects
    from hyst_interp.questions.similarity.of_run import comparisons as comparisons
    from hyst_interp.questions.similarity.of_run import engagements as engagements
    from hyst_interp.questions.transplant.of_run import transplanted as transplanted
    from hyst_interp.questions.weights.of_run import moves as moves
    from hyst_interp.questions.shapley.of_run import games as games
    from hyst_interp.questions.shapley.of_run import places as places
    from hyst_interp.questions.information.of_run import information as information
    from hyst_interp.questions.edges.of_run import edge_kinds as edge_kinds

def open_run(path: str | Path) -> Run: ...
