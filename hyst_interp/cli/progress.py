"""Progress of a study on standard error: one line with the time left on a terminal, plain lines elsewhere."""

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hyst_interp.study.execute import Event


class Progress:
    """A listener for `study.execute`; stages that were kept from an earlier run cost no time and do not count."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.kept = 0
        self.live = sys.stderr.isatty()

    def __call__(self, event: "Event") -> None:
        """Tell of one event."""
        if event.kind == "kept":
            self.kept += 1
            return
        made = event.finished - self.kept
        left = ""
        if made > 0 and event.finished < event.total:
            rest = (time.monotonic() - self.start) / made * (event.total - event.finished)
            left = f", about {duration(rest)} left"
        line = f"{event.finished}/{event.total} {event.stage.title}: {event.kind} in {duration(event.seconds)}{left}"
        if event.kind == "failed":
            line = f"{event.finished}/{event.total} {event.stage.title}: failed"
        if self.live:
            sys.stderr.write(f"\r\x1b[2K{line[:79]}")
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line on a terminal."""
        if self.live:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def duration(seconds: float) -> str:
    """`42 s`, `3 min 10 s`, `1 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
