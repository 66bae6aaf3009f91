"""`python -m hyst_interp` is `hyst-interp`."""

import sys

from hyst_interp.cli import main

if __name__ == "__main__":  # worker processes import this file under another name
    sys.exit(main())
