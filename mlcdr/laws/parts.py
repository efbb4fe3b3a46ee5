"""What a class must have to be a part of a method, and what one that is none lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import ClusterMixin

from mlcdr.errors import join_words
from mlcdr.methods.contracts import declared

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "label_space": ("fit(X, Y)", "encode(Y)", "decode(codes)"),
    "feature_space": ("fit(X, Y)", "transform(X)"),
    "learner": ("fit(X, Y)", "predict(X)"),
    "threshold": ("apply(scores)", "margin(scores)"),
    "dual_space": ("fit(X, Y)", "transform(X)", "encode(Y)", "decode(codes)"),
    "local_features": ("fit(X, Y)", "alone(label)", "beside(label, parents)"),
}
"""Family → the methods that a class of it must have."""


def find_family(cls: type) -> str:
    """Which part of a method a class can be, by its methods; empty if none.

    An instance space has the methods of a classifier; it declares itself by `decomposes_instances`.
    """
    if not hasattr(cls, "fit"):
        return "threshold" if hasattr(cls, "apply") else ""
    if declared(cls, "decomposes_instances"):
        return "instance_space"
    if issubclass(cls, ClusterMixin):
        return "clusterer"
    if hasattr(cls, "beside"):
        return "local_features"
    if hasattr(cls, "encode") and hasattr(cls, "decode"):
        return "dual_space" if hasattr(cls, "transform") else "label_space"
    for method, family in (("predict", "learner"), ("transform", "feature_space"), ("apply", "threshold")):
        if hasattr(cls, method):
            return family
    return ""


def describe_missing(cls: type) -> list[str]:
    """For each part that a class could be: `a learner lacks predict(X)`, the part that lacks the fewest first.

    Empty for a class that has none of the methods.
    """
    lacking = {
        family: [written for written in methods if not _has(cls, written)] for family, methods in REQUIRED.items()
    }
    if all(len(lacking[family]) == len(REQUIRED[family]) for family in REQUIRED):
        return []
    return [
        f"as a {family} it lacks {join_words(missing)}"
        for family, missing in sorted(lacking.items(), key=lambda each: len(each[1]))
    ]


def _has(cls: type, written: str) -> bool:
    method: Any = getattr(cls, written.partition("(")[0], None)
    return callable(method)
