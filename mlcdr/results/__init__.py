"""A results folder: the record of trials in SQLite, the manifest, the scores, and the joining of several folders.

Imports config and experiment; computes no trial and draws nothing.
Offers the `Store` that a run writes, and `read_results` for all that reads.
"""
