# Everything runs in $(VENV), made with python3's own venv module; nothing is installed elsewhere.
PYTHON ?= python3
VENV   ?= .venv
CC     ?= cc
BIN    := $(VENV)/bin

# a Python that has polyopt, and the libraries to compare with, for `make gpu`
GPU_PYTHON ?=

.PHONY: help demo demo-mpi train test test-all coverage nightly release-gate lint format docs bench friendly gpu venv clean need-venv need-cc

help:
	@echo "make demo    compile gemm and jacobi-2d at LARGE, check against NumPy, print times"
	@echo "make demo-mpi  jacobi-2d on two ranks of MPI: the exchange that is derived, the speed"
	@echo "make train   train the models in examples/, compare each step with NumPy, print times"
	@echo "make test    run the tests; of tests with very many cases, one in 31"
	@echo "make test-all  run all of them"
	@echo "make coverage  lines and branches that a twelfth of the tests runs, within 15 minutes"
	@echo "make nightly  every goal of docs/reliability.md at its nightly number; resumes"
	@echo "make release-gate  the same at the numbers of a release"
	@echo "make lint    ruff and mypy --strict"
	@echo "make docs    the pages of docs/ as HTML in build/docs/"
	@echo "make bench   the comparison harness over workloads/"
	@echo "make friendly  times a user waits, errors, ported programs, reports, beside their targets"
	@echo "make gpu     checks and measurements on a GPU, within ten minutes; without one, the rest"
	@echo "make venv    $(VENV) with the development tools"
	@echo "make clean   remove $(VENV) and caches of the tools"

demo: need-cc $(VENV)/.run
	$(BIN)/python bench/demo.py

demo-mpi: need-cc $(VENV)/.run
	@if ! command -v mpirun >/dev/null; then \
	  echo "mpirun is not installed (Debian: openmpi-bin): this is one rank, nothing is sent"; \
	  $(BIN)/python -m bench.demo_mpi; \
	else \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mpi]' && \
	  mpirun $(shell [ "$$(id -u)" = 0 ] && echo --allow-run-as-root) --oversubscribe -n 2 \
	    $(BIN)/python -m bench.demo_mpi; \
	fi

train: need-cc $(VENV)/.run
	$(BIN)/python -m examples

test: need-cc $(VENV)/.test
	$(BIN)/python -m pytest -n auto --share $(PYTEST_ARGS)

test-all: need-cc $(VENV)/.test
	$(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

coverage: need-cc $(VENV)/.dev
	$(BIN)/python -m tests.covered $(COVERAGE_ARGS)

nightly: need-cc $(VENV)/.test
	$(BIN)/python -m tests.gates --stage nightly $(GATES_ARGS)

release-gate: need-cc $(VENV)/.test
	$(BIN)/python -m tests.gates --stage release $(GATES_ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going --quiet -b html docs build/docs
	@echo "build/docs/index.html"

bench: need-cc $(VENV)/.run
	$(BIN)/python -m bench $(BENCH_ARGS)

friendly: need-cc $(VENV)/.test
	$(BIN)/python -m tests.friendly $(FRIENDLY_ARGS)

gpu: need-cc $(if $(GPU_PYTHON),,$(VENV)/.run)
	$(or $(GPU_PYTHON),$(BIN)/python) -m bench.gpu $(GPU_ARGS)

venv: $(VENV)/.dev

# `$(error)` says what is missing in one line, when the recipe runs
need-venv:
	@$(if $(shell $(PYTHON) -c 'import sys; print(sys.version_info >= (3, 10) or "")' 2>/dev/null),,\
	  $(error $(PYTHON) is not Python 3.10 or newer; install the package python3))
	@$(if $(shell $(PYTHON) -c 'import ensurepip, venv; print(1)' 2>/dev/null),,\
	  $(error the venv module is missing; install the package python3-venv))

need-cc:
	@$(if $(shell command -v $(CC) || command -v gcc || command -v clang),,\
	  $(error no C compiler found; install the package gcc))

$(BIN)/python: | need-venv
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.run

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.test $(VENV)/.run

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
