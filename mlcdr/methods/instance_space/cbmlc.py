"""The instance space `cbmlc`."""

from __future__ import annotations

from mlcdr.methods.instance_space.clusters import ClusteredClassifier


class CBMLC(ClusteredClassifier):
    """Clustering-based multi-label classification (CBMLC): a classifier for each cluster of the instances.

    Source: Nasierding, Tsoumakas & Kouzani 2009, as Sun 2017, chapter 8, used it.

    h_c(x) for the cluster c with the centre nearest to x, in the original features (8.12).

    Cost: nKd (or K·nnz(X)) an iteration of k-means, and K fits of the classifier to about n/K rows. Classifiers of
    linear models factorise the smaller side of each cluster's rows.
    """
