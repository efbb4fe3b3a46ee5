"""What methods compute with: second moments, factorisations, information, graphs, neighbours, kernels, clusterings.

Imports errors only; knows nothing of estimators, configs or data sets.
Offers `Moments`, the solvers and sums behind it, and numerical parts that several methods share.
"""
