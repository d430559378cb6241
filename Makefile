# Every target makes what it needs, starting from Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
BENCH_BIN := .venv-bench/bin
BENCHED := .venv-bench/installed
BENCH_PIP := $(BENCH_BIN)/python -m pip install --quiet --disable-pip-version-check
# adelie needs ipython, and is installed without its dependencies because it wants NumPy 1.
PEERS := liblinear-official cyanure snapml glum celer skglm rehline ipython adelie \
  scikit-learn-intelex

.PHONY: demo test test-slow lint format bench figures fuzz clean

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto

# Variants that take long to compile; `make test` leaves them out.
test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -n auto -m slow

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Against other solvers: days, resumable; `make bench BENCH=--quick` takes about five minutes.
bench: $(BENCHED)
	$(BENCH_BIN)/python -m benchmarks.everyday $(BENCH)
	$(BENCH_BIN)/python -m benchmarks.compare $(BENCH)

# The paper's tables and figures: hours, resumable; `make figures FIGURES=--quick` takes minutes.
figures: $(INSTALLED)
	$(BIN)/python -m experiments $(FIGURES)

# Proves with exact arithmetic that no certificate of random problems is false; ten minutes, or one
# with `make fuzz FUZZ=--quick`. `FUZZ="--seconds 7200 --state fuzz.json"` goes on another time.
fuzz: $(INSTALLED)
	$(BIN)/python -m fuzz --seed 0 $(FUZZ)

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Peers live in an environment of their own, so that they cannot change the one for development.
# What is there already keeps its version: a peer that asks for an older NumPy is installed without
# its dependencies. Peers that cannot be installed here are left out, and the benchmark says so.
$(BENCHED): pyproject.toml
	$(PYTHON) -m venv .venv-bench
	$(BENCH_PIP) -e '.[experiments]'
	for peer in $(PEERS); do \
	  $(BENCH_BIN)/python -m pip freeze --exclude-editable > .venv-bench/fixed.txt; \
	  $(BENCH_PIP) -c .venv-bench/fixed.txt $$peer || $(BENCH_PIP) --no-deps $$peer || true; done
	touch $@

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Quartz needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@
