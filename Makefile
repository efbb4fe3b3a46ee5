# make run    the main job: creates the environment, runs configs/yeast_cplst.yaml on the embedded data, prints the table
# make test   lint, types, layering, tests; make test-all also the slow tests
# The other targets reproduce published tables and figures, and measure. PYTHON=... chooses the interpreter.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 0
READY  := $(VENV)/.ready

# Where it is set, each of the many processes of a run and of the tests compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-all flake mutants lint machine-code count bounds bench bench-scale torture fuzz audit data docs golden clean
.PHONY: record record-small record-all reproduction-status
.PHONY: reproduce-pacharawongsakda-2012-table4 reproduce-sun-2017-figure8-5 reproduce-sun-2017-figures-of-data

run: $(READY)
	$(BIN)/mlcdr run configs/yeast_cplst.yaml --jobs $(JOBS)

# Three at a time also on two cores, since many tests wait for processes that they started.
test: $(READY)
	$(MAKE) --no-print-directory --jobs 2 lint machine-code
	$(BIN)/python -m pytest -n 3 --dist worksteal

# With the tests marked slow, of which a faster one shows the main point; every night.
test-all: $(READY)
	$(MAKE) --no-print-directory --jobs 2 lint machine-code
	$(BIN)/python -m pytest -n 3 --dist worksteal -m ""

# The tests of runs that are killed, or shared by processes and machines: ROUNDS times, beside LOAD processes that
# compute without end. A round that fails or hangs is shown; needs a machine that does nothing else.
ROUNDS ?= 30
LOAD ?= 6
flake: $(READY) machine-code
	$(BIN)/python -m tools.flake --rounds $(ROUNDS) --load $(LOAD)

# Small faults put into the code one by one, of which the tests must see nine in ten; tools/mutants.txt has what they
# cannot see. SAMPLE=40 draws so many of each module, MODULES=mlcdr/metrics/ranking.py takes one; all take some hours.
mutants: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[mutants]'
	$(BIN)/python -m tools.mutants $(MODULES) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

# Of the model trees and C4.5, compiled here once; all processes of the tests load it.
machine-code: $(READY)
	$(BIN)/python -c 'from mlcdr.methods.learners import c45, m5p; m5p.M5P.warm_up(); c45.C45.warm_up()'

# Every compiled loop with its indices checked: machine code of its own, so that none without checks is loaded.
bounds: $(READY)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(BIN)/python -m pytest tests/methods/test_c45.py tests/methods/test_m5p.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Lines of code of the package by folder (no docstrings, comments, blank lines), and its longest classes and functions.
count: $(READY)
	$(BIN)/python -m tools.count

# Ratios measured in one run, with their marks, in one table; no test asserts a time. Writes docs/benchmarks.csv and the
# pages that show it. BENCHMARKS="table3 occ" runs some. All need yeast, enron, bibtex, corel5k, corel16k1, rcv1s1,
# delicious, emotions, genbase, medical, scene, flags and tmc2007-500, and more than half an hour; Java and
# python-weka-wrapper3 (the extra `weka`) for the times of WEKA.
bench: $(READY)
	$(BIN)/pip install --quiet --no-deps scikit-multilearn-ng==0.0.8
	$(BIN)/python -m tools.benchmarks $(BENCHMARKS)

# Large problems and many machines: CPU seconds and peak memory, written into docs/scaling.md.
bench-scale: $(READY)
	$(BIN)/python -m tools.benchmarks.scale
	$(BIN)/python -m tools.benchmarks.large_folder

# 200 runs killed or stopped at random moments and 1,000 writers, about half an hour; the table in docs/hard_use.md.
torture: $(READY)
	$(BIN)/python -m tests.faults.torture

# Every reader in turn, for SECONDS each, guided by coverage; a file that takes over a second is a find too.
SECONDS ?= 450
fuzz: $(READY)
	$(BIN)/pip install --quiet atheris
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

# Known holes of the dependencies; where no index can be reached this prints a line and is no failure.
audit: $(READY)
	$(BIN)/pip install --quiet --retries 1 --timeout 10 --constraint constraints.txt pip-audit || echo "not audited: pip-audit cannot be installed here"
	$(BIN)/python -m tools.audit

# The papers' data sets and fixed folds, downloaded and checked; not needed where MLCDR_DATASETS and MLCDR_FOLDS have them.
data: $(READY)
	$(BIN)/mlcdr datasets fetch --all --folds

# What `mlcdr reproduce` lists: reproduce-PAPER-TABLE[-VARIANT], such as reproduce-chen-lin-2012-table3,
# reproduce-sun-2017-table4-large (with the large data sets), reproduce-sun-2017-figures6-small (in minutes).
# Data sets and fixed folds that are not here: make data.
reproduce-%: $(READY)
	$(BIN)/mlcdr reproduce $* --jobs $(JOBS)

# Table 4 has formulas of cost: measured here, at the sizes that it names.
reproduce-pacharawongsakda-2012-table4: $(READY)
	$(BIN)/python -m tools.benchmarks.table4

# Figures 1.2 (scene), 2.2 (medical, enron), 2.3 and 9.1 (enron)
reproduce-sun-2017-figures-of-data: $(READY)
	for name in scene medical enron; do $(BIN)/mlcdr datasets plot $$name --out results/figures_of_data || exit; done

# The critical-difference diagrams of all data sets of Table 8.1
reproduce-sun-2017-figure8-5: reproduce-sun-2017-table8-1-large
	$(BIN)/mlcdr compare results/sun_2017_thesis_table8_1 results/sun_2017_thesis_table8_1_large \
	    --out results/sun_2017_thesis_figure8_5

# The published tables, stored in results/record: all but what takes hours (record), small variants in minutes
# (record-small), or all, with other readings of the tables and the figures (record-all). Each continues where it ended, and
# `python -m tools.record --plan` lists its runs; `make docs` then writes the gallery.
record record-small record-all: $(READY)
	$(SAME_DIGITS) $(BIN)/python -m tools.record $(patsubst record-%,--%,$(filter-out record,$@)) --jobs $(JOBS)

# Some data sets of stored rows of the board computed again: make board-check FOLDERS=results/record/board/board_mine
.PHONY: board-check
board-check: $(READY)
	$(SAME_DIGITS) $(BIN)/python -m tools.board_check $(FOLDERS) --jobs $(JOBS)

# How well the record reproduces the published tables, as a page; `python -m tools.status --check` lists what is out of date.
reproduction-status: $(READY)
	@$(BIN)/python -m tools.status

# OpenBLAS and NumPy choose their code by the processor, and it changes last digits. On Linux all x86-64 processors that have
# AVX2 get the same; elsewhere the processor's own code is taken.
SAME_DIGITS := $(if $(shell grep -lsw avx2 /proc/cpuinfo),OPENBLAS_CORETYPE=Haswell NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR")

# What tables and figures are compared with in the tests, written anew; look at the difference before it is kept.
golden: $(READY)
	MLCDR_RENEW_GOLDEN=1 $(BIN)/python -m pytest tests/tables/test_golden.py tests/tables/test_tables.py \
	    tests/tables/test_data_sets.py

# The pages in docs/: those that repeat what the program knows are written anew, the others get the output of now.
docs: $(READY)
	$(BIN)/python docs/generate.py
	$(BIN)/python -m tools.studies
	$(BIN)/python -m tools.pages
	$(BIN)/python -m tools.python_pages
	$(BIN)/python -m tools.notebooks

# The site in docs/_build/html, in which warnings are errors and every internal link is followed; then in a browser
# (search, width, axe); links to elsewhere need the network.
SITE := $(VENV)/.ready-site
.PHONY: site site-look site-links coverage
site: $(SITE)
	rm -rf docs/_api docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

site-look: site
	$(BIN)/python -m tools.site docs/_build/html docs/_build/pictures

site-links: $(SITE)
	$(BIN)/python -m sphinx -q -b linkcheck docs docs/_build/linkcheck

$(SITE): $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

# The lines that the tests run, of what they import in their own processes.
coverage: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt pytest-cov
	$(BIN)/python -m pytest -n 3 --dist worksteal --cov --cov-report term:skip-covered --cov-report xml

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@# modules are compiled when they are imported first: most never are, and all would take as long as installing
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist docs/_build docs/_api htmlcov .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
