"""One HTML page of all that a results folder shows, which needs no network and no other file.

It may import comparison, papers and what is below them.
It offers `mlcdr.report.report.write`.
"""
