"""The browser that turns a figure into a picture: where it is, without importing anything heavy.

Kaleido drives a Chrome or Chromium that is installed already; nothing is ever downloaded.
"""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Programs that are looked for, in this order."""
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)


def browser_path() -> str | None:
    """Path of an installed Chrome or Chromium, or None.

    The environment variable `BROWSER_PATH` decides alone where it is set (None where it names no program); then the
    names of `NAMES` on PATH, then the usual places of a Mac.
    """
    given = os.environ.get("BROWSER_PATH")
    if given:
        return shutil.which(given)
    paths = (shutil.which(name) for name in (*NAMES, *PLACES))
    return next((path for path in paths if path), None)
