"""The file that a method of one's own begins with: the contract of a part of a method, filled in by a simple method."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from mlcdr.errors import UserError, join_words, suggest_name

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Kind:
    """A kind of file to begin with.

    Attributes
    ----------
    about : str
        What it is, and which methods it must have.
    use : str
        How a config refers to it: what stands at `{}`.
    """

    about: str
    use: str


KINDS = {
    "label_space": Kind(
        "from label sets to codes and back: fit(X, Y), encode(Y), decode(codes)",
        "methods:\n  {class}: {{label_space: {path}, learner: least_squares}}",
    ),
    "feature_space": Kind(
        "from features to new features: fit(X, Y), transform(X)",
        "methods:\n  {class}: {{feature_space: {path}, learner: ridge}}",
    ),
    "selector": Kind(
        "keeps some of the features: fit(X, Y), _get_support_mask()",
        "methods:\n  {class}: {{feature_space: {path}, learner: ridge}}",
    ),
    "learner": Kind(
        "a multi-output regressor, fitted to codes: fit(X, Y), predict(X)",
        "methods:\n  {class}: {{label_space: plst, learner: {path}}}",
    ),
    "classifier": Kind(
        "fitted to label sets: fit(X, Y), predict(X), decision_function(X)", "methods:\n  {class}: {{learner: {path}}}"
    ),
    "threshold": Kind(
        "from scores to label sets: fit(scores, Y), apply(scores), margin(scores)",
        "methods:\n  {class}: {{label_space: plst, learner: least_squares, threshold: {path}}}",
    ),
    "metric": Kind("a number for predictions: a function of (Y, labels, scores)", "metrics: [hamming_loss, {path}]"),
}
"""Name of a kind (`--part`) → what it is; `templates/NAME.py.txt` is its file."""


@dataclass(frozen=True)
class NewMethod:
    """A file to be written: its name, its text, the class or function in it, and the lines of a config that use it."""

    file: str
    text: str
    name: str
    config: str


def draft_method(name: str, part: str) -> NewMethod:
    """The file of a new method, whose class (or function) is named after it.

    Parameters
    ----------
    name : str
        Of the file, without `.py`: `my_reducer` has the class `MyReducer`.
    part : str
        One of `KINDS`.

    Raises
    ------
    UserError
        When the part is unknown, or a config could not refer to a module of this name.
    """
    name = name.removesuffix(".py")
    if part not in KINDS:
        raise UserError(f"--part: {part!r} is none of {join_words(list(KINDS), 'or')}{suggest_name(part, KINDS)}")
    _check_name(name)
    template = (TEMPLATES / f"{part}.py.txt").read_text(encoding="utf-8")
    own = name if part == "metric" else "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    if own in re.findall(r"\w+", template) or keyword.iskeyword(own):
        raise UserError(f"{name}: {own} means something else in the file of a {part}; choose a longer name")
    text = template.replace("MyMethod", own).replace("my_method", name)
    path = f"{name}.{own}"
    return NewMethod(f"{name}.py", text, own, KINDS[part].use.format(**{"class": own, "path": path}))


def _check_name(name: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        why = "is a word of Python" if keyword.iskeyword(name) else "cannot name a module"
        raise UserError(f"{name!r} {why}: take letters, digits and _, such as my_reducer")
    if not name.isascii():
        raise UserError(
            f"{name!r}: the file's name must be of ASCII letters, which every file system keeps as they are"
        )
    if Path(f"{name}.py").exists() or Path(name).exists():
        raise UserError(
            f"{Path(f'{name}.py') if Path(f'{name}.py').exists() else name}: is there already; choose another name"
        )
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise UserError(f"{name!r} is the name of a module that is there already; a config would import that one")
