"""Learners: multi-output regressors, which fit codes, and binary classifiers, which fit one label. One method per file.

The bases: `regressor`, `linear` (regressors fitted from moments) and `binary` (linear classifiers of one label).
"""
