"""Results against printed cells: how far published tables are reproduced; `published/` holds the printed numbers.

It may import tables, results, experiment and what is below them.
It offers the comparison with a published table and with any paper's printed cells (`verifying`), the list of what can
be reproduced, and stored results (the record).
"""
