"""Progress: seeds, stages and the time left, on one line that fits a terminal, or as plain lines."""

import pytest

from hyst_interp.cli.progress import Progress, duration, line
from hyst_interp.study.ledger import Event
from hyst_interp.study.plan import Stage

STAGES = tuple(
    Stage("branch", f"{seed}-{order}-{branch}", "", (), seed, order, branch)
    for seed in (123456, 123457)
    for order in range(2)
    for branch in ("below", "above")
)


def event(kind: str, finished: int, seconds: float = 10.0, elapsed: float = 0.0) -> Event:
    """Stages end in their order; four belong to a seed."""
    return Event(kind, STAGES[finished - 1], finished, 8, seconds, elapsed, STAGES[finished:], finished // 4, 2)


class Terminal:
    """Standard error that is a terminal, or is none."""

    def __init__(self, live: bool) -> None:
        self.live, self.text = live, ""

    def isatty(self) -> bool:
        return self.live

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_a_line_says_seeds_stages_time_left_and_the_stage() -> None:
    assert line(event("done", 5), 190.0) == (
        "seeds 1/2, stages 5/8, 3 min 10 s left: branch seed 123457 order 0 from below in 10 s"
    )
    assert line(event("done", 8), 0.0) == "seeds 2/2, stages 8/8: branch seed 123457 order 1 from above in 10 s"
    assert line(event("failed", 1), None) == "seeds 0/2, stages 1/8: branch seed 123456 order 0 from below failed"


def test_elsewhere_every_stage_is_a_plain_line_and_kept_ones_cost_no_time(monkeypatch) -> None:
    """Four kept, two done in 10 s each on one worker: two left take 20 s."""
    monkeypatch.setattr("sys.stderr", terminal := Terminal(live=False))
    progress = Progress()
    for finished in range(1, 5):
        progress(event("kept", finished, 0.0))
    progress(event("done", 5, 10.0, 10.0))
    progress(event("done", 6, 10.0, 20.0))
    progress.close()
    lines = terminal.text.splitlines()
    assert [one.partition(":")[0] for one in lines] == [
        "seeds 1/2, stages 5/8, 30 s left",
        "seeds 1/2, stages 6/8, 20 s left",
    ]


@pytest.mark.parametrize("finished", [1, 5, 8])
def test_on_a_terminal_one_line_is_written_over_and_fits_eighty_columns(monkeypatch, finished: int) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal(live=True))
    progress = Progress()
    progress(event("done", finished, 36000.0, 36000.0))
    shown = terminal.text.removeprefix("\r\x1b[2K")
    assert "\n" not in terminal.text
    assert len(shown) <= 79
    assert shown.startswith(f"seeds {finished // 4}/2, stages {finished}/8")
    assert ("h 00 min left" in shown) == (finished < 8)
    progress.close()
    assert terminal.text.endswith("\r\x1b[2K")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599.6, "1 h 00 min"), (7500.0, "2 h 05 min")],
)
def test_durations_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text
