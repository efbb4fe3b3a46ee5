"""Ensembles of multi-label classifiers that predict by vote: of any classifier, or of label powersets."""
