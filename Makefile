# make help | demo | test | test-all | docs | picture | browser | arm | octave | mutants | bench | lint | types | notebooks | clean
#
# Everything is installed into .venv from pyproject.toml with the versions of constraints.txt; nothing else is touched.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
endif
BIN := .venv/bin
WORKERS ?= 2
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

# One stamp for each set of dependencies, and one for .venv itself that names its folder: a moved checkout is set up again.
MADE := .venv/made-$(shell pwd | cksum | cut -d' ' -f1)
SOURCES := pyproject.toml constraints.txt

.PHONY: help demo test test-all docs picture browser arm octave mutants bench lint types notebooks clean setup setup-dev
.PHONY: setup-bench setup-docs

help:
	@echo "make demo       set up, then design and run the example: bode plot, controllers, closed loops, pictures in out/"
	@echo "make test       set up, then lint, type check and tests"
	@echo "make test-all   the same with the slow tests"
	@echo "make docs       the site with its gallery: out/docs/index.html, offline"
	@echo "make picture    draw the picture of the README again"
	@echo "make browser    site and reports in a real browser (apt packages chromium, npm)"
	@echo "make arm        exported laws on Cortex-M4 and M7 in QEMU (part of test-all; apt packages: see the message)"
	@echo "make octave     exports and files read by Octave (part of test-all; apt packages: see the message)"
	@echo "make mutants    whether the tests notice wrong physics and control: 60 seeded faults, a few minutes"
	@echo "make bench      measure speed side by side with other packages; table and JSON"
	@echo "make lint       ruff"
	@echo "make types      mypy --strict"
	@echo "make notebooks  execute all notebooks in place"
	@echo "make clean      remove .venv, out/ and caches"

demo: setup
	@$(BIN)/flexctl demo

test: lint types
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

test-all: lint types
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m ""

docs: setup-docs
	@$(BIN)/python docs/build.py

picture: setup
	@$(BIN)/python docs/picture.py

# apt install chromium npm; Playwright, which drives it, comes with the development tools
browser: setup-dev docs out/axe/node_modules
	@command -v chromium >/dev/null || { echo "chromium is missing: sudo apt install --no-install-recommends chromium" >&2; exit 1; }
	@$(BIN)/python -m pytest -m "" -rA --no-header -q tests/browser

out/axe/node_modules:
	@command -v npm >/dev/null || { echo "npm is missing: sudo apt install --no-install-recommends npm" >&2; exit 1; }
	@mkdir -p out/axe
	@npm install --prefix out/axe --no-save --no-audit --no-fund --silent axe-core@4.14.1

# apt install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm
arm: setup-dev
	@for tool in arm-none-eabi-gcc qemu-system-arm; do command -v $$tool >/dev/null || { echo "$$tool is missing:" \
	  "sudo apt install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm" >&2; exit 1; }; done
	@$(BIN)/python -m pytest -m "" -rA --no-header -q tests/export/test_arm.py

# apt install --no-install-recommends octave octave-control
octave: setup-dev
	@command -v octave-cli >/dev/null && octave-cli --no-init-file --eval "pkg load control" >/dev/null 2>&1 || { \
	  echo "Octave or its control package is missing: sudo apt install --no-install-recommends octave octave-control" >&2; \
	  exit 1; }
	@$(BIN)/python -m pytest -m "" -rA --no-header -q -k octave tests/export/test_matlab.py tests/io

mutants: setup-dev
	@$(BIN)/python tests/mutants.py -j $(WORKERS)

bench: setup-bench
	@mkdir -p out
	@$(BIN)/python tests/benchmarks/run.py -o out/bench.json

lint: setup-dev
	@$(BIN)/ruff check flexctl controllers tests docs

types: setup-dev
	@$(BIN)/mypy

notebooks: setup-dev
	@$(BIN)/python tests/execute_notebooks.py

clean:
	rm -rf .venv out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup: .venv/ready-run
setup-dev: .venv/ready-dev
setup-bench: .venv/ready-bench
setup-docs: .venv/ready-docs

$(MADE):
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "flexctl needs Python 3.11 or newer; $${PYTHON:-python3} is $$($${PYTHON:-python3} --version 2>&1 || true)." >&2; \
	  echo "Debian, Ubuntu: sudo apt install python3 python3-venv. Or name one: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make a virtual environment: its venv or ensurepip module is missing." >&2; \
	  echo "Debian, Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@echo "making .venv with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv --clear .venv
	@touch $@

# One line that changes while pip works.
define progress
/^(Collecting|Processing) / { sub(".*/", "", $$2); printf "  %3d %-60.60s\r", ++n, $$2; fflush() } \
/^Installing collected/ { printf "  %3d packages, unpacking them ...%40s\r", n, ""; fflush() } \
END { printf "%70s\r", "" }
endef

# install(extras, what): the build backend first, pinned, then flexctl itself as an editable install.
define install
	@echo "installing pinned dependencies ($(2)); the first time takes a minute or two ..."
	@{ $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt hatchling && \
	   $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.$(1)'; } 2>&1 \
	  | tee .venv/install.log | awk '$(progress)' \
	  || { echo "the installation failed; the last lines of .venv/install.log:" >&2; tail -n 15 .venv/install.log >&2; exit 1; }
	@touch $@
endef

.venv/ready-run: $(SOURCES) $(MADE)
	$(call install,,numpy scipy numba control slycot matplotlib)

.venv/ready-dev: $(SOURCES) $(MADE)
	$(call install,[dev],run time and tests)
	@touch .venv/ready-run

.venv/ready-docs: $(SOURCES) $(MADE)
	$(call install,[docs],run time and documentation)
	@touch .venv/ready-run

.venv/ready-bench: $(SOURCES) $(MADE)
	$(call install,[dev$(comma)bench],run time$(comma) tests and benchmarks)
	@touch .venv/ready-run .venv/ready-dev

comma := ,
