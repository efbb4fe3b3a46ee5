"""Numerical parts that methods share and that know nothing of estimators or moments.

Sums of rows of mixed size, sparse rows, principal directions, graphs of neighbours, clusterings, discretisers,
alternating directions (ADMM), and memoised values of arrays.
"""
