# make run    the main job: creates the environment, runs configs/yeast_cplst.yaml on the embedded data, prints the table
# make test   lint, types, layering, tests; make test-all also the slow tests
# The other targets reproduce published tables and figures, and measure. PYTHON=... chooses the interpreter.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 0
READY  := $(VENV)/.ready

.PHONY: run test test-all flake mutants lint machine-code count bounds bench bench-scale torture fuzz audit data docs golden clean reproduction-status
.PHONY: reproduce-chen-lin-2012-table3 reproduce-chen-lin-2012-table3-as-stated reproduce-chen-lin-2012-figure1
.PHONY: reproduce-chen-lin-2012-table2
.PHONY: reproduce-chen-lin-2012-table4 reproduce-chen-lin-2012-table4-small reproduce-chen-lin-2012-table4-large
.PHONY: reproduce-chen-lin-2012-table5 reproduce-chen-lin-2012-table5-small reproduce-chen-lin-2012-table5-large
.PHONY: reproduce-chen-lin-2012-figure1-m5p reproduce-chen-lin-2012-figure1-kernel-ridge
.PHONY: reproduce-pacharawongsakda-2012-table1 reproduce-pacharawongsakda-2012-table2
.PHONY: reproduce-pacharawongsakda-2012-table2-large reproduce-pacharawongsakda-2012-table3
.PHONY: reproduce-pacharawongsakda-2012-table4 reproduce-xu-2016-table reproduce-xu-2016-figures reproduce-mlc-toolbox
.PHONY: reproduce-sun-2017-table2-1 reproduce-sun-2017-figures-of-data
.PHONY: reproduce-sun-2017-table3-2 reproduce-sun-2017-table3-2-small reproduce-sun-2017-table3-2-large
.PHONY: reproduce-sun-2017-table3-2-as-stated reproduce-sun-2017-table3-2-fixed-folds reproduce-sun-2017-table3-3 reproduce-sun-2017-table3-3-small
.PHONY: reproduce-sun-2017-table3-3-large reproduce-sun-2017-table3-3-fixed-folds reproduce-sun-2017-table3-4
.PHONY: reproduce-sun-2017-table3-4-small reproduce-sun-2017-table3-4-large reproduce-sun-2017-figures3
.PHONY: reproduce-sun-2017-table4 reproduce-sun-2017-table4-small reproduce-sun-2017-table4-large
.PHONY: reproduce-sun-2017-table4-as-stated reproduce-sun-2017-table4-fixed-folds
.PHONY: reproduce-sun-2017-figures4 reproduce-sun-2017-figures4-small
.PHONY: reproduce-sun-2017-table6-1 reproduce-sun-2017-table6-1-as-stated reproduce-sun-2017-table6-1-small
.PHONY: reproduce-sun-2017-table6-1-large reproduce-sun-2017-table8-1 reproduce-sun-2017-table8-1-as-stated
.PHONY: reproduce-sun-2017-table8-1-small reproduce-sun-2017-table8-1-large reproduce-sun-2017-figure8-5
.PHONY: reproduce-sun-2017-table8-2 reproduce-sun-2017-table8-2-small reproduce-sun-2017-table8-2-shared reproduce-sun-2017-table8-4
.PHONY: reproduce-sun-2017-figure8-6 reproduce-sun-2017-figure8-6-small reproduce-sun-2017-programs
.PHONY: reproduce-sun-2017-programs-draws reproduce-sun-2017-table3-3-as-stated
.PHONY: reproduce-sun-2017-table6-2 reproduce-sun-2017-table6-2-small
.PHONY: reproduce-sun-2017-figures6 reproduce-sun-2017-figures6-small

run: $(READY)
	$(BIN)/mlcdr run configs/yeast_cplst.yaml --jobs $(JOBS)

test: $(READY)
	$(MAKE) --no-print-directory --jobs 2 lint machine-code
	$(BIN)/python -m pytest -n 2

# With the tests marked slow, of which a faster one shows the main point; every night.
test-all: $(READY)
	$(MAKE) --no-print-directory --jobs 2 lint machine-code
	$(BIN)/python -m pytest -n 2 -m ""

# The tests of runs that are killed, or shared by processes and machines: ROUNDS times, beside LOAD processes that
# compute without end. A round that fails or hangs is shown; needs a machine that does nothing else.
ROUNDS ?= 30
LOAD ?= 6
flake: $(READY) machine-code
	$(BIN)/python -m tests.flake --rounds $(ROUNDS) --load $(LOAD)

# Small faults put into the code one by one, of which the tests must see nine in ten; tests/mutants.txt has what they
# cannot see. SAMPLE=40 draws so many of each module, MODULES=mlcdr/metrics.py takes one; all take some hours.
mutants: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[mutants]'
	$(BIN)/python -m tests.mutants $(MODULES) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

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
	$(BIN)/python -m tests.count

# Ratios measured in one run; no test asserts a time. Needs yeast, enron, bibtex, emotions and genbase, and about
# half an hour; Java and python-weka-wrapper3 (the extra `weka`) for the times of WEKA.
bench: $(READY)
	$(BIN)/python -m tests.benchmarks.table3
	$(BIN)/python -m tests.benchmarks.dual_space
	$(BIN)/python -m tests.benchmarks.feature_space
	$(BIN)/python -m tests.benchmarks.kernel_ridge
	$(BIN)/pip install --quiet --no-deps scikit-multilearn-ng==0.0.8
	$(BIN)/python -m tests.benchmarks.occ
	$(BIN)/python -m tests.benchmarks.mlknn
	$(BIN)/python -m tests.benchmarks.label_dependent
	$(BIN)/python -m tests.benchmarks.clmlc
	$(BIN)/python -m tests.benchmarks.reader
	$(BIN)/python -m tests.benchmarks.m5p

# Reading and starting, large problems and many machines: CPU seconds and peak memory, written into
# docs/hard_use_reading.md and docs/scaling.md. Needs delicious, bibtex, enron, flags, scene and tmc2007-500.
bench-scale: $(READY)
	$(BIN)/python -m tests.benchmarks.reading
	$(BIN)/python -m tests.benchmarks.scale

# 200 runs killed or stopped at random moments and 1,000 writers, about an hour; the table in docs/hard_use.md.
torture: $(READY)
	$(BIN)/python -m tests.faults.torture

# Every reader in turn, for SECONDS each, guided by coverage; a file that takes over a second is a find too.
SECONDS ?= 450
fuzz: $(READY)
	$(BIN)/pip install --quiet atheris
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

# Known holes of the dependencies; where nobody can be asked this says so and is no failure.
audit: $(READY)
	$(BIN)/pip install --quiet --retries 1 --timeout 10 --constraint constraints.txt pip-audit || echo "not audited: pip-audit cannot be installed here"
	$(BIN)/python -m tests.audit

# The papers' data sets but the embedded yeast, downloaded and checked; not needed where MLCDR_DATASETS has them.
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

reproduce-chen-lin-2012-figure1-m5p: $(READY)
	$(BIN)/mlcdr run configs/chen_lin_2012/figure1_m5p.yaml --jobs $(JOBS)

reproduce-chen-lin-2012-figure1-kernel-ridge: $(READY)
	$(BIN)/mlcdr run configs/chen_lin_2012/figure1_kernel_ridge.yaml --jobs $(JOBS)

reproduce-chen-lin-2012-table2: $(READY)
	$(BIN)/mlcdr datasets table --layout chen_lin_2012/table2 --published chen_lin_2012/table2

reproduce-chen-lin-2012-table4: $(READY)
	$(BIN)/mlcdr run configs/chen_lin_2012/table4.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/chen_lin_2012_table4 --published chen_lin_2012/table4

reproduce-chen-lin-2012-table4-small reproduce-chen-lin-2012-table4-large: reproduce-chen-lin-2012-table4-%: $(READY)
	$(BIN)/mlcdr run configs/chen_lin_2012/table4_$*.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/chen_lin_2012_table4_$* --published chen_lin_2012/table4

reproduce-chen-lin-2012-table5: $(READY)
	$(BIN)/mlcdr run configs/chen_lin_2012/table5.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/chen_lin_2012_table5 --published chen_lin_2012/table5

reproduce-chen-lin-2012-table5-small reproduce-chen-lin-2012-table5-large: reproduce-chen-lin-2012-table5-%: $(READY)
	$(BIN)/mlcdr run configs/chen_lin_2012/table5_$*.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/chen_lin_2012_table5_$* --published chen_lin_2012/table5

reproduce-pacharawongsakda-2012-table1: $(READY)
	$(BIN)/mlcdr datasets table --layout pacharawongsakda_2012/table1 --published pacharawongsakda_2012/table1

reproduce-pacharawongsakda-2012-table2: $(READY)
	$(BIN)/mlcdr run configs/pacharawongsakda_2012/table2.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/pacharawongsakda_2012_table2 --published pacharawongsakda_2012/table2

# bibtex and corel5k, once; compared together with the five small sets
reproduce-pacharawongsakda-2012-table2-large: $(READY)
	$(BIN)/mlcdr run configs/pacharawongsakda_2012/table2.yaml configs/pacharawongsakda_2012/table2_large.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/pacharawongsakda_2012_table2 results/pacharawongsakda_2012_table2_large \
	    --published pacharawongsakda_2012/table2

# All data sets of the tables in one comparison.
reproduce-sun-2017-table3-2-large reproduce-sun-2017-table3-3-large: reproduce-sun-2017-table3-%-large: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table3_$*.yaml configs/sun_2017_thesis/table3_$*_large.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table3_$* results/sun_2017_thesis_table3_$*_large \
	    --published sun_2017_thesis/table3_$*

# Times: one worker, so that nothing else runs beside what is timed.
reproduce-pacharawongsakda-2012-table3: $(READY)
	$(BIN)/mlcdr run configs/pacharawongsakda_2012/table3.yaml configs/pacharawongsakda_2012/table3_shared.yaml --jobs 1

reproduce-pacharawongsakda-2012-table4: $(READY)
	$(BIN)/python -m tests.benchmarks.table4

reproduce-xu-2016-table: $(READY)
	$(BIN)/mlcdr run configs/xu_2016_mvmd/table.yaml configs/xu_2016_mvmd/table_tuned.yaml --jobs $(JOBS)

reproduce-xu-2016-figures: $(READY)
	$(BIN)/mlcdr run configs/xu_2016_mvmd/dimensions.yaml configs/xu_2016_mvmd/beta.yaml --jobs $(JOBS)

reproduce-sun-2017-table2-1: $(READY)
	$(BIN)/mlcdr datasets table --layout sun_2017_thesis/table2_1 --published sun_2017_thesis/table2_1

# Figures 1.2 (scene), 2.2 (medical, enron), 2.3 and 9.1 (enron)
reproduce-sun-2017-figures-of-data: $(READY)
	for name in scene medical enron; do $(BIN)/mlcdr datasets plot $$name --out results/figures_of_data || exit; done

# Needs the fixed folds: MLCDR_FOLDS names the folder that holds emotions.5fold.csv and yeast.5fold.csv.
reproduce-mlc-toolbox: $(READY)
	$(BIN)/mlcdr run configs/mlc_toolbox/ridge_5fold.yaml --jobs $(JOBS)

reproduce-sun-2017-table3-2 reproduce-sun-2017-table3-3: reproduce-sun-2017-table3-%: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table3_$*.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table3_$* --published sun_2017_thesis/table3_$*

# The fixed folds need MLCDR_FOLDS, the folder that holds NAME.5fold.csv.
reproduce-sun-2017-table3-2-small reproduce-sun-2017-table3-2-fixed-folds \
reproduce-sun-2017-table3-2-as-stated: \
reproduce-sun-2017-table3-2-%: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table3_2_$(subst -,_,$*).yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table3_2_$(subst -,_,$*) --published sun_2017_thesis/table3_2

reproduce-sun-2017-table3-3-small reproduce-sun-2017-table3-3-fixed-folds \
reproduce-sun-2017-table3-3-as-stated: \
reproduce-sun-2017-table3-3-%: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table3_3_$(subst -,_,$*).yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table3_3_$(subst -,_,$*) --published sun_2017_thesis/table3_3

# Times: one worker, so that nothing else runs beside what is timed.
reproduce-sun-2017-table3-4: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table3_4.yaml --jobs 1

reproduce-sun-2017-table3-4-small reproduce-sun-2017-table3-4-large: reproduce-sun-2017-table3-4-%: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table3_4_$*.yaml --jobs 1

reproduce-sun-2017-figures3: $(READY)
	$(BIN)/mlcdr run $(foreach n,5 6 8 9,configs/sun_2017_thesis/figure3_$(n).yaml) --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_figure3_8

reproduce-sun-2017-table4: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table4_2.yaml --jobs $(JOBS)
	for table in table4_2 table4_3 table4_4 table4_5; do \
	    $(BIN)/mlcdr compare results/sun_2017_thesis_table4_2 --published sun_2017_thesis/$$table || exit; done
	$(BIN)/mlcdr compare results/sun_2017_thesis_table4_2

reproduce-sun-2017-table4-large: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table4_2.yaml configs/sun_2017_thesis/table4_2_large.yaml --jobs $(JOBS)
	for table in table4_2 table4_3 table4_4 table4_5; do \
	    $(BIN)/mlcdr compare results/sun_2017_thesis_table4_2 results/sun_2017_thesis_table4_2_large \
	        --published sun_2017_thesis/$$table || exit; done

reproduce-sun-2017-table4-small reproduce-sun-2017-table4-as-stated: \
reproduce-sun-2017-table4-%: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table4_2_$(subst -,_,$*).yaml --jobs $(JOBS)
	for table in table4_2 table4_3 table4_4 table4_5; do \
	    $(BIN)/mlcdr compare results/sun_2017_thesis_table4_2_$(subst -,_,$*) --published sun_2017_thesis/$$table || exit; done

# Needs the fixed folds, as reproduce-mlc-toolbox.
reproduce-sun-2017-table4-fixed-folds: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table4_2_fixed_folds.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table4_2_fixed_folds --published sun_2017_thesis/table4_2

reproduce-sun-2017-figures4-small: $(READY)
	$(BIN)/mlcdr run $(foreach n,4 5 6 7 8,configs/sun_2017_thesis/figure4_$(n)_small.yaml) --jobs $(JOBS)

reproduce-sun-2017-figures4: $(READY)
	$(BIN)/mlcdr run $(foreach n,4 5 6 7 8,configs/sun_2017_thesis/figure4_$(n).yaml) --jobs $(JOBS)

# Sun 2017 (thesis), chapters 6 and 8: MLSF, CBMLC and CLMLC.
reproduce-sun-2017-table6-1 reproduce-sun-2017-table6-1-as-stated reproduce-sun-2017-table8-1 \
reproduce-sun-2017-table8-1-as-stated: reproduce-sun-2017-table%: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table$(subst -,_,$*).yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table$(subst -,_,$*) --published sun_2017_thesis/$(patsubst %_as_stated,%,table$(subst -,_,$*))

reproduce-sun-2017-table6-1-small reproduce-sun-2017-table6-1-large reproduce-sun-2017-table8-1-small: reproduce-sun-2017-table%: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table$(subst -,_,$*).yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table$(subst -,_,$*) \
	    --published sun_2017_thesis/$(patsubst %_small,%,$(patsubst %_large,%,table$(subst -,_,$*)))

# All data sets of Table 8.1 in one comparison, which also draws Figure 8.5, the critical-difference diagrams.
reproduce-sun-2017-table8-1-large reproduce-sun-2017-figure8-5: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table8_1.yaml configs/sun_2017_thesis/table8_1_large.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table8_1 results/sun_2017_thesis_table8_1_large \
	    --published sun_2017_thesis/table8_1
	$(BIN)/mlcdr compare results/sun_2017_thesis_table8_1 results/sun_2017_thesis_table8_1_large \
	    --out results/sun_2017_thesis_figure8_5

# Times: one worker, so that nothing else runs beside what is timed.
reproduce-sun-2017-table8-2 reproduce-sun-2017-table8-2-small reproduce-sun-2017-table8-2-shared: reproduce-sun-2017-table%: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table$(subst -,_,$*).yaml --jobs 1

reproduce-sun-2017-table8-4: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table8_4.yaml configs/sun_2017_thesis/table8_4_large.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table8_4 results/sun_2017_thesis_table8_4_large \
	    --published sun_2017_thesis/table8_4

reproduce-sun-2017-figure8-6 reproduce-sun-2017-figure8-6-small: reproduce-sun-2017-figure%: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/figure$(subst -,_,$*).yaml --jobs $(JOBS)

# The author's own programs on fixed folds (MLCDR_FOLDS), beside the methods with their options and with the text's.
reproduce-sun-2017-programs: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/programs.yaml configs/sun_2017_thesis/programs_large.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_programs results/sun_2017_thesis_programs_large \
	    --published sun_2017_thesis/programs

# Ten draws of what is random in them: whether the methods are the same, where one draw beside one cannot tell.
reproduce-sun-2017-programs-draws: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/programs_draws.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_programs_draws --published sun_2017_thesis/programs

# CPU days on enron alone, by the thesis' grids; the small one takes minutes.
reproduce-sun-2017-table6-2: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table6_2.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table6_2 --published sun_2017_thesis/table6_2

reproduce-sun-2017-table6-2-small: $(READY)
	$(BIN)/mlcdr run configs/sun_2017_thesis/table6_2_small.yaml --jobs $(JOBS)
	$(BIN)/mlcdr compare results/sun_2017_thesis_table6_2_small --published sun_2017_thesis/table6_2

# Figures 6.2 to 6.7; that of times (6.5) one trial at a time.
FIGURES6 := figure6_2 figure6_2_scca figure6_3 figure6_4 figure6_6 figure6_7_alpha figure6_7_beta figure6_7_gamma

reproduce-sun-2017-figures6: $(READY)
	$(BIN)/mlcdr run $(FIGURES6:%=configs/sun_2017_thesis/%.yaml) --jobs $(JOBS)
	$(BIN)/mlcdr run configs/sun_2017_thesis/figure6_5.yaml --jobs 1

reproduce-sun-2017-figures6-small: $(READY)
	$(BIN)/mlcdr run $(wildcard configs/sun_2017_thesis/figure6_*_small.yaml) --jobs 1

# How far the results in results/ reproduce the published tables, as a page of Markdown; `make docs` counts by it.
reproduction-status: $(READY)
	$(BIN)/mlcdr reproduction-status results --to docs/reproduction-status.md

# What tables and figures are compared with in the tests, written anew; look at the difference before it is kept.
golden: $(READY)
	MLCDR_RENEW_GOLDEN=1 $(BIN)/python -m pytest tests/reporting/test_golden.py tests/reporting/test_tables.py \
	    tests/reporting/test_data_sets.py

# The pages in docs/: those that repeat what the program knows are written anew, the others get the output of now.
docs: $(READY)
	$(BIN)/python docs/generate.py
	$(BIN)/python -m tests.pages

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
