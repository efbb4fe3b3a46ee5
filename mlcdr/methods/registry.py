"""From a name in a config to the class that does the work, imported only when asked for.

Five families are the parts of a method (see `mlcdr.methods.composition`); a sixth, the instance spaces, wraps a method;
two more, the clusterers and the selectors of features for one label, are parameters of these. A built-in component is
one line of `BUILT_IN`; a package installed beside mlcdr adds its own through the entry-point groups
`mlcdr.feature_space`, `mlcdr.dual_space`, `mlcdr.label_space`, `mlcdr.learner`, `mlcdr.threshold`,
`mlcdr.instance_space`, `mlcdr.clusterer` and `mlcdr.local_features`; and any importable class can be named by its
dotted path (`learner: my_package.MyRegressor`).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mlcdr.errors import UserError, list_known, suggest_name
from mlcdr.methods.declarations import Declaration, declaration_of, read_parts
from mlcdr.methods.declarations import parameters as parameters
from mlcdr.methods.provenance import version_of, version_of_ours
from mlcdr.plug_ins import plug_ins

BUILT_IN: dict[str, dict[str, str]] = {
    "feature_space": {
        "pca": "mlcdr.methods.feature_space.pca:PCA",
        "mddm": "mlcdr.methods.feature_space.mddm:MDDM",
        "mddm_filled": "mlcdr.methods.feature_space.mddm_filled:FilledMDDM",
        "mvmd": "mlcdr.methods.feature_space.mvmd:MVMD",
        "cca": "mlcdr.methods.feature_space.cca:LabelCCA",
        "opls": "mlcdr.methods.feature_space.opls:OPLS",
        "hsl": "mlcdr.methods.feature_space.hsl:HSL",
        "mhsl": "mlcdr.methods.feature_space.mhsl:MHSL",
        "lpp": "mlcdr.methods.feature_space.lpp:LPP",
        "shared_subspace": "mlcdr.methods.feature_space.shared_subspace:SharedSubspace",
        "mlda": "mlcdr.methods.feature_space.mlda:MLDA",
        "dmlda": "mlcdr.methods.feature_space.dmlda:DMLDA",
        "mlsi": "mlcdr.methods.feature_space.mlsi:MLSI",
        "scca": "mlcdr.methods.feature_space.scca:SCCA",
        "f_score": "mlcdr.methods.feature_space.f_score:FScore",
        "rfs": "mlcdr.methods.feature_space.rfs:RFS",
        "csfs": "mlcdr.methods.feature_space.csfs:CSFS",
        "mifs": "mlcdr.methods.feature_space.mifs:MIFS",
        "mdfs": "mlcdr.methods.feature_space.mdfs:MDFS",
        "mfs_mcdm": "mlcdr.methods.feature_space.mfs_mcdm:MFSMCDM",
        "mgfs": "mlcdr.methods.feature_space.mgfs:MGFS",
        "reader": "mlcdr.methods.feature_space.reader:READER",
        "mim": "mlcdr.methods.feature_space.mim:MIM",
        "jmi": "mlcdr.methods.feature_space.jmi:JMI",
        "mrmr": "mlcdr.methods.feature_space.mrmr:MRMR",
        "d2f": "mlcdr.methods.feature_space.d2f:D2F",
        "pmu": "mlcdr.methods.feature_space.pmu:PMU",
        "mdmr": "mlcdr.methods.feature_space.mdmr:MDMR",
        "scls": "mlcdr.methods.feature_space.scls:SCLS",
        "lrfs": "mlcdr.methods.feature_space.lrfs:LRFS",
        "fimf": "mlcdr.methods.feature_space.fimf:FIMF",
        "ppt_mi": "mlcdr.methods.feature_space.ppt_mi:PPTMI",
        "grro": "mlcdr.methods.feature_space.grro:GRRO",
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
        "bmad": "mlcdr.methods.label_space.bmad:BMaD",
    },
    "dual_space": {"ddsr": "mlcdr.methods.dual_space.ddsr:DDSR", "idsr": "mlcdr.methods.dual_space.idsr:IDSR"},
    "instance_space": {
        "cbmlc": "mlcdr.methods.instance_space.cbmlc:CBMLC",
        "clmlc": "mlcdr.methods.instance_space.clmlc:CLMLC",
    },
    "clusterer": {"k_means": "mlcdr.numerics.kmeans:SingleStartKMeans"},
    "learner": {
        "least_squares": "mlcdr.methods.learners.least_squares:LeastSquares",
        "ridge": "mlcdr.methods.learners.ridge:Ridge",
        "linear_svm": "mlcdr.methods.learners.linear_svm:LinearSVM",
        "hinge_svm": "mlcdr.methods.learners.hinge_svm:HingeSVM",
        "kernel_ridge": "mlcdr.methods.learners.kernel_ridge:KernelRidge",
        "external_regressor": "mlcdr.methods.learners.external_regressor:ExternalRegressor",
        "separate": "mlcdr.methods.learners.separate:Separate",
        "logistic_regression": "mlcdr.methods.learners.logistic_regression:LogisticRegression",
        "logistic_bfgs": "mlcdr.methods.learners.logistic_bfgs:LogisticBFGS",
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
        "mllem": "mlcdr.methods.classifiers.mllem:MLLEM",
        "omikuji": "mlcdr.methods.classifiers.omikuji:Omikuji",
        "libmultilabel": "mlcdr.methods.classifiers.libmultilabel:LibMultiLabelLinear",
        "rakel": "mlcdr.methods.ensembles.rakel:RAkEL",
        "homer": "mlcdr.methods.instance_space.homer:HOMER",
        "meta_label_chain": "mlcdr.methods.classifiers.meta_label_chain:MetaLabelChain",
        "external": "mlcdr.methods.classifiers.external:External",
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

ENTRIES = ("get_params", "fit", "fit_moments", "fit_transform", "fit_predict", "transform")
"""A class that a dotted path leads to must have one of these methods."""

# Judges a dotted path and its module before that is imported; none where whatever asks is trusted.
_judge: ContextVar[Callable[[str, str], None] | None] = ContextVar("judge", default=None)


class UnknownComponent(UserError):
    """No component of that name in that family; the message lists what there is, and the nearest name."""


@cache
def _known(family: str) -> dict[str, str]:
    known = dict(BUILT_IN.get(family, {}))
    for point in plug_ins(f"mlcdr.{family}"):
        known.setdefault(point.name, point.value)
    return known


def names(family: str) -> list[str]:
    """The names a config may use in `family`, sorted (dotted paths come on top of these)."""
    return sorted(_known(family))


@contextmanager
def judging_imports(judge: Callable[[str, str], None]) -> Iterator[None]:
    """Let `judge` check each dotted path to a module outside mlcdr, scikit-learn and plug-ins before it is imported.

    It gets what was written (`learner 'my_package.Mine'`) and the module, and raises UnknownComponent to refuse it.
    """
    token = _judge.set(judge)
    try:
        yield
    finally:
        _judge.reset(token)


def judge_import(written: str, module: str) -> None:
    """Let the judge, if there is one, check any module that is imported elsewhere.

    Raises
    ------
    UnknownComponent
        When it refuses the module.
    """
    judge = _judge.get()
    if judge is not None:
        judge(written, module)


def _is_known_module(module: str) -> bool:
    """Whether a module may always be imported: mlcdr's, scikit-learn's, or a plug-in's entry point."""
    if module.partition(".")[0] in ("mlcdr", "sklearn"):
        return True
    from mlcdr.metrics.names import offered  # the list of names does without the metrics

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
        hint = describe_elsewhere(name, family) or suggest_name(name, known)
        listing = list_known(sorted(known), "`mlcdr methods`")
        raise UnknownComponent(f"unknown {family} {name!r}{hint} ({listing}; or a dotted path to your own class)")
    return target


def class_name(family: str, name: str) -> str:
    """The name of the class behind `name`, which is not imported.

    Raises
    ------
    UnknownComponent
        When there is no such name.
    """
    return _target(family, name).rpartition(":")[2]


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


def version_of_component(family: str, name: str) -> str:
    """A digest of all code that decides what a component computes, without that of the components in it.

    Raises
    ------
    UnknownComponent
        As `resolve`, for a component of another package or of the user's, which is imported.
    """
    module = _target(family, name).partition(":")[0]
    return version_of_ours(module) if module.startswith("mlcdr.") else version_of(resolve(family, name))


def import_target(written: str, target: str) -> Any:
    """The object at `module:name`, which `written` (`learner 'my_package.Mine'`) leads to.

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
    "none": "label_space: identity",
    "cs": "label_space: compressed_sensing",
    "svd": "label_space: plst, or feature_space: pca",
    "ig": "feature_space: information_gain",
    "mlhsl": "feature_space: mhsl, or feature_space: hsl",
    "ssl": "feature_space: shared_subspace",
}
"""A name in the literature → how its meaning is written in a method."""


def describe_elsewhere(name: str, family: str = "") -> str:
    """`; 'ridge' is a learner` if the name is in other families, or how its meaning is written; else empty."""
    if meant := _MEANINGS.get(name.casefold()):
        return f"; write `{meant}`"
    others = [other for other in BUILT_IN if other != family and name in _known(other)]
    kinds = " and ".join(f"{'an' if other[0] in 'aeiou' else 'a'} {other}" for other in others)
    if not kinds and (path := _find_in_sklearn(name)):
        return f"; write `{path}`"
    return f"; {name!r} is {kinds}" if kinds else ""


def _find_in_sklearn(name: str) -> str:
    """The dotted path of a public class of scikit-learn; empty if there is none. It is not imported, which is slow."""
    spec = find_spec("sklearn") if name[:1].isupper() else None
    if spec is None or spec.origin is None or any(name.casefold() in known for known in BUILT_IN.values()):
        return ""
    for file in sorted(Path(spec.origin).parent.glob("[a-z]*/[_t]*.py")):  # feature_extraction/text.py is public, too
        if file.name in ("__init__.py", "text.py") and f'"{name}"' in file.read_text(encoding="utf-8"):
            inner = [file.stem] if file.stem == "text" else []
            return ".".join(["sklearn", file.parent.name, *inner, name])
    return ""


def find_declaration(family: str, name: str) -> Declaration:
    """The declaration of a component: from `parts.json`, or else from its class, which is imported.

    Raises
    ------
    UnknownComponent
        When there is no such name, module or class.
    """
    return read_parts().get(f"{family}.{name}") or declaration_of(resolve(family, name))
