"""Multi-label classifiers that vote: ensembles of any other, and of those of a few labels."""
