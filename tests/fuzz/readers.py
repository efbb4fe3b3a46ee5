"""Every reader of the program as a function of bytes, and files to begin with: what `make fuzz` and the tests drive.

A reader either reads, or refuses with an error of our own whose every line begins with the file's name. Anything else
it raises goes through, and is a find.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from mlcdr import cli
from mlcdr.data.arff import read_arff
from mlcdr.data.dataset import load_dataset
from mlcdr.data.label_xml import read_label_xml
from mlcdr.errors import ConfigError, DataError, ResultsError, UserError, escape_control_characters
from mlcdr.experiment.division import make_splits
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.overrides import apply_overrides
from mlcdr.experiment.splits import FromFile
from mlcdr.experiment.yaml_reader import read_yaml, read_yaml_text
from mlcdr.papers.verifying import read_paper

ROWS = 6  # of the data set that the folds are read for

DENSE = b"""% a comment
@relation 'r s: -C 1'

@attribute a {0,1}
@attribute 'b c' numeric
@attribute d integer % no comment
@attribute e {x, 'y z', "q"}
@data
0,1.5,-3,x
1,?,4,'y z'
1,.5e-3,+7,"q" % the end
""".replace(b" % no comment", b"").replace(b" % the end", b"")

SPARSE = b"""@relation r
@attribute a {0,1}
@attribute b {0,1}
@attribute c numeric
@attribute d REAL
@data
{0 1,2 3}
{}
{1 1, 3 -2.5e3}
{0 1,1 1,2 9,3 1}
"""

XML = b"""<?xml version="1.0" encoding="UTF-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="a"><label name="b"></label></label>
<!-- a note --><label name="c&amp;d"/>
</labels>
"""

YAML = b"""name: small
description: a line
datasets:
  - yeast
splits: {kind: shuffle, repeats: 2, train_size: 0.9, seed: 1}
metrics: [hamming_loss, {f1: {zero_division: 1}}]
sweep:
  label_space.n_components: [1, 20%]
methods:
  "A b":
    label_space: plst   # a name
    learner: {ridge: {alpha: 1e-3}}
"""

CELLS = b"""dataset,method,label_space.n_components,metric,value,spread,note
yeast,PLST,20%,hamming_loss,0.2150,0.0008,
yeast,"A, b",,f1,.5,,"a note"
"""

FOLDS = b"row,fold\n0,0\n1,1\n2,0\n3,1\n4,0\n5,1\n"

COMMANDS = [
    "run e.yaml --jobs 1 --set name=x",
    "check e.yaml --set splits.repeats=3",
    "datasets info d.arff",
    "table results --metric f1",
    "methods ridge",
    "compare a b --published x/y",
]

HOSTILE = [
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe9", b"\r", b"\r\n", b"\n", b"\t", b"\x0b", b"\x1a", b"\x7f"),
    *(b"{", b"}", b"{}", b"{1,0}", b",", b"'", b'"', b"\\", b"%", b"?", b" ", b"@data\n", b"@relation x\n"),
    *(b"@attribute a numeric\n", b"@attribute z string\n", b"{9223372036854775808 1}\n", b"{0 1,0 1}\n"),
    *(b"1e999", b"-0", b"nan", b"inf", b"0x1", b"1_0", b"99999999999999999999", b"1e-400", b"+", b"--", b"."),
    *("٣".encode(), "\u2028".encode(), "\u00a0".encode(), "\U0001f600".encode(), b"\xed\xa0\x80"),
    *(b"<!DOCTYPE l [<!ENTITY a 'b'>]>", b"&a;", b"&#0;", b"&#x110000;", b"<![CDATA[x]]>", b"<?x y?>", b"<label/>"),
    *(b"</labels>", b"<labels>", b'<label name="a"/>', b"encoding='x'", b"xmlns:q='u'", b"<q:label/>"),
    *(b": ", b"- ", b"&a ", b"*a", b"!!python/object/apply:os.system [ls]", b"!x ", b"<<: ", b"|", b">", b"---\n"),
    *(b"...\n", b"010", b"%YAML 9.9\n", b"\\x00", b'"\\UFFFFFFFF"', b"[" * 40, b"{" * 40, b"-1", b"0.5", b"\n  "),
    *(b"--", b"--set", b"=", b"../", b"/", b"~", b"$(x)", b"*"),
]


def edited(content: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """The content with each edit (where, how much is cut, what is put there) made in turn."""
    for where, cut, put in edits:
        at = where % (len(content) + 1)
        content = content[:at] + put + content[at + cut :]
    return content


def _refusal(read: Callable[[Path], object], path: Path, content: bytes, *begins: Path) -> str | None:
    path.write_bytes(content)
    try:
        read(path)
    except (DataError, ConfigError, ResultsError) as error:
        told = str(error)
        for line in told.split("\n"):
            assert line.startswith(tuple(f"{each}:" for each in begins or (path,))), f"no place: {line!r}"
            assert escape_control_characters(line) == line, f"not one clear line: {line!r}"
            assert len(line) < 4000, f"a line of {len(line)} characters"
        return told
    return None


def arff(folder: Path, content: bytes) -> str | None:
    """Read an ARFF file; gives what was told, None if it was read."""
    return _refusal(read_arff, folder / "d.arff", content)


def xml(folder: Path, content: bytes) -> str | None:
    """Read a label XML."""
    return _refusal(read_label_xml, folder / "d.xml", content)


def dataset(folder: Path, content: bytes) -> str | None:
    """Read an ARFF file as a data set whose labels are what its relation or an XML of label `a` says."""
    (folder / "e.xml").write_bytes(b'<labels><label name="a"/></labels>')
    return _refusal(load_dataset, folder / "e.arff", content, folder / "e.arff", folder / "e.xml")


def yaml(folder: Path, content: bytes) -> str | None:
    """Read a YAML file."""
    return _refusal(read_yaml, folder / "e.yaml", content)


def config(folder: Path, content: bytes) -> str | None:
    """Read and check an experiment file."""
    return _refusal(load_experiment, folder / "e.yaml", content)


def folds(folder: Path, content: bytes) -> str | None:
    """Read a file of folds."""

    def read(path: Path) -> object:
        return make_splits(FromFile(kind="file", path=str(path)), "d", ROWS)

    return _refusal(read, folder / "folds.csv", content)


def cells(folder: Path, content: bytes) -> str | None:
    """Read the printed cells of a paper."""
    return _refusal(read_paper, folder / "cells.csv", content)


def override(folder: Path, content: bytes) -> str | None:
    """Put a `--set` text into a config."""
    document = read_yaml_text(YAML.decode(), "e.yaml")
    text = content.decode("utf-8", "surrogateescape")
    problems = apply_overrides(document, [text])
    assert all(problem.startswith("--set ") for problem in problems)
    return "\n".join(problems) or None


def command_line(folder: Path, content: bytes) -> str | None:
    """Put words to the command line, in an empty folder; nothing but its own exit codes, no traceback."""
    words = [word.decode("utf-8", "surrogateescape") for word in content.replace(b"\0", b"").split(b" ")]
    out, err = io.StringIO(), io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with (
            mock.patch.object(sys, "argv", ["mlcdr", *words]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            cli.main()
    except SystemExit as ended:
        code = ended.code
    except UserError as error:
        raise AssertionError("an error of ours that was not told") from error
    else:
        raise AssertionError("the command line ends with an exit code")
    finally:
        os.chdir(before)
    assert code in (None, 0, 1, 2), f"exit code {code!r}"
    assert "Traceback" not in out.getvalue() + err.getvalue()
    return err.getvalue() if code else None


# Reader, what to begin with, and how many cases `make test-all` tries.
READERS: dict[str, tuple[Callable[[Path, bytes], str | None], list[bytes], int]] = {
    "arff": (arff, [DENSE, SPARSE], 1300),
    "dataset": (dataset, [DENSE, SPARSE], 400),
    "xml": (xml, [XML], 800),
    "yaml": (yaml, [YAML], 800),
    "config": (config, [YAML], 200),
    "folds": (folds, [FOLDS], 600),
    "cells": (cells, [CELLS], 200),
    "override": (override, [b"methods.A b.learner.ridge.alpha=1", b"datasets.0=[emotions, {a: 1}]"], 250),
    "command_line": (command_line, [command.encode() for command in COMMANDS], 150),
}
