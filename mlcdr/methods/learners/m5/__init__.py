"""M5P model trees: columns sorted once, growing, linear models of the nodes, pruning; compiled by numba."""
