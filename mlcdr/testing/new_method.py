"""The file that a method of one's own begins with: the contract of a part of a method, filled in by a simple method."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from mlcdr.errors import UserError

TEMPLATES = Path(__file__).with_name("templates")


KINDS = {
    "label_space": "methods:\n  MyMethod: {label_space: my_method.MyMethod, learner: least_squares}",
    "feature_space": "methods:\n  MyMethod: {feature_space: my_method.MyMethod, learner: ridge}",
    "selector": "methods:\n  MyMethod: {feature_space: my_method.MyMethod, learner: ridge}",
    "learner": "methods:\n  MyMethod: {label_space: plst, learner: my_method.MyMethod}",
    "classifier": "methods:\n  MyMethod: {learner: my_method.MyMethod}",
    "threshold": "methods:\n  MyMethod: {label_space: plst, learner: least_squares, threshold: my_method.MyMethod}",
    "metric": "metrics: [hamming_loss, my_method.MyMethod]",
}
"""Name of a kind of file (`--part`) → how a config refers to what is in it; `templates/NAME.py.txt` is the file."""


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
        When a config could not refer to a module of this name.
    """
    name = name.removesuffix(".py")
    _check_name(name)
    template = (TEMPLATES / f"{part}.py.txt").read_text(encoding="utf-8")
    own = name
    if part != "metric":
        own = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    if own in re.findall(r"\w+", template) or keyword.iskeyword(own):
        raise UserError(f"{name}: {own} means something else in the file of a {part}; choose a longer name")
    text = template.replace("MyMethod", own).replace("my_method", name)
    config = KINDS[part].replace("MyMethod", own).replace("my_method", name)
    return NewMethod(f"{name}.py", text, own, config)


def _check_name(name: str) -> None:
    is_word = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    if not is_word or name.startswith("_"):
        raise UserError(f"{name!r} cannot name a module: take letters (of ASCII), digits and _, such as my_reducer")
    for path in (Path(f"{name}.py"), Path(name)):
        if path.exists():
            raise UserError(f"{path}: is there already; choose another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise UserError(f"{name!r} is the name of a module that is there already; a config would import that one")
