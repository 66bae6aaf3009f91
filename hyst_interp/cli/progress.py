"""Progress of a study on standard error: one line that is written over on a terminal, plain lines elsewhere.

Both say how many seeds and stages are finished, which stage ended last, and how much time is left.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hyst_interp.study.execute import Event
    from hyst_interp.study.remaining import Took

WIDTH = 79


class Progress:
    """A listener for `study.execute`; stages that were kept from an earlier run are finished and cost no time."""

    def __init__(self) -> None:
        self.taken: list[Took] = []
        self.live = sys.stderr.isatty()

    def __call__(self, event: "Event") -> None:
        """Tell of one event."""
        from hyst_interp.study.remaining import Took, time_left

        if event.kind == "kept":
            return
        if event.kind == "done":
            self.taken.append(Took(event.stage.kind, event.seconds, event.elapsed))
        text = line(event, time_left(self.taken, event.left))
        if self.live:
            sys.stderr.write(f"\r\x1b[2K{text if len(text) <= WIDTH else text[: WIDTH - 1] + '…'}")
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line on a terminal."""
        if self.live:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def line(event: "Event", left: float | None) -> str:
    """`seeds 1/5, stages 12/47, 3 min 10 s left: branch seed 1 order 0 from below in 9 s`."""
    counts = f"seeds {event.seeds_finished}/{event.seeds}, stages {event.finished}/{event.total}"
    rest = f", {duration(left)} left" if left is not None and event.left else ""
    end = "failed" if event.kind == "failed" else f"in {duration(event.seconds)}"
    return f"{counts}{rest}: {event.stage.title} {end}"


def duration(seconds: float) -> str:
    """`42 s`, `3 min 10 s`, `1 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
