"""Multi-label classifiers that are neither chains nor ensembles: powersets, pairs, neighbours, meta-labels."""
