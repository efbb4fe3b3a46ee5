"""The forms (file formats, and other sources) of data sets: suffixes, labels, and the options of a config.

Tables (ARFF, CSV, Parquet, Feather, OpenML, DataFrames) have labels among their columns; the others have two matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mlcdr.errors import DataError, describe, suggest_name

PACKED = (".gz", ".xz", ".zip")
"""Suffixes of compressed files, added to that of a text form (`.csv.gz`)."""


class Form(NamedTuple):
    """A form: its name, its suffixes, its options, how labels are marked, and whether files may be compressed."""

    title: str
    suffixes: tuple[str, ...]
    options: tuple[str, ...]
    labels: str
    packed: bool = False


_COLUMNS = ("labels", "separator", "text", "categories", "dates", "drop")
FORMS = {
    "arff": Form(
        "ARFF", (".arff",), ("labels",), "Mulan's NAME.xml beside it, MEKA's `-C` in the relation, or `labels`"
    ),
    "csv": Form(
        "CSV",
        (".csv", ".tsv"),
        (*_COLUMNS, "delimiter", "decimal", "encoding", "header"),
        "`labels`: names, a pattern, a number of columns; or one column of tags with a `separator`",
        packed=True,
    ),
    "parquet": Form("Parquet", (".parquet",), _COLUMNS, "as in CSV"),
    "feather": Form("Feather", (".feather",), _COLUMNS, "as in CSV"),
    "npz": Form("NumPy", (".npz",), ("X", "Y"), "the array Y, or the one that `Y` names; or CSR parts Y_data ..."),
    "mat": Form("MATLAB", (".mat",), ("X", "Y"), "the matrix Y, or target, or the one that `Y` names"),
    "svmlight": Form(
        "svmlight",
        (".svm", ".svmlight", ".libsvm", ".txt"),
        (),
        "in front of each row; with a first line `n d K` the text of the extreme classification repository",
        packed=True,
    ),
    "openml": Form("OpenML", (), _COLUMNS, "the source's targets, or `labels`"),
    "function": Form("a function", (), ("arguments",), "the function returns (X, Y)"),
    "synthetic": Form("synthetic", (), (), "generated"),
    "frame": Form("a DataFrame", (), _COLUMNS, "as in CSV, or apart from it"),
    "memory": Form("memory", (), (), "as they were given"),
}

TABLES = ("arff", "csv", "parquet", "feather")
"""The forms of files whose labels are among their columns."""


def _list_suffixes() -> dict[str, str]:
    found = {}
    for name, form in FORMS.items():
        for suffix in form.suffixes:
            found[suffix] = name
            if form.packed:
                found |= {suffix + packing: name for packing in PACKED}
    return found


SUFFIXES = _list_suffixes()
"""The form of each suffix, those of compressed files included."""

MEMORY = "memory"
"""The option with the checksum of a data set that was given in memory."""

SOURCES = ("path", "openml", "function", "synthetic", MEMORY)
"""Options that state the source of the data, for a name that the user chooses."""

WITHOUT_FILES = SOURCES[1:]
"""Those of them that do not name a file: all but `path`."""

OPENML = "openml:"
"""The prefix of a name that is the number of a data set of openml.org."""


class Option(NamedTuple):
    """An option of a data set: the kinds of its values, what it means, and its values where only some are allowed."""

    kinds: tuple[str, ...]
    description: str
    choices: tuple[str, ...] = ()


OPTIONS = {
    "missing": Option(
        ("text",),
        "What becomes of missing values: they are refused, kept (for a first step of the feature space to fill them), "
        "or filled with the mean of their column over all rows, or with 0.",
        ("error", "keep", "mean", "zero"),
    ),
    "labels": Option(
        ("number", "text", "list"),
        "Which columns are labels: their names, a name or pattern (`tag_*`), or how many, the first ones or, of a "
        "negative number, the last (MEKA's `-C`).",
    ),
    "separator": Option(("text",), "The text between the tags of the one column that `labels` names."),
    "text": Option(("text",), "The one column of text that is the features; a method begins with a vectorizer then."),
    "categories": Option(("text", "list"), "Columns whose values are words even where they look like numbers."),
    "dates": Option(
        ("text",),
        "What becomes of columns of dates: days since 1970-01-01; a column for each of year, month, day, "
        "weekday and, where there are times of day, hour; or nothing.",
        ("days", "parts", "drop"),
    ),
    "drop": Option(("text", "list"), "Columns that are left out."),
    "delimiter": Option(("text",), "The character between the cells of a row: `,` (in .tsv a tab)."),
    "decimal": Option(("text",), "The decimal mark.", (".", ",")),
    "encoding": Option(("text",), "The encoding of a CSV file.", ("utf-8", "latin-1", "cp1252", "utf-16")),
    "header": Option(
        ("switch",),
        "Whether the first line has the names of the columns (`true`: even if it looks like a row); else they are "
        "column1, …",
    ),
    "X": Option(("text",), "The name of the features' array."),
    "Y": Option(("text",), "The name of the labels' array."),
    "path": Option(("text",), "The file, of a data set with a name of your own."),
    "openml": Option(("number",), "The number of a data set of openml.org."),
    "function": Option(("text",), "The dotted path of a function that returns (X, Y)."),
    "arguments": Option(("mapping",), "The arguments of the function."),
    "synthetic": Option(("mapping",), "The options of a data set that is generated."),
    "memory": Option(("text",), "The digest of data that Python gave to `mlcdr.run`, which writes this option."),
}
_WORDS = {
    "text": "text",
    "number": "a whole number other than 0",
    "list": "a list of names",
    "switch": "true or false",
    "mapping": "a mapping",
}


def names_of(options: Mapping[str, Any], key: str) -> list[str]:
    """The columns that an option names, one or a list; none if it is not given."""
    names = options.get(key, ())
    return [names] if isinstance(names, str) else list(names)


def _is_of(kind: str, value: Any) -> bool:
    """Whether the value of an option is of a kind of `_WORDS`."""
    if kind == "switch" or isinstance(value, bool):
        return kind == "switch" and isinstance(value, bool)
    if kind == "mapping":
        return isinstance(value, Mapping)
    if not value:
        return False
    if kind == "list":
        return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return isinstance(value, int if kind == "number" else str)


def option_problems(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """For each wrong option of a data set, its name and what is wrong."""
    sources = [key for key in SOURCES if key in options]
    for key in sources[1:]:
        yield key, f"the data come from one place, and there is {sources[0]} already"
    for key, value in options.items():
        if key not in OPTIONS:
            yield key, f"unknown option of a data set{suggest_name(key, OPTIONS)} (known: {', '.join(OPTIONS)})"
            continue
        option = OPTIONS[key]
        if option.choices and value not in option.choices:
            hint = suggest_name(value, option.choices) if isinstance(value, str) else ""
            yield key, f"must be one of {', '.join(option.choices)}, found {describe(value)}{hint}"
        elif not any(_is_of(kind, value) for kind in option.kinds):
            yield key, f"must be {' or '.join(_WORDS[kind] for kind in option.kinds)}, found {describe(value)}"
        elif key == "delimiter" and len(value) != 1:
            yield key, f"must be one character, found {describe(value)}"


def read_options(place: str, missing: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a data set besides `missing`; those of NumPy and pandas (`labels=frame.columns[-3:]`) as lists.

    Raises
    ------
    DataError
        For the first that is wrong.
    """
    plain = {key: value.tolist() if hasattr(value, "tolist") else value for key, value in options.items()}
    for key, problem in option_problems({"missing": missing, **plain}):
        raise DataError(f"{place}: {key}: {problem}")
    return plain


def check_form_options(place: object, form: str, options: Mapping[str, Any]) -> None:
    """Raise DataError for options that the form does not have.

    Raises
    ------
    DataError
    """
    for key in options:
        if key not in (*FORMS[form].options, "missing", *SOURCES):
            forms = ", ".join(each.title for each in FORMS.values() if key in each.options)
            raise DataError(f"{place}: the option {key} is of {forms}, and this is {FORMS[form].title}")
