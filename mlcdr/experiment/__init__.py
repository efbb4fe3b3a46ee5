"""An experiment as frozen data: its methods, splits, tuning, and the trials with their keys.

Imports methods, data and metrics; knows no YAML, no results folder and no process.
Offers `Experiment`, `make_splits`, the plan of trials, and what is shared between the trials of one fit.
"""
