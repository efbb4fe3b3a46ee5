"""What methods compute with: second moments, factorisations, regression, information, graphs, neighbours, kernels.

May import `errors` only: nothing of estimators, configs or data sets.
Offers `Moments` (sums and arithmetic) and `CodeMoments`, functions on these that solve (`regression`) or find principal
axes (`principal`), and numerical parts that several methods share, each in a file of its name.
"""
