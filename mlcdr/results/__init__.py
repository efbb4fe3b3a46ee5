"""A results folder, typed: the record of trials in SQLite, the manifest, the scores, and several folders joined.

It may import experiment and what is below them; it computes no trial and draws nothing.
It offers the `Store` that a run writes, and to all readers `open_results`, which gives a `Results` with the
`Experiment`, the `Manifest` and the numbers.
"""
