"""Multi-label classifiers that are neither chains nor ensembles.

Label powersets, pairwise models, nearest neighbours, label-specific features, and groups of labels.
"""
