"""Methods against each other: ranks, tests of significance, critical-difference diagrams, an earlier run as baseline.

It may import tables, results and what is below them.
It offers the comparison of all methods of a folder, of several folders, and of one run with an earlier one.
"""
