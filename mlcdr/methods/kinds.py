"""Which part of a method a class can be."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.base import ClusterMixin

from mlcdr.methods.contracts import declared

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "dual_space": ("fit(X, Y)", "transform(X)", "encode(Y)", "decode(codes)"),
    "label_space": ("fit(X, Y)", "encode(Y)", "decode(codes)"),
    "local_features": ("fit(X, Y)", "alone(label)", "beside(label, parents)"),
    "learner": ("fit(X, Y)", "predict(X)"),
    "feature_space": ("fit(X, Y)", "transform(X)"),
    "threshold": ("apply(scores)", "margin(scores)"),
}
"""Family → the methods that a class of it must have. A class is of the first family whose methods it has."""


def find_family(cls: type) -> str:
    """Which part of a method a class can be; empty if it can be none.

    An instance space has the methods of a classifier; it declares itself by `decomposes_instances`.
    """
    if declared(cls, "decomposes_instances"):
        return "instance_space"
    if issubclass(cls, ClusterMixin):
        return "clusterer"
    for family, methods in REQUIRED.items():
        if all(hasattr(cls, method.partition("(")[0]) for method in methods):
            return family
    return ""
