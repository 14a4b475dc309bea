# The commands of kinemorph. Needs python3 (3.11 or newer, with venv), make and git; the rest comes from pip.

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help env demo test quick lint warm lanes numba bench performance tables docs gallery pictures bill lock clean

help:  ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-11s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---------------------------------------------------------------------------------------------- environment

env: warm  ## .venv with everything that requirements.lock names, and this package, editable; kernels compiled
	@echo "== $(VENV) is ready"

$(READY): $(VENV)/.locked pyproject.toml
	@echo "== installing kinemorph itself (editable)"
	@$(BIN)/pip install --quiet --no-deps --no-index --no-build-isolation --editable .
	@touch $@

$(VENV)/.locked: requirements.lock
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no '$(PYTHON)' here. Name your Python: make env PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "kinemorph needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1)." \
	    "Name another one: make env PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
	  echo "'$(PYTHON)' has no venv module (on Debian and Ubuntu: apt install python3-venv)."; exit 1; }
	@echo "== making $(VENV) with $$($(PYTHON) -V), $$(grep -c '==' $<) locked packages (a few minutes at first)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -qq --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	@touch $@

lock: $(VENV)/.locked  ## resolve pyproject.toml into requirements.lock (newest: make lock UPGRADE=--upgrade)
	$(BIN)/uv pip compile pyproject.toml --output-file requirements.lock \
	  --extra view --extra decompose --extra evolve --extra ray --extra io --extra gym --extra peers --extra dev \
	  --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	  --no-annotate --no-emit-index-url --no-strip-extras --custom-compile-command "make lock" --quiet $(UPGRADE)

# -------------------------------------------------------------------------------------------------- working

BENCHMARKS := tuples dynamics batch collision ground broad_phase bounce structure forest files mocap world simbench \
  start viewer crash compile

DEMOS := chain_bridge mechanisms walk high_bar swing_breaks human car dominos

demo: told $(READY)  ## see it move: figures, pictures, replays, and out/index.html of all of them
	@echo; echo "== kinemorph demo"; $(BIN)/kinemorph demo
	-@$(BIN)/kinemorph warm
	@set -e; for name in $(DEMOS); do echo; echo "== kinemorph demo $$name"; $(BIN)/kinemorph demo $$name; done
	@echo; echo "== kinemorph bounce"
	@$(BIN)/kinemorph bounce --updates 1_000_000
	@$(BIN)/kinemorph bounce --objects 60 --replay out/bounce.html
	@echo; echo "== kinemorph mocap"
	@$(BIN)/kinemorph mocap
	@$(BIN)/python -m tools.index_page out

.PHONY: told
told:
	@echo "== this takes about two minutes, and up to ten where kernels must be compiled first;" \
	  "the first picture comes within one or two, and it ends with out/index.html"

test: lint warm  ## everything CI checks: lint, types, import contracts, tests with coverage, lanes, the manual
	@echo "== tests"
	@$(BIN)/pytest -q -n $(WORKERS) --dist worksteal --cov --cov-report=
	@$(MAKE) --no-print-directory lanes
	@$(MAKE) --no-print-directory docs
	@echo "== coverage (kernels count where the JIT is off)"
	@$(BIN)/coverage report
	@echo "== all good: lint, types, contracts, tests and lanes passed"

# Only files that have the marker are collected: to import all of them takes longer than these tests.
quick: $(READY)  ## the tests that tell most, in less than 90 s with compiled kernels
	@$(BIN)/pytest -q -m quick -n $(WORKERS) --dist loadfile $$(grep -rl --include='test_*.py' 'mark\.quick' tests)

lint: $(READY)  ## ruff, mypy --strict, import contracts, rules of the house
	@echo "== lint, types, import contracts"
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/house_rules.py

warm: $(READY)  ## compile what is not compiled yet, on all cores: then nobody waits for it later
	-@$(BIN)/kinemorph warm

# The tests marked `lane`, again: as plain Python, which also measures the coverage of kernels, and with bounds
# checks.
LANE = $(BIN)/pytest -q -m lane -n $(WORKERS) --dist loadfile
lanes: $(READY)  ## the tests marked `lane`, with the JIT off and with bounds checks
	@echo "== lane: JIT off"
	@NUMBA_DISABLE_JIT=1 $(LANE) --cov --cov-append --cov-report=
	@echo "== lane: bounds checks"
	@NUMBA_BOUNDSCHECK=1 $(LANE)

# Kernels as plain Numba functions, without its private names. Nothing keeps what they compile to, so `quick` is what CI
# has time for. Each Numba is in an environment of its own, which takes all other packages from .venv.
NUMBAS ?= oldest newest
NUMBA_TESTS ?= whole
PLAIN_LANE = $(if $(filter quick,$(NUMBA_TESTS)),tests/spatial,tests)
numba: $(READY)  ## kernels without private names of Numba, with the oldest and the newest one that pyproject.toml allows
	@set -e; for which in $(NUMBAS); do \
	  wanted=$$($(BIN)/python -c 'import re, sys, tomllib; \
	    names = tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]; \
	    one, = (name for name in names if name.startswith("numba")); \
	    print(one if sys.argv[1] == "newest" else re.sub(r">=([\d.]+).*", r"==\1", one))' $$which); \
	  folder=build/numba-$$which; echo "== $$wanted, in $$folder"; rm -rf $$folder; \
	  $(BIN)/python -m venv $$folder; $$folder/bin/pip install -qq --disable-pip-version-check "$$wanted"; \
	  others=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	  echo "import site; site.addsitedir('$$others')" \
	    >$$($$folder/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/others.pth; \
	  KINEMORPH_NUMBA_TESTS=$(NUMBA_TESTS) $$folder/bin/python -m pytest -q tests/test_jit_plain.py \
	    $(if $(filter quick,$(NUMBA_TESTS)),,tests/test_jit*.py); \
	  KINEMORPH_PLAIN_NUMBA=1 $$folder/bin/python -m pytest -q -m lane $(PLAIN_LANE); \
	done

bench: $(READY)  ## every benchmark, each beside its peer
	@set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name; done

performance: $(READY)  ## every benchmark again, into docs/results/benchmarks, and the tables of README and manual (on a quiet machine)
	@set -e; for name in $(filter-out tuples compile,$(BENCHMARKS)) creatures; do echo "== $$name"; \
	  case $$name in world) plot="--plot docs/_static/world_cost.png";; \
	    creatures) plot="--plot docs/_static/creatures_growth.png";; *) plot=;; esac; \
	  $(BIN)/python -m benchmarks.$$name --json docs/results/benchmarks/$$name.json $$plot; done
	@$(BIN)/python tools/tables.py --here

tables: $(READY)  ## the tables of README and manual that are made of other things
	@$(BIN)/python tools/tables.py

REPLAYS ?= walk_on_ground dismount gripper train chain_bridge glued_tower

docs: $(READY)  ## the manual, in build/docs/index.html
	@mkdir -p build/gallery
	@set -e; for name in $(REPLAYS); do test -e build/gallery/.$$name || { \
	  $(BIN)/kinemorph demo $$name --out build/gallery >build/gallery/.log; touch build/gallery/.$$name; }; done
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs build/docs
	@echo "== open build/docs/index.html"

gallery: REPLAYS = $(shell $(BIN)/python -c 'from kinemorph.scenes.gallery import DEMOS; print(*DEMOS)')
gallery: docs  ## the manual, with the replays of all demonstrations in its gallery

pictures: $(READY)  ## draw again: the README's moving picture, the viewer (by chromium), demonstrations, creatures
	$(BIN)/python tools/moving_picture.py docs/_static/kinemorph.webp
	$(BIN)/python -m tools.viewer_picture docs/_static/viewer.png
	$(BIN)/python -m tools.creature_sheets docs/_static
	$(BIN)/python -m tools.contact_sheet build/gallery
	@for file in build/gallery/*.png; do for name in $$(basename $$file) world_$$(basename $$file); do \
	  test ! -e docs/_static/$$name || cp -v $$file docs/_static/$$name; done; done

bill: $(VENV)/.locked  ## build/bill.cdx.json, the software bill of materials of requirements.lock (CycloneDX)
	@mkdir -p build
	@$(BIN)/python tools/bill.py requirements.lock build/bill.cdx.json

clean:  ## remove what was built; .venv stays
	rm -rf build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks docs -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
