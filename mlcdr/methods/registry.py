"""From a name in a config to the class that does the work, imported only when asked for.

Five families fill in a method's line (see `mlcdr.methods.composition`), a sixth, the instance spaces, wraps it, and
parameters of some of these are of two more, the clusterers and the selectors of features for one label. A built-in
component is one line of `BUILT_IN`; a package installed beside mlcdr adds its own through the entry-point groups
`mlcdr.feature_space`, `mlcdr.dual_space`, `mlcdr.label_space`, `mlcdr.learner`, `mlcdr.threshold`,
`mlcdr.instance_space`, `mlcdr.clusterer` and `mlcdr.local_features`; and any importable class can be named by its
dotted path (`learner: my_package.MyRegressor`).
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Any

from mlcdr.errors import UserError, suggest_name
from mlcdr.methods.declared import Declared, Untold, as_number

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

# A trial's result depends on these modules, and on those they use, whatever its components are.
_ENGINE = ("mlcdr.methods.composition", "mlcdr.metrics")


# Parameters whose names mean a place to load from or to write to: `memory`, `cache_dir`, `log_file`, `model_path`.
_PLACES = re.compile(
    r"(.*_)?(memory|cache.*|.*(file|path|dir|folder)s?|.*(filename|director(y|ies))s?|locations?|ur[il]s?)(_.*)?", re.I
)
# Text that names no file but perhaps one without a suffix in the folder the command is run in.
_WORDS = re.compile(r"[\w+ -]*")

# Judges a dotted path and its module before that is imported; none where whatever asks is trusted.
_judge: ContextVar[Callable[[str, str], None] | None] = ContextVar("judge", default=None)


class UnknownComponent(UserError):
    """No component of that name in that family; the message lists what there is, and the nearest name."""


@cache
def _known(family: str) -> dict[str, str]:
    known = dict(BUILT_IN[family])
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


def _is_known_module(module: str) -> bool:
    """Whether a module may be imported whatever names it: mlcdr's, scikit-learn's, or a plug-in's entry point."""
    if module.partition(".")[0] in ("mlcdr", "sklearn"):
        return True
    return any(module == target.partition(":")[0] for family in BUILT_IN for target in _known(family).values())


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
        hint, listing = _elsewhere(name, family) or suggest_name(name, known), ", ".join(sorted(known)) or "none yet"
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
    target = _target(family, name)
    module_name, _, class_name = target.partition(":")
    judge = _judge.get()
    if judge is not None and not _is_known_module(module_name):
        judge(f"{family} {name!r}", module_name)
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (Exception, SystemExit) as error:  # whatever a module of the user's own may raise while it is imported
        told = str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise UnknownComponent(f"{family} {name!r} cannot be imported: {' '.join(told.split())}") from error
    if not inspect.isclass(found):
        raise UnknownComponent(f"{family} {name!r} is a {type(found).__name__}, not a class")
    if name not in _known(family) and not callable(getattr(found, "get_params", None)):
        # To construct an estimator is to store its parameters; of another class (subprocess.Popen) it can be anything.
        raise UnknownComponent(
            f"{family} {name!r} is not an estimator: it has no get_params (scikit-learn's BaseEstimator)"
        )
    if _is_foreign(found) and any(base.__name__ == "_BaseComposition" for base in found.__mro__):
        raise UnknownComponent(
            f"{family} {name!r} is made of other estimators, which a config cannot give it; list the steps as the "
            "method's own parts (`feature_space: [...]`, `learner:`), or write a class that makes it"
        )
    return found


def _elsewhere(name: str, family: str) -> str:
    """`; 'ridge' is a learner` if the name is one of other families, else nothing."""
    others = [other for other in BUILT_IN if other != family and name in _known(other)]
    told = " and ".join(f"{'an' if other[0] in 'aeiou' else 'a'} {other}" for other in others)
    return f"; {name!r} is {told}" if told else ""


def summary(family: str, name: str) -> str:
    """What a component is, in a line: what its file says first, if the file is its alone; else what its class says."""
    cls = resolve(family, name)
    alone = sum(target.partition(":")[0] == cls.__module__ for target in _known(family).values()) < 2
    text = inspect.getdoc(sys.modules[cls.__module__] if alone else cls) or ""
    return " ".join(text.partition("\n\n")[0].split())


@cache
def parameters(cls: type) -> dict[str, Any]:
    """The constructor's parameters and their defaults, in order (`inspect.Parameter.empty` where there is none)."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: p.default for p in list(signature.parameters.values())[1:] if p.kind in kinds}


@cache
def told(family: str, name: str) -> Declared | None:
    """What a component declares, as its source says it; None if only its class, which may take long to import, can.

    Raises
    ------
    UnknownComponent
        When there is no such name.
    """
    target = _target(family, name)
    if name not in BUILT_IN[family]:
        return None
    module_name, _, class_name = target.partition(":")
    try:
        return Declared.read(module_name, class_name)
    except Untold:
        return None


def declared(family: str, name: str) -> Declared:
    """What a component declares: as its source says it, or its class.

    Raises
    ------
    UnknownComponent
        When there is no such name, module or class.
    """
    found = told(family, name)
    if found is None:
        cls = resolve(family, name)
        found = Declared.of(cls, parameters(cls))
    return found


@dataclass(frozen=True)
class Component:
    """One component of a method as a config names it: a family, a name and the parameters written out.

    `params` hold the values as written (`"20%"` stays text there); `build` turns percentages into fractions, and texts
    into estimators where the class says, in `component_parameters` (parameter → family), that a parameter is itself a
    component.
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
            When `written` has none of these forms, or the name or a parameter is unknown.
        """
        if isinstance(written, str):
            declared(family, written)
            return cls(family, written)
        if not (isinstance(written, Mapping) and len(written) == 1 and isinstance(next(iter(written)), str)):
            raise UserError(f"a {family} is a name, or one name with its parameters: `{{name: {{parameter: value}}}}`")
        ((name, params),) = written.items()
        allowed = declared(family, name).parameters
        if params is None:
            params = {}
        elif not isinstance(params, Mapping):
            if not allowed:
                raise UserError(f"{family} {name!r} takes no parameter")
            params = {next(iter(allowed)): params}
        for key in params:
            if key not in allowed:
                hint = suggest_name(str(key), allowed)
                raise UserError(
                    f"{family} {name!r} has no parameter {key!r}{hint} (it has: {', '.join(allowed) or 'none'})"
                )
        return cls(family, name, dict(params))

    def plain(self) -> Any:
        """The shortest form that `parse` reads back."""
        return {self.name: dict(self.params)} if self.params else self.name

    def value(self, parameter: str) -> Any:
        """The value that `build` gives a plain parameter: as written, a percentage as a fraction, or the default."""
        if parameter in self.params:
            return as_number(self.params[parameter])
        return parameters(resolve(self.family, self.name))[parameter]

    def build(self, check: bool = True) -> Any:
        """The estimator; `check` compares its parameters with the constraints it declares (a config's have been).

        Raises
        ------
        ValueError
            (scikit-learn's `InvalidParameterError`) when a value is impossible, or may not be given to a class of
            another package (`_refuse_places`); the message names the parameter.
        """
        cls = resolve(self.family, self.name)
        nested: Mapping[str, str] = getattr(cls, "component_parameters", {})
        values = {}
        for key, value in self.params.items():
            if key in nested and isinstance(value, str | Mapping):
                values[key] = Component.parse(nested[key], value).build()
            else:
                values[key] = as_number(value)
                if values[key] is not value and _is_foreign(cls):
                    raise ValueError(
                        f"a percentage means nothing to {cls.__name__}: write the value of {key!r} that it takes"
                    )
                if _is_foreign(cls):
                    _refuse_places(cls, key, value)
                if check and not _is_foreign(cls):
                    _refuse_in_disguise(cls, key, value)
        estimator = cls(**values)
        if check and hasattr(estimator, "_parameter_constraints"):
            estimator._validate_params()
        return estimator

    def problems(self) -> Iterator[tuple[str, str]]:
        """What is wrong with parameters by what the source says, in alphabetical order: the parameter, and why.

        As `build` would find it, but that nothing is imported; what cannot be told without is left out. The order is
        that in which scikit-learn looks at parameters, so that the first problem is the one it would name.
        """
        known = told(self.family, self.name)
        for key, value in sorted(self.params.items()) if known else ():
            nested = known.components.get(key) if known else None
            if nested and isinstance(value, str | Mapping):
                name = value if isinstance(value, str) else next(iter(value), None)
                try:
                    if not isinstance(name, str) or told(nested, name):
                        yield from ((key, why) for _, why in Component.parse(nested, value).problems())
                except UserError as error:
                    yield key, str(error)
            elif known and (why := known.problem(key, value)):
                yield key, why

    def classes(self) -> Iterator[type]:
        """The class of the component, and those of the components among its parameters."""
        cls = resolve(self.family, self.name)
        yield cls
        for key, family in getattr(cls, "component_parameters", {}).items():
            if isinstance(self.params.get(key), str | Mapping):
                yield from Component.parse(family, self.params[key]).classes()

    def version(self) -> str:
        """A digest of all source this component's results depend on: edit it, and its trials run again.

        Covers the modules of the class and its bases and every module of ours or the user's that they use, directly or
        not; of a class from an installed package, the package's version.
        """
        cls = resolve(self.family, self.name)
        digest = _hashed(cls).copy()
        for key, family in sorted(getattr(cls, "component_parameters", {}).items()):
            if isinstance(self.params.get(key), str | Mapping):
                digest.update(Component.parse(family, self.params[key]).version().encode())
        return digest.hexdigest()[:16]


def _refuse_places(cls: type, key: str, written: Any, inner: str | None = None) -> None:
    """Raise ValueError where a value could name a place to load from, as some load pickles; a config is no program.

    Of another package's class we cannot know what it does with its parameters. So one whose name means a place gets no
    text and no list; any other gets numbers, true, false, null, words, and lists and mappings of these.
    """
    name = inner or key
    shown = f"The {key!r} parameter of {cls.__name__}"
    if written is None or isinstance(written, bool | int | float):
        return
    if _PLACES.fullmatch(name):
        meant = "" if name == key else f", in {name!r},"
        raise ValueError(f"{shown}{meant} names a place to load from or to write to, which no config may set")
    if isinstance(written, Mapping):
        for each, value in written.items():
            _refuse_places(cls, key, value, str(each))
            _refuse_places(cls, key, str(each))
    elif isinstance(written, list | tuple):
        for value in written:
            _refuse_places(cls, key, value, inner)
    elif not _WORDS.fullmatch(written):
        raise ValueError(
            f"{shown} must be no text that could name a file: a config may give a class of another package words "
            f"only (letters, digits, `_`, `-`, `+`, spaces). Got {written!r} instead."
        )


def _refuse_in_disguise(cls: type, key: str, written: Any) -> None:
    """Raise scikit-learn's error, with the value as written, where only Python's arithmetic makes it a number.

    To Python `true` is the number 1; and a percentage is a share of what there is to choose from, so it means nothing
    to a parameter whose range goes beyond 1 (`alpha: 20%`), and one of more than 100 % should not be told as 1.2.
    """
    declared = getattr(cls, "_parameter_constraints", {}).get(key)
    if not isinstance(declared, list) or (as_number(written) is written and not isinstance(written, bool)):
        return
    # a class that declares its constraints has imported these; names can be looked up without them
    from sklearn.utils._param_validation import Interval, make_constraint, validate_parameter_constraints

    intervals = [each for each in declared if isinstance(each, Interval)]
    if isinstance(written, bool):
        others = [make_constraint(each) for each in declared if not isinstance(each, Interval)]
        wrong = bool(intervals) and not any(each.is_satisfied_by(written) for each in others)
        shown = str(written).lower()
    else:
        reals = [each for each in intervals if each.type is not Integral]
        shares = [each for each in reals if each.right is not None and each.right <= 1]
        wrong = bool(intervals) and not any(each.is_satisfied_by(as_number(written)) for each in shares)
        shown = written
    if wrong:
        validate_parameter_constraints({key: declared}, {key: _AsWritten(shown)}, caller_name=cls.__name__)


class _AsWritten(str):
    """A value as the config wrote it: no number, and shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


@cache
def _hashed(cls: type) -> hashlib._Hash:
    return hashlib.sha256(b"".join(_provenance(cls)))


@cache
def _provenance(cls: type) -> list[bytes]:
    """The source of each module of ours or the user's that `cls` and the engine use, in fixed order."""
    for name in _ENGINE:
        importlib.import_module(name)
    found: dict[str, bytes] = {}
    pending = [*_ENGINE, *(base.__module__ for base in cls.__mro__)]
    while pending:
        name = pending.pop()
        package = name.partition(".")[0]
        module = sys.modules.get(name)
        if module is None or name in found or package in sys.stdlib_module_names:
            continue
        if package != "mlcdr" and _is_installed(module):
            if name == cls.__module__:
                found[package] = f"{package} {getattr(sys.modules[package], '__version__', '')}".encode()
            continue
        try:
            source = inspect.getsource(module)
        except (OSError, TypeError):  # an interactive module has no source to look at
            source = ""
        found[name] = (source or name).encode()
        pending += _imported(module, source)
        for value in vars(module).values():
            if not inspect.ismodule(value):
                used = getattr(value, "__module__", None)
            elif value.__name__.startswith(f"{name}."):  # a package has what anybody has imported of it
                continue
            else:
                used = value.__name__
            if isinstance(used, str):
                pending.append(used)
    return [found[name] for name in sorted(found)]


def _imported(module: ModuleType, source: str) -> Iterator[str]:
    """The modules that a module's own text imports: `import a.b` only binds `a`, whose attributes tell nothing."""
    package = module.__name__ if hasattr(module, "__path__") else module.__name__.rpartition(".")[0]
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Import):
            yield from (each.name for each in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            of = "." * statement.level + (statement.module or "")
            of = importlib.util.resolve_name(of, package) if statement.level else of
            yield of  # a constant of it does not say where it is from
            yield from (f"{of}.{each.name}" for each in statement.names)


def _is_foreign(cls: type) -> bool:
    """Whether a class is from an installed package, which does not know our conventions."""
    package = cls.__module__.partition(".")[0]
    module = sys.modules.get(cls.__module__)  # none of a class that misnames its module
    return package != "mlcdr" and (module is None or _is_installed(module))


def _is_installed(module: ModuleType) -> bool:
    """Whether a module belongs to an installed package, whose version stands for its source."""
    return is_installed(Path(getattr(module, "__file__", None) or "/"))


def is_installed(path: Path) -> bool:
    """Whether a module's file is one of an installed package, or of Python itself."""
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(path.is_relative_to(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib", "platstdlib"))
