"""Running an experiment: plan the trials, compute them here, on local workers or on Dask, and record them.

Imports results, experiment and methods.
Offers `run`, the plan without running it (`survey`), executors, tuning, and what is kept of a trial in addition
to its scores.
"""
