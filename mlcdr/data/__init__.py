"""Data sets in memory: found by name or path, read from files, encoded as X and Y, cached, or generated.

Of this package, it imports only `mlcdr.errors`, `mlcdr.lazy_numpy` and `mlcdr.whole_files`.

Every form comes to two tables (`table`), of features and of labels, which one encoder (`encoding`) makes X and Y.

It offers `load_dataset` and `Dataset` (`dataset`), the search for files (`files`), the catalogue's facts (`sources`),
its downloads and checks (`catalog`), and the options of synthetic data sets (`synthetic`).
"""
