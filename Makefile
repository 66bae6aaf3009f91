# Every target sets itself up: the first one to run creates .venv with the exact versions of constraints.txt.
PYTHON ?= python3
WORKERS ?=
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup test lint stubs smoke reproduce calibration bench clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

setup: .venv/installed  ## create .venv and nothing else

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11; run make PYTHON=/path/to/python3.11 or newer." >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev,figures]'
	@touch $@

test: setup  ## run the tests
	$(BIN)/python -m pytest -n auto

lint: setup  ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

stubs: setup  ## write the stub files that tell editors which names there are
	$(BIN)/python -m hyst_interp.stubs

smoke: setup  ## clear runs/smoke and run the smoke preset
	rm -rf runs/smoke
	$(BIN)/hyst-interp reproduce --preset smoke $(if $(WORKERS),--workers $(WORKERS))

reproduce: setup  ## run the paper's study, or go on with it
	$(BIN)/hyst-interp reproduce --resume $(if $(WORKERS),--workers $(WORKERS))

clean:  ## remove runs and caches, keep .venv
	rm -rf runs .pytest_cache .ruff_cache .hypothesis

calibration: setup  ## run the grid that the paper preset was chosen from (about 15 minutes)
	$(BIN)/python -m hyst_interp.study.calibration --out runs/calibration

bench: setup  ## time the fast paths against their peers (about 20 minutes) and put the table into README
	$(BIN)/python -W ignore -m benchmarks
