"""Data sets in memory: found by name or path, read from files, encoded as X and Y, cached, or generated.

May import numerics, `csv_files`, `whole_files`, `lazy_numpy` and errors; nothing of configs, methods or results.

Every form comes to two tables (`table`), of features and of labels, which one encoder (`encoding`) makes X and Y.

It offers `load_dataset` and `Dataset` (`dataset`), the search for files (`files`), the catalogue's facts (`sources`),
its downloads and checks (`catalog`), and the options of synthetic data sets (`synthetic`).
"""
