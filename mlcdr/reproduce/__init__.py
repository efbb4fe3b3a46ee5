"""Results against printed cells: how far published tables are reproduced.

Imports tables, results and config; `published/` holds the printed numbers.
Offers the comparison with a published table, the list of reproductions, and the page of their status.
"""
