"""Names to classes, components as text, and the version that tells an edited method."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sklearn.neighbors import KNeighborsRegressor

import mlcdr
from mlcdr.errors import UserError
from mlcdr.methods import registry
from mlcdr.methods.component import Component
from mlcdr.methods.provenance import source_of
from mlcdr.methods.registry import UnknownComponent
from mlcdr.source_code import code_of_text

EVERY = [(family, name) for family, known in registry.BUILT_IN.items() for name in known]


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_every_name_leads_to_a_documented_class_that_can_be_built(family: str, name: str) -> None:
    cls = registry.resolve(family, name)
    first = (inspect.getdoc(cls) or "").partition("\n\n")[0]
    assert first.endswith("."), first
    assert not re.search("[=‖Σᵀ∈]", first), "help() begins with plain words, not with a formula"
    defaults = registry.parameters(cls)
    needed = {key: 1 for key, value in defaults.items() if value is inspect.Parameter.empty}
    assert name in registry.names(family)
    try:
        built = Component(family, name, needed).build()
    except UserError as error:
        pytest.skip(str(error))  # an optional package, or what that needs
    assert isinstance(built, cls)


def test_a_dotted_path_leads_to_ones_own_class() -> None:
    assert registry.resolve("learner", "sklearn.neighbors.KNeighborsRegressor") is KNeighborsRegressor


@pytest.mark.parametrize(
    ("family", "name", "message"),
    [
        ("label_space", "plts", "did you mean 'plst'"),
        ("label_space", "plst2", "did you mean 'plst'"),
        ("label_space", "ridge", "; 'ridge' is a learner "),
        ("label_space", "mlfs", "; 'mlfs' is a feature_space and a local_features "),
        ("learner", "clmlc", "; 'clmlc' is an instance_space "),
        ("learner", "nothing_like_it", r"mlcdr methods.*dotted path"),
        ("learner", "no_such_package.Thing", "cannot be imported: No module named 'no_such_package'"),
        ("learner", "sklearn.neighbors.Thing", "cannot be imported:.*Thing"),
        ("learner", "mlcdr.numerics.linalg.n_kept", "is a function, not a class"),
        ("learner", ".Thing", "cannot be imported"),
        ("learner", "sklearn.", "cannot be imported"),
    ],
)
def test_an_unknown_name_is_told_in_one_line(family: str, name: str, message: str) -> None:
    with pytest.raises(UnknownComponent, match=message) as caught:
        registry.resolve(family, name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "params"),
    [
        ("plst", {}),
        ({"plst": None}, {}),
        ({"plst": {}}, {}),
        ({"plst": {"n_components": 5}}, {"n_components": 5}),
        ({"plst": 5}, {"n_components": 5}),
        ({"plst": "20%"}, {"n_components": "20%"}),
    ],
)
def test_the_forms_of_a_component(written: object, params: dict) -> None:
    component = Component.parse("label_space", written)
    assert component == Component("label_space", "plst", params)
    assert Component.parse("label_space", component.plain()) == component


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (None, "must be a name"),
        ({"plst": {}, "pbr": {}}, "must be a name"),
        (["plst"], "must be a name"),
        ({"plst": {"n_component": 5}}, "unknown parameter of label_space 'plst'; did you mean 'n_components'"),
    ],
)
def test_other_forms_are_refused(written: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Component.parse("label_space", written)


def test_a_value_for_what_takes_none_is_refused() -> None:
    with pytest.raises(UserError, match="takes no parameter"):
        Component.parse("threshold", {"round": 3})


@pytest.mark.parametrize(("written", "value"), [("20%", 0.2), ("100%", 1.0), ("12.5%", 0.125), (7, 7), (0.3, 0.3)])
def test_a_percentage_becomes_a_fraction_when_built(written: object, value: float) -> None:
    assert Component("label_space", "plst", {"n_components": written}).build().n_components == value


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", "120%"])
def test_an_impossible_value_is_refused_when_built(value: object) -> None:
    with pytest.raises(ValueError, match="n_components"):
        Component("label_space", "plst", {"n_components": value}).build()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ({"ridge": {"alpha": "20%"}}, "Got 20% instead"),
        ({"ridge": {"alpha": True}}, "Got true instead"),
        ({"mlknn": {"k": "50%"}}, "Got 50% instead"),
        ({"occ": {"n_features": "120%"}}, "Got 120% instead"),
        ({"occ": {"n_features": True}}, "Got true instead"),
    ],
)
def test_what_is_no_number_here_is_refused_as_it_was_written(written: object, shown: str) -> None:
    with pytest.raises(ValueError, match=shown):
        Component.parse("learner", written).build()


def test_a_parameter_that_is_true_or_false_may_be() -> None:
    assert Component("label_space", "plst", {"centre": False}).build().centre is False


WRITTEN = ("mine", "parent", "helpers", "settings")  # the modules of the tests' folders
OWN = """
from sklearn.base import BaseEstimator, RegressorMixin
from {base_module} import {base} as Base

class Mine(Base):
    def predict(self, X):
        return super().predict(X) * {factor}
"""
PARENT = """from mlcdr.methods.learners.least_squares import LeastSquares


class Parent(LeastSquares):
    words = "{words}"
"""


@pytest.fixture
def version_of_mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """The version of `mine.Mine`, with the modules of the test's folder imported as they are now, some before it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def forget() -> None:
        for name in [each for each in sys.modules if each.partition(".")[0] in WRITTEN]:
            del sys.modules[name]

    def version(*before: str) -> str:
        forget()
        importlib.invalidate_caches()
        for module in before:
            importlib.import_module(module)
        return Component("learner", "mine.Mine", {}).version()

    yield version
    forget()


def test_an_edited_method_has_another_version(tmp_path: Path, version_of_mine: Callable[..., str]) -> None:
    own, parent = tmp_path / "mine.py", tmp_path / "parent.py"
    parent.write_text(PARENT.format(words="one"))
    own.write_text(OWN.format(base_module="parent", base="Parent", factor=1))
    versions = [version_of_mine()]
    own.write_text(OWN.format(base_module="parent", base="Parent", factor=2))
    versions.append(version_of_mine())
    parent.write_text(PARENT.format(words="two"))
    versions.append(version_of_mine())
    assert len(set(versions)) == 3


CODE = """FACTOR = 2
def f(x):
    if x:
        return x
class Mine:
    size = 1
    def fit(self, X):
        def inner():
            return \'\'\'
# data\'\'\'
        return self"""


def test_words_are_no_part_of_a_version() -> None:
    described = CODE.replace("FACTOR = 2", "'What it is for: ×.'\n\nFACTOR = 2  # ≥ 1 \n\n'A number.'\n\n# f")
    described = described.replace("class Mine:", "'f ends here.'\nclass Mine:")
    for line in ("def f(x):", "    if x:", "class Mine:", "    def fit(self, X):"):
        indent = (len(line) - len(line.lstrip()) + 4) * " "
        described = described.replace(line, f'{line}\n{indent}"""Text\n\n    of lines; = 3.\n{indent}"""')
    assert described.count("of lines") == 4
    assert code_of_text(described) == code_of_text(CODE) == CODE.encode()
    in_a_string = "x = '''a \n\nb'''"
    for joined in (in_a_string, "def f(x):\n    '×'; return x", "x = '×#'\n'a'.join('#b')", "f(\n    'a'\n    'b'\n)"):
        assert code_of_text(joined) == joined.encode()


@pytest.mark.parametrize("name", ["binary_relevance", "br_plus", "classifier_chain"])
def test_a_chain_depends_on_the_source_of_its_default_base(name: str) -> None:
    sources = source_of(registry.resolve("learner", name))
    for used in (
        "mlcdr.methods.learners.least_squares",
        "mlcdr.methods.chains.links",
        "mlcdr.numerics.moments",
        "mlcdr.numerics.file_order",
    ):
        assert code_of_text(inspect.getsource(sys.modules[used])) in sources, used


def test_a_version_owes_nothing_to_what_else_is_imported() -> None:
    """Of a package's modules only those that a method's source names, not those that somebody has imported."""
    import mlcdr.cli
    from tests.small import Guess

    sources = source_of(Guess)
    assert code_of_text(inspect.getsource(sys.modules[Guess.__module__])) in sources
    assert code_of_text(inspect.getsource(mlcdr.cli)) not in sources


def test_a_version_is_of_the_modules_that_a_source_names(tmp_path: Path, version_of_mine: Callable[..., str]) -> None:
    """`import a.b` binds `a` alone, whose attributes are whatever anybody has imported of it."""
    package = tmp_path / "helpers"
    package.mkdir()
    for name in ("__init__", "part", "other"):
        (package / f"{name}.py").write_text("FACTOR = 1\n")
    own = OWN.format(base_module="mlcdr.methods.learners.ridge", base="Ridge", factor="helpers.part.FACTOR")
    (tmp_path / "mine.py").write_text(f"import helpers.part\nimport mlcdr.methods.learners.ridge\n{own}")
    version = version_of_mine()
    assert version_of_mine("helpers.other") == version
    (package / "other.py").write_text("FACTOR = 2\n")
    assert version_of_mine("helpers.other") == version
    (package / "part.py").write_text("FACTOR = 2\n")
    assert version_of_mine() != version


def test_a_version_is_of_the_public_names_that_a_source_uses(
    tmp_path: Path, version_of_mine: Callable[..., str]
) -> None:
    """`mlcdr` itself has whatever anybody has asked of it, here or in a worker."""
    own = OWN.format(base_module="mlcdr.methods.learners.ridge", base="Ridge", factor="1")
    versions = []
    for uses in ("", "import mlcdr\n", "import mlcdr as m\nPART = m.C45\n", "from mlcdr import C45\n"):
        (tmp_path / "mine.py").write_text(f"{uses}{own}")
        versions.append(version_of_mine())
        sources = source_of(sys.modules["mine"].Mine)
        used = [b"class C45(" in source for source in sources]
        assert any(used) == ("C45" in uses)
        assert mlcdr.C45 is not mlcdr.M5P  # asked for elsewhere
        assert version_of_mine() == versions[-1]
    assert len(set(versions)) == 4


@pytest.mark.parametrize("line", ["from settings import FACTOR", "from settings.factor import FACTOR"])
def test_a_version_is_of_the_modules_whose_constants_are_imported(
    tmp_path: Path, version_of_mine: Callable[..., str], line: str
) -> None:
    package = tmp_path / "settings"
    package.mkdir()
    edited = package / ("factor.py" if "factor" in line else "__init__.py")
    (package / "__init__.py").touch()
    edited.write_text("FACTOR = 1\n")
    own = OWN.format(base_module="mlcdr.methods.learners.ridge", base="Ridge", factor="FACTOR")
    (tmp_path / "mine.py").write_text(f"{line}\n{own}")
    version = version_of_mine()
    assert version_of_mine() == version
    edited.write_text("FACTOR = 2\n")
    assert version_of_mine() != version


def test_methods_of_different_modules_have_different_versions() -> None:
    versions = {name: Component("label_space", name).version() for name in registry.BUILT_IN["label_space"]}
    assert len(set(versions.values())) == len(versions)


def test_the_classes_of_a_component_and_of_those_within() -> None:
    chain = Component.parse("learner", {"separate": {"estimator": {"separate": {"estimator": "ridge"}}}})
    assert [cls.__name__ for cls in chain.classes()] == ["Separate", "Separate", "Ridge"]


def test_parameters_come_in_order_with_their_defaults() -> None:
    class Sample:
        def __init__(self, first, second=2, *rest, third=3, **more):
            pass

    assert registry.parameters(Sample) == {"first": inspect.Parameter.empty, "second": 2, "third": 3}
    assert list(registry.parameters(Sample)) == ["first", "second", "third"]
    assert registry.parameters(object) == {}
