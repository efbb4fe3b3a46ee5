"""What `import mlcdr` offers besides data sets and estimators: to run experiments and to look at their results.

Imports all packages below; the command line goes through it, too.
Offers `load_experiment`, `run`, `open_results` with `Results`, `compare`, lists of what there is, and progress bars.
"""
