"""Methods against each other: ranks, tests of significance, critical-difference diagrams, an earlier run as baseline.

Imports tables and results.
Offers the comparison of all methods of a folder, of several folders, and of one run against another.
"""
