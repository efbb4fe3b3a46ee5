"""From YAML to an experiment as frozen data, or to all that is wrong with it; its splits, trials and their keys.

Imports methods, data and metrics; does not depend on results folders or processes. Offers `loading.load_experiment`,
`Experiment` (`model`), `make_splits`, the plan of trials, and what is shared between the trials of one fit.
"""
