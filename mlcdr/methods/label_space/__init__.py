"""Label-space reduction: from n×K label vectors to codes and back to scores. One method per file.

The bases: `linear` (orthonormal directions), `hat` (a regression on the features), `kernel` (kernel ridge regression).
"""
