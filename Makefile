# `make test` needs Python 3.11 or newer with pip, and nothing else: it builds its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: help setup demo check test test-all bench clean

help:
	@echo "make setup     create .venv and install regard with its development tools"
	@echo "make demo      set-up, then 'regard demo': train a translator in minutes and look inside"
	@echo "make test      set-up, ruff, mypy --strict, import-linter and the test suite"
	@echo "make test-all  the same, with the slow tests"
	@echo "make bench     set-up with the peers, then 'regard bench attention'"

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	touch $@

demo: setup
	$(BIN)/regard demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(PYTEST) -m "not slow"

test-all: check
	$(PYTEST)

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[bench]'
	$(BIN)/regard bench attention

clean:
	rm -rf $(VENV) regard-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
