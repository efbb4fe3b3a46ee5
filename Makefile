# make run    the main job: creates the environment, runs configs/yeast_cplst.yaml on the embedded data, prints the table
# make test   lint, types, layering, tests
# The other targets reproduce published tables and figures, and measure. PYTHON=... chooses the interpreter.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 0
READY  := $(VENV)/.ready

.PHONY: run test lint bench data clean reproduction-status
.PHONY: reproduce-chen-lin-2012-table3 reproduce-chen-lin-2012-table3-as-stated reproduce-chen-lin-2012-figure1

run: $(READY)
	$(BIN)/mlcdr run configs/yeast_cplst.yaml --jobs $(JOBS)

test: lint
	$(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Ratios measured in one run; nothing asserts a time. Needs yeast, enron and bibtex.
bench: $(READY)
	$(BIN)/python -m tests.benchmarks.table3

# The data sets of Chen & Lin 2012 but the embedded yeast, downloaded and checked; not needed where MLCDR_DATASETS has them.
data: $(READY)
	$(BIN)/mlcdr datasets fetch bibtex corel5k emotions enron genbase medical scene

reproduce-chen-lin-2012-table3: $(READY)
	$(BIN)/mlcdr run configs/chen_lin_2012/table3.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/chen_lin_2012_table3 --published chen_lin_2012/table3

reproduce-chen-lin-2012-table3-as-stated: $(READY)
	$(BIN)/mlcdr run configs/chen_lin_2012/table3_as_stated.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/chen_lin_2012_table3_as_stated --published chen_lin_2012/table3

reproduce-chen-lin-2012-figure1: $(READY)
	$(BIN)/mlcdr run configs/chen_lin_2012/figure1.yaml --jobs $(JOBS)

# How far the results in results/ reproduce the published tables, as a page of Markdown.
reproduction-status: $(READY)
	$(BIN)/mlcdr reproduction-status results --to results/REPRODUCTION.md

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
