"""What in a source text decides the numbers that it computes.

A comment, a docstring, the words of an error or a warning, a type hint and the allowed values of a parameter do not.
Scores that were computed before such a word was changed are still right, and are not computed again.
"""

from __future__ import annotations

import ast
import hashlib
import threading
from dataclasses import dataclass, field
from functools import cache
from importlib.util import resolve_name

DECLARING = "mlcdr.methods.constraints"
"""The module whose `parameter` declares a parameter of a part."""

_OF_HINTS = {"__future__", "collections.abc", "numpy.typing", "typing", "typing_extensions"}
"""Modules from which type hints are imported."""

_PASSED_ON = {"mlcdr.methods.bases": "sklearn.base"}
"""Modules that only give types to what another module has."""

_NO_CODE = {"lineno", "type_comment", "type_ignores", "type_params", "ctx", "kind", "returns"}
"""Fields of a syntax tree that decide nothing, or that not all versions of Python have."""

_parsing = threading.Lock()  # in two threads at once, Python 3.11 may raise SystemError


@dataclass(frozen=True)
class DecidingCode:
    """What decides the numbers that one module computes.

    Attributes
    ----------
    digest : str
        SHA-256 (hex) of its code; the same in every version of Python.
    imports : tuple of str
        The modules that it may import, also within functions: of `from a import b` both `a` and `a.b`. Those that only
        type checkers import are left out.
    public : tuple of str
        The names of `mlcdr` itself that it uses (`mlcdr.CPLST`, `from mlcdr import CPLST`).
    """

    digest: str
    imports: tuple[str, ...]
    public: tuple[str, ...]


@cache
def read_code(source: str, package: str, describing: frozenset[str] = frozenset()) -> DecidingCode:
    """Read a module's source.

    Parameters
    ----------
    source : str
    package : str
        The package that the module is in, to which relative imports refer.
    describing : set of str
        Modules that decide nothing, such as one of errors: to import from them does not count.

    Raises
    ------
    SyntaxError
        When the text is not Python.
    """
    reader = _Reader(package, describing)
    with _parsing:
        tree = ast.parse(source)
    plain = repr(reader.read(tree))
    return DecidingCode(hashlib.sha256(plain.encode()).hexdigest(), tuple(reader.imports), tuple(reader.public))


@dataclass
class _Reader:
    """Turns a module's syntax tree into nested lists of names and texts, without what decides nothing.

    Attributes
    ----------
    package, describing
        As in `read_code`.
    imports, public : list of str
        As in `DecidingCode`, of what was read so far.
    names : set of str
        What the module calls `mlcdr`.
    declares : bool
        Whether `parameter` in this module is ours, of which only the default decides.
    """

    package: str
    describing: frozenset[str]
    imports: list[str] = field(default_factory=list)
    public: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    declares: bool = False

    def read(self, node: object) -> object:
        """The plain form of a node, or of a list of nodes."""
        if isinstance(node, list):
            return self._read_list(node)
        if not isinstance(node, ast.AST):
            return repr(node)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute) and node.value is not None:
            node = ast.Assign(targets=[node.target], value=node.value)  # `self.x: int = 1` is `self.x = 1`
        found: list[object] = [type(node).__name__]
        for name, value in self._fields(node):
            plain = None if value is None else self.read(value)
            if plain not in (None, []):
                found += [name, plain]
        return found

    def _read_list(self, nodes: list[object]) -> list[object]:
        """The plain forms of nodes; of several imports the order decides nothing."""
        imported: list[object] = []
        others: list[object] = []
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                imported += self._imported_names(node)
            elif not self._is_words(node):
                others.append(self.read(node))
        return [*sorted(imported, key=repr), *others]

    def _imported_names(self, node: ast.ImportFrom) -> list[list[str | None]]:
        """Module, name and own name of each name of a `from … import`; none of a module that decides nothing."""
        module = "." * node.level + (node.module or "")
        module = resolve_name(module, self.package) if node.level else module
        module = _PASSED_ON.get(module, module)
        self.declares |= module == DECLARING
        if module in _OF_HINTS or module in self.describing:
            return []
        names = [each.name for each in node.names]
        self.imports += [module, *(f"{module}.{name}" for name in names)]
        if module == "mlcdr":
            self.public += names
        return [[module, each.name, each.asname or each.name] for each in node.names]

    def _fields(self, node: ast.AST) -> list[tuple[str, object]]:
        """The fields of a node that decide something."""
        match node:
            case ast.Import():
                self.imports += [each.name for each in node.names]
                self.names |= {each.asname or each.name for each in node.names if each.name == "mlcdr"}
            case ast.Attribute(value=ast.Name(id=name)) if name in self.names:
                self.public.append(node.attr)
            case ast.arg():
                return [("arg", node.arg)]
            case ast.Assert():
                return [("test", node.test)]
            case ast.Raise(exc=ast.Call(func=kind, args=given)):
                args = [each for each in given if not _is_text(each)]
                return [("exc", kind), ("args", args), ("cause", node.cause)]
            case ast.AnnAssign() if self._is_declared(node.value):
                return [("target", node.target), ("value", node.value)]
            case ast.Call() if self._is_declared(node):
                return [("default", node.args[:1])]
        return [(name, getattr(node, name, None)) for name in node._fields if name not in _NO_CODE]

    def _is_declared(self, node: object) -> bool:
        """Whether a node is the declaration of a parameter."""
        return self.declares and _is_call_of(node, "parameter")

    def _is_words(self, node: object) -> bool:
        """Whether a statement or decorator is a text, a warning or a type hint."""
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=[]):
                return True
            case ast.Expr(value=ast.Constant(value=str())):
                return True
            case ast.AnnAssign(target=ast.Name(id=name), value=None):
                return name.startswith("_") or name.endswith("_")  # of an attribute that no constructor takes
            case ast.AnnAssign(value=ast.Call()):
                return self.declares and _is_call_of(node.value, "learned")
            case ast.Expr(value=value):
                return _is_warning(value)
            case ast.Call():  # a decorator
                return _is_call_of(node, "dataclass_transform")
        return False


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is a text, such as the words of an error; other arguments may be read when it is caught."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_warning(node: ast.expr) -> bool:
    """Whether an expression is `warn(…)` or `warnings.warn(…)`, and not a method of that name."""
    match node:
        case ast.Call(func=ast.Name(id="warn")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="warnings"), attr="warn")):
            return True
    return False


def _is_call_of(node: object, name: str) -> bool:
    """Whether a node calls a function, or a method, of that name."""
    match node:
        case ast.Call(func=ast.Name(id=called)) | ast.Call(func=ast.Attribute(attr=called)):
            return called == name
    return False
