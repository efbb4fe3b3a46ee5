"""Data sets in memory: found by name or path, read from ARFF and XML, encoded as X and Y, cached, or generated.

It imports `mlcdr.errors` and `mlcdr.whole_files`, and nothing else of the package.

It offers `load_dataset` and `Dataset` (`dataset`), where files are (`files`), the catalogue's facts (`sources`), its
downloads and checks (`catalog`), and the options of synthetic data sets (`synthetic`).
"""
