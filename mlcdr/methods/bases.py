"""scikit-learn's base classes, with the types that scikit-learn does not state (in the stub file next to this one).

A type checker takes a class whose base has no types for one that allows any argument: it would not see that
`CPLST(n_component=3)` is misspelt.
"""

from sklearn.base import BaseEstimator as BaseEstimator
from sklearn.base import ClassifierMixin as ClassifierMixin
from sklearn.base import ClassNamePrefixFeaturesOutMixin as ClassNamePrefixFeaturesOutMixin
from sklearn.base import MultiOutputMixin as MultiOutputMixin
from sklearn.base import RegressorMixin as RegressorMixin
from sklearn.base import TransformerMixin as TransformerMixin
