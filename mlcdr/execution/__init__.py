"""Running an experiment: plan the trials, compute them here, on local workers or on Dask, and record them.

May import results, testing, experiment and what is below them.
Offers `run` (`runner`), the plan without running it (`plan.survey`), executors, tuning, and what is kept of a trial in
addition to its scores.
"""
