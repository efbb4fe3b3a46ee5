"""From YAML to an experiment as frozen data, or to all that is wrong with it; its splits, trials and their keys.

May import methods, data, metrics and numerics; does not depend on results folders or processes.
Offers `loading.load_experiment`, `Experiment` (`model`), `make_splits` (`division`), the plan of trials (`trials`), and
what is shared between the trials of one fit (`families`).
"""
