# Everything runs in a virtual environment of its own, .venv, made when first needed.
# Needed beforehand: make and Python >= 3.11 (choose one with PYTHON=python3.12).

PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
# Workers share the cores; a thread pool in each would have them fight.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

# A worker that is done takes tests from another; until then the tests of a file stay together, with their fixtures.
SHARED := -n $(WORKERS) --dist worksteal

SPHINX = $(BIN)/python -m sphinx -W --keep-going -q -d docs/_build/doctrees

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-lowest lint docs docs-quick bench numbers numbers-quick paper-quick clean
.DELETE_ON_ERROR:

help: ## show this list
	@echo "usage: make <target>   [PYTHON=python3.12] [WORKERS=2]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 17

demo: $(VENV)/.installed-demo ## trace robust paths, prove them, choose among them, draw them into out/
	$(ONE_THREAD) $(BIN)/python examples/demo.py

test: $(VENV)/.installed-test ## run the tests, all but the long proofs
	$(ONE_THREAD) $(BIN)/python -m pytest $(SHARED) -m "not slow"

test-all: $(VENV)/.installed-test ## run every test, every example of README and docs, and test-lowest
	$(ONE_THREAD) $(BIN)/python -m pytest $(SHARED)
	$(ONE_THREAD) $(BIN)/python docs/snippets.py
	$(MAKE) test-lowest

# Compiled code of another Numba is kept apart.
test-lowest: $(LOWEST)/.installed ## run the tests at the lowest declared versions of the dependencies
	$(ONE_THREAD) NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/compiled \
	  $(LOWEST)/bin/python -m pytest $(SHARED) -m "not slow"

lint: $(VENV)/.installed-lint ## check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The examples of the gallery are run when they or the configuration have changed; the doctrees are shared.
docs: $(VENV)/.installed-docs ## build the documentation into docs/_build/html: warnings, links and doctests are errors
	$(ONE_THREAD) $(SPHINX) -b html docs docs/_build/html
	$(ONE_THREAD) $(SPHINX) -D plot_gallery=0 -b doctest docs docs/_build/doctest
	$(BIN)/python docs/check.py
	@echo "open docs/_build/html/index.html"

# Every page, link and public name, and the examples of README; nothing else is run.
docs-quick: $(VENV)/.installed-docs ## check the documentation without its gallery, and run the examples of README
	$(ONE_THREAD) $(SPHINX) -D plot_gallery=0 -b html docs docs/_build/html
	$(BIN)/python docs/check.py
	$(ONE_THREAD) $(BIN)/python docs/snippets.py README.md

bench: $(VENV)/.installed-bench ## measure against libsvm and CCCP on real data: make bench DATA=folder
	@test -n "$(DATA)" || { echo "usage: make bench DATA=folder (see benchmarks/README.md)" >&2; exit 1; }
	$(BIN)/python benchmarks/speed.py --data "$(DATA)" --quick

# Hours; stopped and started again, it goes on where it was. Tables are written into the pages at the end.
numbers: $(VENV)/.installed-bench ## run every benchmark in full and write the tables of all pages: make numbers DATA=folder
	@test -n "$(DATA)" || { echo "usage: make numbers DATA=folder (see benchmarks/README.md)" >&2; exit 1; }
	$(BIN)/python benchmarks/run_all.py --data "$(DATA)"

numbers-quick: $(VENV)/.installed-bench ## the same with few and small problems; results of full runs stay
	@test -n "$(DATA)" || { echo "usage: make numbers-quick DATA=folder (see benchmarks/README.md)" >&2; exit 1; }
	$(BIN)/python benchmarks/run_all.py --data "$(DATA)" --quick

paper-quick: $(VENV)/.installed-bench ## the paper's tables on three small sets: make paper-quick DATA=folder
	@test -n "$(DATA)" || { echo "usage: make paper-quick DATA=folder (see benchmarks/README.md)" >&2; exit 1; }
	$(BIN)/python benchmarks/paper.py --data "$(DATA)" --quick --jobs $(WORKERS) --out out/paper-quick

clean: ## remove the environments and everything built
	rm -rf $(VENV) $(LOWEST) build dist out docs/_build docs/auto_examples docs/pictures examples/out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp of an extra is renewed when the declared dependencies change, never otherwise.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

$(LOWEST)/.installed: pyproject.toml tests/lowest.py | $(BIN)/python
	$(BIN)/python -m venv --clear $(LOWEST)
	$(BIN)/python tests/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(LOWEST)/constraints.txt --editable ".[test]"
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "homotopy-qp needs Python 3.11 or newer; '$(PYTHON)' is" \
	    "$$($(PYTHON) --version 2>&1 || true). Try: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
