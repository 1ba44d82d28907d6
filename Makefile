# `make test` needs Python 3.11 or newer with pip, and nothing else: it builds its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.docs-installed
# Bytecode is written when a module is first imported: compiling all of it takes a minute. Where the
# environment forbids it, every process would compile torch anew, which takes 3 seconds.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# Browsers, servers and other processes are waited for: one worker more than there are cores.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

DOCS := $(BIN)/sphinx-build -q -W --keep-going -b html

TRY := build/try-wheel

.PHONY: help setup demo docs dist try-wheel check ruff mypy imports test test-all test-machines fast-tests all-tests bench figures clean

help:
	@echo "make setup     create .venv and install regard with its development tools"
	@echo "make demo      set-up, then 'regard demo': train a translator in minutes and look inside"
	@echo "make test      set-up, ruff, mypy --strict, import-linter and the test suite"
	@echo "make test-all  the same, with the slow tests"
	@echo "make test-machines  the tests as other machines would run them, a row each; over half an hour"
	@echo "make docs      set-up with Sphinx, then the documentation: docs/_build/html/index.html"
	@echo "make dist      set-up, then a wheel and an sdist in dist/, checked by twine"
	@echo "make try-wheel the wheel in a virtual environment of its own: 'regard demo --quick'"
	@echo "make bench     set-up with the peers, then 'python -m benchmarks attention'"
	@echo "make figures   the figures of both READMEs, from the results kept in docs/benchmarks"

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) hatchling editables torch
	$(INSTALL) --no-build-isolation -e '.[dev]'
	touch $@

$(DOCS_STAMP): $(STAMP)
	$(INSTALL) --no-build-isolation -e '.[docs]'
	touch $@

demo: setup
	$(BIN)/regard demo

docs: $(DOCS_STAMP)
	$(DOCS) -d docs/_build/doctrees/en docs docs/_build/html
	$(DOCS) -d docs/_build/doctrees/zh docs/zh docs/_build/html/zh
	@echo "docs/_build/html/index.html"

# The wheel is built from the sdist, without network.
dist: setup
	$(INSTALL) build twine
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*

try-wheel: dist
	rm -rf $(TRY)
	$(PYTHON) -m venv $(TRY)
	$(TRY)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd $(TRY) && bin/regard --version && bin/regard demo --quick

check: ruff mypy imports

ruff: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

mypy: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

# Two jobs at once: mypy keeps one core busy for a minute.
test: setup
	@$(MAKE) --no-print-directory -j2 check fast-tests

test-all: setup
	@$(MAKE) --no-print-directory -j2 check all-tests

fast-tests: setup
	$(PYTEST) -m "not slow"

all-tests: setup
	$(PYTEST)

test-machines: setup
	$(BIN)/python tests/machines.py

bench: setup
	$(INSTALL) eflomal # by itself: its build needs Cython, which no other part does
	$(INSTALL) --no-build-isolation -e '.[bench]'
	$(BIN)/python -m benchmarks attention

figures: setup
	$(BIN)/python -m benchmarks.figures

clean:
	rm -rf $(VENV) dist build regard-demo docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
