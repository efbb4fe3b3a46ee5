"""From a name in a config to the class that does the work, imported only when asked for.

Five families fill in a method's line (see `mlcdr.methods.composition`), a sixth, the instance spaces, wraps it, and
parameters of some of these are of two more, the clusterers and the selectors of features for one label. A built-in
component is one line of `BUILT_IN`; a package installed beside mlcdr adds its own through the entry-point groups
`mlcdr.feature_space`, `mlcdr.dual_space`, `mlcdr.label_space`, `mlcdr.learner`, `mlcdr.threshold`,
`mlcdr.instance_space`, `mlcdr.clusterer` and `mlcdr.local_features`; and any importable class can be named by its
dotted path (`learner: my_package.MyRegressor`). A class of ours declares which of its parameters are components; to any
other a component is given as a mapping with one dotted key (`estimator: {sklearn.svm.SVC: {C: 1.0}}`).
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from mlcdr.errors import UserError, describe, suggest_name
from mlcdr.methods.declarations import Declaration, as_number, declaration_of, is_component, read_index
from mlcdr.methods.declarations import parameters as parameters
from mlcdr.methods.provenance import hash_of_source
from mlcdr.metrics.names import offered

BUILT_IN: dict[str, dict[str, str]] = {
    "feature_space": {
        "pca": "mlcdr.methods.feature_space.pca:PCA",
        "mddm": "mlcdr.methods.feature_space.mddm:MDDM",
        "mvmd": "mlcdr.methods.feature_space.mvmd:MVMD",
        "cca": "mlcdr.methods.feature_space.cca:LabelCCA",
        "opls": "mlcdr.methods.feature_space.opls:OPLS",
        "mlhsl": "mlcdr.methods.feature_space.mlhsl:MLHSL",
        "mlda": "mlcdr.methods.feature_space.mlda:MLDA",
        "dmlda": "mlcdr.methods.feature_space.dmlda:DMLDA",
        "mlsi": "mlcdr.methods.feature_space.mlsi:MLSI",
        "scca": "mlcdr.methods.feature_space.scca:SCCA",
        "f_score": "mlcdr.methods.feature_space.f_score:FScore",
        "rfs": "mlcdr.methods.feature_space.rfs:RFS",
        "csfs": "mlcdr.methods.feature_space.csfs:CSFS",
        "mifs": "mlcdr.methods.feature_space.mifs:MIFS",
        "reader": "mlcdr.methods.feature_space.reader:READER",
        "mim": "mlcdr.methods.feature_space.mim:MIM",
        "jmi": "mlcdr.methods.feature_space.jmi:JMI",
        "mrmr": "mlcdr.methods.feature_space.mrmr:MRMR",
        "d2f": "mlcdr.methods.feature_space.d2f:D2F",
        "pmu": "mlcdr.methods.feature_space.pmu:PMU",
        "mdmr": "mlcdr.methods.feature_space.mdmr:MDMR",
        "scls": "mlcdr.methods.feature_space.scls:SCLS",
        "mlfs": "mlcdr.methods.feature_space.global_mlfs:GlobalMLFS",
        "information_gain": "mlcdr.methods.feature_space.information_gain:InformationGain",
        "gain_ratio": "mlcdr.methods.feature_space.gain_ratio:GainRatio",
        "relieff": "mlcdr.methods.feature_space.relieff:ReliefF",
        "wrapper": "mlcdr.methods.feature_space.wrapper:Wrapper",
    },
    "label_space": {
        "identity": "mlcdr.methods.label_space.identity:Identity",
        "pbr": "mlcdr.methods.label_space.pbr:PBR",
        "plst": "mlcdr.methods.label_space.plst:PLST",
        "occa": "mlcdr.methods.label_space.occa:OCCA",
        "cplst": "mlcdr.methods.label_space.cplst:CPLST",
        "kernel_occa": "mlcdr.methods.label_space.kernel_occa:KernelOCCA",
        "kernel_cplst": "mlcdr.methods.label_space.kernel_cplst:KernelCPLST",
        "faie": "mlcdr.methods.label_space.faie:FaIE",
        "cca": "mlcdr.methods.label_space.cca:CanonicalCodes",
        "cssp": "mlcdr.methods.label_space.cssp:CSSP",
        "reader_le": "mlcdr.methods.label_space.reader_le:ReaderLE",
        "compressed_sensing": "mlcdr.methods.label_space.compressed_sensing:CompressedSensing",
        "random_projection": "mlcdr.methods.label_space.random_projection:RandomProjection",
        "leml": "mlcdr.methods.label_space.leml:LEML",
        "clems": "mlcdr.methods.label_space.clems:CLEMS",
    },
    "dual_space": {
        "ddsr": "mlcdr.methods.dual_space.ddsr:DDSR",
        "idsr": "mlcdr.methods.dual_space.idsr:IDSR",
    },
    "instance_space": {
        "cbmlc": "mlcdr.methods.instance_space.cbmlc:CBMLC",
        "clmlc": "mlcdr.methods.instance_space.clmlc:CLMLC",
    },
    "clusterer": {
        "k_means": "mlcdr.numerics.kmeans:SingleStartKMeans",
    },
    "learner": {
        "least_squares": "mlcdr.methods.learners.least_squares:LeastSquares",
        "ridge": "mlcdr.methods.learners.ridge:Ridge",
        "linear_svm": "mlcdr.methods.learners.linear_svm:LinearSVM",
        "kernel_ridge": "mlcdr.methods.learners.kernel_ridge:KernelRidge",
        "separate": "mlcdr.methods.learners.separate:Separate",
        "logistic_regression": "mlcdr.methods.learners.logistic_regression:LogisticRegression",
        "m5p": "mlcdr.methods.learners.m5p:M5P",
        "c45": "mlcdr.methods.learners.c45:C45",
        "weka_m5p": "mlcdr.methods.learners.weka_m5p:WekaM5P",
        "binary_relevance": "mlcdr.methods.chains.binary_relevance:BinaryRelevance",
        "br_plus": "mlcdr.methods.chains.br_plus:BRPlus",
        "classifier_chain": "mlcdr.methods.chains.classifier_chain:ClassifierChain",
        "k_dependence_chain": "mlcdr.methods.chains.k_dependence_chain:KDependenceChain",
        "bayesian_classifier_chain": "mlcdr.methods.chains.bayesian_classifier_chain:BayesianClassifierChain",
        "polytree_chain": "mlcdr.methods.chains.polytree_chain:PolytreeChain",
        "probabilistic_classifier_chain": (
            "mlcdr.methods.chains.probabilistic_classifier_chain:ProbabilisticClassifierChain"
        ),
        "occ": "mlcdr.methods.chains.occ:OCC",
        "ensemble": "mlcdr.methods.ensembles.ensemble:Ensemble",
        "label_powerset": "mlcdr.methods.classifiers.label_powerset:LabelPowerset",
        "pairwise": "mlcdr.methods.classifiers.pairwise:CalibratedLabelRanking",
        "mlknn": "mlcdr.methods.classifiers.mlknn:MLkNN",
        "llsf": "mlcdr.methods.classifiers.llsf:LLSF",
        "lift": "mlcdr.methods.classifiers.lift:LIFT",
        "adaboost_mh": "mlcdr.methods.classifiers.adaboost_mh:AdaBoostMH",
        "dismec": "mlcdr.methods.classifiers.dismec:DiSMEC",
        "sleec": "mlcdr.methods.classifiers.sleec:SLEEC",
        "omikuji": "mlcdr.methods.classifiers.omikuji:Omikuji",
        "libmultilabel": "mlcdr.methods.classifiers.libmultilabel:LibMultiLabelLinear",
        "rakel": "mlcdr.methods.ensembles.rakel:RAkEL",
        "homer": "mlcdr.methods.instance_space.homer:HOMER",
        "meta_label_chain": "mlcdr.methods.classifiers.meta_label_chain:MetaLabelChain",
        "mlsf": "mlcdr.methods.classifiers.mlsf:MLSF",
        "reader_le": "mlcdr.methods.classifiers.reader_le:ReaderLEClassifier",
    },
    "local_features": {
        "mlfs": "mlcdr.methods.local_features.mlfs:LocalMLFS",
        "same_for_all": "mlcdr.methods.local_features.same_for_all:SameForAll",
        "mlig": "mlcdr.methods.local_features.mlig:MLIG",
        "mlcfs": "mlcdr.methods.local_features.mlcfs:MLCFS",
        "ldf": "mlcdr.methods.local_features.label_dependent:LabelDependentFeatures",
        "for_each_label": "mlcdr.methods.local_features.for_each_label:ForEachLabel",
    },
    "threshold": {
        "fixed": "mlcdr.methods.thresholds:Fixed",
        "maximise": "mlcdr.methods.thresholds:Maximise",
        "p_cut": "mlcdr.methods.thresholds:PCut",
        "r_cut": "mlcdr.methods.thresholds:RCut",
        "round": "mlcdr.methods.thresholds:Round",
        "zero": "mlcdr.methods.thresholds:Zero",
    },
}

NESTED = "estimator"
"""The family of a component that a parameter of another package's class is: it has no names, only dotted paths."""

ENTRIES = ("get_params", "fit", "fit_moments", "fit_transform", "fit_predict", "transform")
"""A class that a dotted path leads to must have one of these methods."""

# Judges a dotted path and its module before that is imported; none where whatever asks is trusted.
_judge: ContextVar[Callable[[str, str], None] | None] = ContextVar("judge", default=None)


class UnknownComponent(UserError):
    """No component of that name in that family; the message lists what there is, and the nearest name."""


@cache
def _known(family: str) -> dict[str, str]:
    known = dict(BUILT_IN.get(family, {}))
    for point in entry_points(group=f"mlcdr.{family}"):
        known.setdefault(point.name, point.value)
    return known


def names(family: str) -> list[str]:
    """The names a config may use in `family`, sorted (dotted paths come on top of these)."""
    return sorted(_known(family))


@contextmanager
def judging_imports(judge: Callable[[str, str], None]) -> Iterator[None]:
    """Have `judge` look at each dotted path to a module beyond mlcdr, scikit-learn and plug-ins before it is imported.

    It gets what was written (`learner 'my_package.Mine'`) and the module, and raises UnknownComponent to refuse it.
    """
    token = _judge.set(judge)
    try:
        yield
    finally:
        _judge.reset(token)


def judge_import(written: str, module: str) -> None:
    """Have the judge, if there is one, look at a module that is imported elsewhere, whatever it is.

    Raises
    ------
    UnknownComponent
        When it refuses the module.
    """
    judge = _judge.get()
    if judge is not None:
        judge(written, module)


def _is_known_module(module: str) -> bool:
    """Whether a module may be imported whatever names it: mlcdr's, scikit-learn's, or a plug-in's entry point."""
    if module.partition(".")[0] in ("mlcdr", "sklearn"):
        return True
    targets = [*offered().values(), *(target for family in BUILT_IN for target in _known(family).values())]
    return any(module == target.partition(":")[0] for target in targets)


def _target(family: str, name: str) -> str:
    """`module:class` of a name, or of a dotted path.

    Raises
    ------
    UnknownComponent
        When it is neither.
    """
    known = _known(family)
    target = known.get(name)
    if target is None and "." in name:
        module_name, _, class_name = name.rpartition(".")
        target = f"{module_name}:{class_name}"
    if target is None:
        hint, listing = (
            describe_elsewhere(name, family) or suggest_name(name, known),
            ", ".join(sorted(known)) or "none yet",
        )
        raise UnknownComponent(
            f"unknown {family} {name!r}{hint} (known: {listing}; or a dotted path to your own class)"
        )
    return target


def resolve(family: str, name: str) -> type:
    """The class behind `name` in `family`, or behind a dotted path.

    Raises
    ------
    UnknownComponent
        When there is no such name, module or class; the plug-in cannot be imported; or `judging_imports` refuses it.
    """
    found = import_target(f"{family} {name!r}", _target(family, name))
    if not inspect.isclass(found):
        raise UnknownComponent(f"{family} {name!r} is a {type(found).__name__}, not a class")
    if name not in _known(family) and not any(callable(getattr(found, method, None)) for method in ENTRIES):
        # To construct an estimator is to store its parameters; of another class (subprocess.Popen) it can be anything.
        raise UnknownComponent(
            f"{family} {name!r} is not an estimator: it has neither get_params (scikit-learn's BaseEstimator) nor fit "
            "nor transform"
        )
    return found


def import_target(written: str, target: str) -> Any:
    """What stands at `module:name`, which `written` (`learner 'my_package.Mine'`) leads to.

    Raises
    ------
    UnknownComponent
        When it cannot be imported, or `judging_imports` refuses it.
    """
    module_name, _, name = target.partition(":")
    if not _is_known_module(module_name):
        judge_import(written, module_name)
    try:
        return getattr(importlib.import_module(module_name), name)
    except (Exception, SystemExit) as error:  # whatever a module of the user's own may raise while it is imported
        why = str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise UnknownComponent(f"{written} cannot be imported: {' '.join(why.split())}") from error


def version_of_function(target: str) -> str:
    """A digest of all source that the function at `module:name` depends on, as `Component.version`; errors likewise."""
    return hash_of_source(import_target(target, target)).hexdigest()[:16]


_MEANINGS = {
    "br": "learner: binary_relevance",
    "cc": "learner: classifier_chain",
    "pcc": "learner: probabilistic_classifier_chain",
    "bcc": "learner: bayesian_classifier_chain",
    "ecc": "learner: {ensemble: classifier_chain}",
    "ebr": "learner: {ensemble: binary_relevance}",
    "ebcc": "learner: {ensemble: bayesian_classifier_chain}",
    "eocc": "learner: {ensemble: occ}",
    "lp": "learner: label_powerset",
    "lc": "learner: label_powerset",
    "clr": "learner: pairwise",
    "ml_knn": "learner: mlknn",
    "knn": "learner: mlknn, or {binary_relevance: sklearn.neighbors.KNeighborsClassifier}",
    "rf": "learner: sklearn.ensemble.RandomForestClassifier",
    "random_forest": "learner: sklearn.ensemble.RandomForestClassifier",
    "svm": "learner: {binary_relevance: linear_svm}",
    "lr": "learner: {binary_relevance: logistic_regression}",
    "logistic": "learner: {binary_relevance: logistic_regression}",
    "dt": "learner: {binary_relevance: c45}",
    "mlp": "learner: sklearn.neural_network.MLPClassifier",
    "adaboost": "learner: adaboost_mh",
    "j48": "learner: {binary_relevance: c45}",
    "linear_regression": "learner: least_squares",
    "krr": "learner: kernel_ridge",
    "cs": "label_space: compressed_sensing",
    "svd": "label_space: plst, or feature_space: pca",
    "ig": "feature_space: information_gain",
}
"""How what a name means in the literature is written in a method."""


def describe_elsewhere(name: str, family: str = "") -> str:
    """`; 'ridge' is a learner` if the name is one of other families, or how what it means is written; else nothing."""
    if meant := _MEANINGS.get(name.casefold()):
        return f"; write `{meant}`"
    others = [other for other in BUILT_IN if other != family and name in _known(other)]
    kinds = " and ".join(f"{'an' if other[0] in 'aeiou' else 'a'} {other}" for other in others)
    return f"; {name!r} is {kinds}" if kinds else ""


def look_up(family: str, name: str) -> Declaration | None:
    """What a built-in component declares, by the index; None of any other, whose class takes long to import.

    Raises
    ------
    UnknownComponent
        When there is no such name.
    """
    target = _target(family, name)
    found = read_index().get(family, {}).get(name) if name in BUILT_IN.get(family, {}) else None
    return found if found is not None and found.target == target else None


def declared(family: str, name: str) -> Declaration:
    """What a component declares: by the index, or else by its class.

    Raises
    ------
    UnknownComponent
        When there is no such name, module or class.
    """
    return look_up(family, name) or declared_by_class(family, name)


def declared_by_class(family: str, name: str) -> Declaration:
    """What the class of a component declares; errors as `declared`."""
    module = _target(family, name).partition(":")[0]
    alone = sum(target.partition(":")[0] == module for target in _known(family).values()) == 1
    return declaration_of(resolve(family, name), alone)


@dataclass(frozen=True)
class Component:
    """One component of a method as a config names it: a family, a name and the parameters written out.

    `params` hold the values as written (`"20%"` stays text there); `build` turns percentages into fractions, and texts
    into estimators where the class says, in `component_parameters` (parameter → family), that a parameter is itself a
    component; and, but for our own classes, mappings with one dotted key, in lists and mappings as well.
    """

    family: str
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, family: str, written: Any) -> Component:
        """From `name`, `{name: {parameter: value}}` or `{name: value}` (the value goes to the first parameter).

        Raises
        ------
        UserError
            When `written` has none of these forms, or the name or a parameter is unknown. Values are not judged.
        """
        name, params = _read_form(written)
        component, _, problems = _name_parameters(family, name, params, declared(family, name))
        for _, why in problems:
            raise UserError(why)
        return component

    def plain(self) -> Any:
        """The shortest form that `parse` reads back."""
        return {self.name: dict(self.params)} if self.params else self.name

    def declaration(self) -> Declaration:
        """What it declares."""
        return declared(self.family, self.name)

    def part(self, parameter: str) -> Component | None:
        """The component that a parameter is given as; None if it is no component, or has its default."""
        written = self.params.get(parameter)
        family = _part_family(self.declaration(), parameter, written)
        return Component.parse(family, written) if family else None

    def parts(self) -> dict[str, Component]:
        """Parameter → component, of those that are given as components.

        One in a list or mapping has the parameter's name and its own, or its number: `steps.scale`.
        """
        declaration, found = self.declaration(), {}
        for key in dict.fromkeys((*declaration.components, *self.params)):
            for path, _, family, written in _parts_of(declaration, key, self.params.get(key)):
                found[".".join((key, *path))] = Component.parse(family, written)
        return found

    def value(self, parameter: str) -> Any:
        """The value that `build` gives a plain parameter: as written, a percentage as a fraction, or the default."""
        if parameter in self.params:
            return as_number(self.params[parameter])
        return self.declaration().parameters[parameter].default

    def build(self, check: bool = True) -> Any:
        """The estimator; `check` compares its parameters with the constraints it declares (a config's have been).

        Raises
        ------
        ValueError
            When a value is impossible, or may not be given to a class of another package; the message names the
            parameter.
        """
        from mlcdr.methods import foreign  # imports scikit-learn, as the class has

        cls, declaration = resolve(self.family, self.name), self.declaration()
        for key, value in sorted(self.params.items()) if check or declaration.is_foreign else ():
            if (declaration.is_foreign or not any(_parts_of(declaration, key, value))) and (
                why := declaration.find_problem(key, value)
            ):
                raise ValueError(why)
        values = {}
        for key, value in self.params.items():
            part = self.part(key)
            values[key] = _filled(value, declaration, key, check) if part is None else part.build(check)
        estimator = foreign.build(cls, values)
        if check:
            from mlcdr.methods.contracts import validate_parameters

            validate_parameters(estimator)
        return estimator

    def is_classifier(self) -> bool:
        """Whether it is a classifier, by scikit-learn's tags.

        Raises
        ------
        TypeError
            When only an instance can tell, and a parameter that it needs is not given.
        """
        known = self.declaration().is_classifier
        if known is not None:
            return known
        from sklearn.base import is_classifier

        return bool(is_classifier(self.build(check=False)))

    def classes(self) -> Iterator[type]:
        """The class of the component, and those of the components among its parameters."""
        yield resolve(self.family, self.name)
        for part in self.parts().values():
            yield from part.classes()

    def version(self) -> str:
        """A digest of all source this component's results depend on: edit it, and its trials run again.

        Covers the modules of the class and its bases and every module of ours or the user's that they use, directly or
        not; of a class from an installed package, the package's version.
        """
        digest = hash_of_source(resolve(self.family, self.name)).copy()
        for _, part in sorted(self.parts().items()):
            digest.update(part.version().encode())
        return digest.hexdigest()[:16]


Keys = tuple[str | int, ...]
"""The keys that lead from a component to something in it."""


def _part_family(declaration: Declaration, parameter: str, written: Any) -> str | None:
    """The family of the component that a parameter is given as; None if what is written is none."""
    family = declaration.components.get(parameter)
    if family:
        return family if isinstance(written, str | Mapping) else None
    return NESTED if not declaration.is_ours and is_component(written) else None


def _parts_of(
    declaration: Declaration, parameter: str, written: Any
) -> Iterator[tuple[tuple[str, ...], Keys, str, Any]]:
    """The components that a parameter is given as, or that what it is given holds.

    Of each the names and the keys that lead from the parameter to it, its family, and what is written.
    """
    if family := _part_family(declaration, parameter, written):
        yield (), (), family, written
    elif not declaration.is_ours:
        yield from _nested(written)


def _nested(written: Any) -> Iterator[tuple[tuple[str, ...], Keys, str, Any]]:
    """The components in a list or mapping, as `_parts_of` gives them."""
    for name, keys, each in entries(written):
        if is_component(each):
            yield (name,), keys, NESTED, each
        else:
            yield from (((name, *path), (*keys, *inner), *rest) for path, inner, *rest in _nested(each))


def entries(written: Any) -> Iterator[tuple[str, Keys, Any]]:
    """What is in a list or mapping: its name, the keys that lead to it, and itself.

    A named estimator in a list, `{name: estimator}` or `[name, estimator]`, has that name; anything else its number.
    """
    if isinstance(written, Mapping):
        yield from ((str(key), (key,), each) for key, each in written.items())
    elif isinstance(written, list | tuple):
        for i, each in enumerate(written):
            name, keys, inner = _step(each) or (str(i), (), each)
            yield name, (i, *keys), inner


def _step(written: Any) -> tuple[str, Keys, Any] | None:
    """The name of a named estimator in a list, the key that leads from there to it, and what is written; or None."""
    if isinstance(written, Mapping) and len(written) == 1 and not is_component(written):
        ((name, estimator),) = written.items()
        key: str | int = name
    elif isinstance(written, list | tuple) and len(written) >= 2:
        key, (name, estimator) = 1, written[:2]
    else:
        return None
    right = is_component(estimator) or (isinstance(estimator, str) and estimator in ("passthrough", "drop"))
    return (name, (key,), estimator) if right and isinstance(name, str) else None


def _filled(written: Any, declaration: Declaration, parameter: str, check: bool) -> Any:
    """The value of a parameter, with the components in it built, and named estimators and tuples as scikit-learn has
    them.
    """
    if declaration.is_ours or isinstance(written, str):
        return as_number(written)

    def fill(each: Any) -> Any:
        if is_component(each):
            return Component.parse(NESTED, each).build(check)
        if isinstance(each, Mapping):
            return {key: fill(inner) for key, inner in each.items()}
        return type(each)(map(fill, each)) if isinstance(each, list | tuple) else each

    if parameter != declaration.steps or not isinstance(written, list):
        known = declaration.parameters.get(parameter)
        is_tuple = isinstance(written, list) and known is not None and isinstance(known.default, tuple)
        return tuple(fill(written)) if is_tuple else fill(written)
    return [tuple(fill(next(iter(each.items())) if isinstance(each, Mapping) else each)) for each in written]


def _find_wrong_steps(written: Any) -> Iterator[Problem]:
    """What is wrong with the form of a list of named estimators."""
    right = "`{name: {package.Class: {parameter: value}}}`"
    if not isinstance(written, list) or not written:
        yield (), f"must be a list of named estimators, each {right}, found {describe(written)}"
        return
    names: set[str] = set()
    for i, each in enumerate(written):
        step = _step(each)
        if step is None:
            yield (i,), f"must be a named estimator, {right}, found {describe(each)}"
        elif step[0] in names:
            yield (i,), f"the name {step[0]!r} is given twice"
        elif "__" in step[0]:
            yield (i,), f"the name {step[0]!r} must not hold `__`"
        else:
            names.add(step[0])


Problem = tuple[Keys, str]
"""Where something is wrong, and what."""


@dataclass
class Reading:
    """What came of reading a component as a config writes it.

    Attributes
    ----------
    component, declaration : Component and Declaration or None
        None if something is wrong, or can only be known by a class that may not be imported.
    problems : list of Problem
        All that is wrong.
    complete : bool
        Whether everything was judged; False where only classes that may not be imported can do so.
    lacks : bool
        Whether a parameter that it needs, or that a component in it needs, has its values elsewhere.
    """

    component: Component | None = None
    declaration: Declaration | None = None
    problems: list[Problem] = field(default_factory=list)
    complete: bool = True
    lacks: bool = False


def read(family: str, written: Any, importing: bool = True, swept: Collection[str] | None = ()) -> Reading:
    """Read and judge a component: its form, its name, and the names and values of its parameters.

    Parameters
    ----------
    family : str
        Of the component.
    written : object
        `name`, `{name: {parameter: value}}`, or `{name: value}` (for the first parameter).
    importing : bool
        Whether classes may be imported, and components be built, to judge what the index does not know.
    swept : collection of str, or None
        Paths of parameters that have their values elsewhere (`estimator.C`); None: any that is missing.
    """
    inner: Keys = ()
    try:
        name, params = _read_form(written)
        inner = () if isinstance(written, str) else (name,)
        declaration = declared(family, name) if importing else look_up(family, name)
    except UserError as error:
        return Reading(problems=[(inner, str(error))])
    if declaration is None:
        return Reading(complete=False)
    component, places, problems = _name_parameters(family, name, params, declaration, inner)
    reading = Reading(component, declaration, problems)
    reading.complete = declaration.is_indexed and not declaration.checks_itself
    missing = [key for key, each in declaration.parameters.items() if each.required and key not in component.params]
    reading.lacks = bool(missing)
    for key in missing:
        if swept is not None and key not in {path.partition(".")[0] for path in swept}:
            problems.append((inner, f"{family} {name!r} needs the parameter {key!r}"))
    misnamed = bool(problems)
    for key in sorted(component.params.keys() & declaration.parameters.keys()):  # scikit-learn's order
        value = component.params[key]
        found = list(_parts_of(declaration, key, value))
        if (declaration.is_foreign or not found) and not misnamed and (why := declaration.find_problem(key, value)):
            problems.append((places[key], why))
            continue
        if key == declaration.steps:
            problems += [((*places[key], *at), why) for at, why in _find_wrong_steps(value)]
        for path, keys, part_family, each in found:
            prefix = ".".join((key, *path, ""))
            below = swept and [other.removeprefix(prefix) for other in swept if other.startswith(prefix)]
            part = read(part_family, each, importing, below)
            problems += [((*places[key], *keys, *at), why) for at, why in part.problems]
            if part.declaration is None:
                reading.component = None
            surely = key in declaration.components and declaration.surely_takes(key, part.declaration)
            reading.complete &= part.complete and surely
            reading.lacks |= part.lacks
    if importing and not (reading.complete or problems or reading.lacks):
        problems += _find_problems_of_instance(component, places, inner)
        reading.complete = True
    if problems:
        reading.component = None
    return reading


def _read_form(written: Any) -> tuple[str, Any]:
    """The name of a component, and what is written of its parameters (None: nothing)."""
    if isinstance(written, str):
        return written, None
    if isinstance(written, Mapping) and len(written) == 1 and isinstance(next(iter(written)), str):
        return next(iter(written.items()))
    keys = f" of {len(written)} keys" if isinstance(written, Mapping) else ""
    right = "a name, or a name with its parameters (`{name: {parameter: value}}`)"
    raise UserError(f"must be {right}, found {describe(written)}{keys}")


def _name_parameters(
    family: str, name: str, written: Any, declaration: Declaration, inner: Keys = ()
) -> tuple[Component, dict[str, Keys], list[Problem]]:
    """The component, where each of its parameters is written, and what is wrong with their names."""
    if written is None:
        written = {}
    if isinstance(written, Mapping):
        params, places = dict(written), {key: (*inner, key) for key in written}
    elif declaration.parameters:
        first = next(iter(declaration.parameters))
        params, places = {first: written}, {first: inner}
    else:
        message = f"{family} {name!r} takes no parameter, found {describe(written)}"
        return Component(family, name), {}, [(inner, message)]
    unknown = [key for key in params if key not in declaration.parameters]
    problems = [(places[key], declaration.describe_unknown(key, f"{family} {name!r}")) for key in unknown]
    return Component(family, name, params), places, problems


# How scikit-learn's InvalidParameterError begins.
_BLAMED = re.compile(r"The '(\w+)' parameter of")


def _find_problems_of_instance(component: Component, places: Mapping[str, Keys], inner: Keys) -> Iterator[Problem]:
    """Why the component cannot be built: as scikit-learn names one wrong parameter at a time, try again without it."""
    params = dict(component.params)
    while True:
        try:
            Component(component.family, component.name, params).build()
        except (UserError, ValueError, TypeError) as error:
            message = " ".join(str(error).split())
        else:
            return
        blamed = _BLAMED.search(message)
        key = blamed[1] if blamed else ""
        yield places.get(key, inner), message
        if key not in params or component.declaration().parameters[key].required:
            return
        del params[key]
