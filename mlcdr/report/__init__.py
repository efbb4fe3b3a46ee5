"""One HTML page of all that a results folder shows.

Imports tables, compare and results.
Offers `write_report`.
"""
