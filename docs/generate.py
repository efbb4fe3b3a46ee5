"""Writes the pages of this folder that repeat what the program knows, and two JSON schemas: `make docs`.

Methods and metrics come from the registry and the docstrings, the config's keys from their schema, the commands from
the command line itself, the layouts from their files, and what comes of the papers from the record. A test compares the
pages with what would be written now.
"""

from __future__ import annotations

import csv
import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import typer

from mlcdr.cli.commands import app
from mlcdr.cli.components import write_call
from mlcdr.experiment.schema import SCHEMA
from mlcdr.experiment.yaml_reader import read_yaml_text
from mlcdr.methods import declarations, parts_file, registry
from mlcdr.methods.contracts import Part
from mlcdr.metrics import BY_LABEL, METRICS
from mlcdr.tables import layouts

FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER.parent))
from tools import board_page, record_pages  # noqa: E402
from tools.board import make_board  # noqa: E402
from tools.board_memory import read_memory  # noqa: E402
from tools.config_schema import config_schema  # noqa: E402

REMARK = "<!-- Written by `make docs`; not to be edited. -->\n"
STUB = FOLDER.parent / "mlcdr" / "__init__.pyi"

# What a family does in a method's line, and the symbols that its docstrings share.
FAMILIES = {
    "feature_space": "x → x′: fewer features, made of the old ones. X (n×d) is centred, H = I − 11ᵀ/n.",
    "label_space": "Label sets → codes, and scores of codes → scores of labels. Z = Y − ȳ (n×K), V (M×K) has "
    "orthonormal rows: encoding is ZVᵀ, decoding is times V, plus ȳ.",
    "dual_space": "A feature step and a label space in one.",
    "learner": "x′ → code. A regressor of several outputs, or a multi-label classifier (without a label space).",
    "local_features": "Features for one label, in front of its binary model.",
    "threshold": "Scores of labels → label sets.",
    "instance_space": "Divides the training instances, and fits the other parts of the method in each of them.",
}

# The extractors as eigenproblems: a part as a config names it, A, B, and what only it has. A test evaluates each row.
EIGENPROBLEMS = [
    ("pca", "XᵀX", "I", ""),
    ("mvmd", "(1 − β)XᵀX + βXᵀYYᵀX", "I", ""),
    ("mddm", "XᵀYYᵀX", "I", ""),
    ("mddm: {orthogonality: f}", "XᵀYYᵀX", "βXᵀX + (1 − β)I", ""),
    ("opls", "XᵀYYᵀX", "XᵀX + rI", ""),
    ("cca", "XᵀY(YᵀY + r′I)⁻¹YᵀX", "XᵀX + rI", "r′ = `label_alpha`"),
    ("mlsi", "XᵀX", "Xᵀ((1 − β)XXᵀ + βYYᵀ + rI)⁻¹X + rI", ""),
    ("mlsi: {form: covariance}", "(1 − β)XᵀXXᵀX + βXᵀYYᵀX", "XᵀX + rI", ""),
    ("hsl", "XᵀGX", "XᵀX + rI", "G the normalised graph in which instances are joined that share labels"),
    ("mhsl", "XᵀGX", "XᵀX + rI", "G the normalised graph of neighbouring label sets"),
    ("lpp", "XᵀWX", "XᵀDX + rI", "W the graph of neighbouring rows of X, D its row sums"),
    (
        "mlda",
        "VᵀWNWᵀV",
        "VᵀDV − VᵀWNWᵀV + rI",
        "W (n×K) the weights, D and N⁻¹ their row and column sums, V the rows less their mean weighted by D",
    ),
    (
        "shared_subspace",
        "¼M⁻¹XᵀYYᵀXM⁻¹",
        "I − nαM⁻¹",
        "M = XᵀX + n(α + β)I; the directions are made orthonormal in their order",
    ),
]


def page(title: str, *parts: str) -> str:
    """A generated page."""
    return "\n".join([f"# {title}\n", REMARK, *parts]).rstrip() + "\n"


# -------------------------------------------------------------------- the schemas of components and of configs


def components_json() -> str:
    """What each built-in component declares, by its class, as the text of `mlcdr/methods/parts.json`."""
    found = {}
    for family, known in registry.BUILT_IN.items():
        for name in known:
            found[f"{family}.{name}"] = declarations.declaration_of(registry.resolve(family, name)).to_schema()
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The components of methods, with what a config may give to their parameters",
        "$defs": found,
    }
    return _json(schema, depth=4) + "\n"


def config_json() -> str:
    """What a config may hold, as the text of `mlcdr/experiment/schema.json`."""
    return _json(config_schema(), depth=4) + "\n"


def _json(value: Any, depth: int, indent: str = "") -> str:
    """JSON with a line for each key of the first levels."""
    if not depth or not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = f"{indent} "
    rows = [f"{inner}{json.dumps(key)}: {_json(each, depth - 1, inner)}" for key, each in value.items()]
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


# -------------------------------------------------------------------- the public names

PUBLIC = {
    "Experiments": {
        "api.running": ["run"],
        "api.fitting": ["fit"],
        "api.results": ["open_results", "compare", "Results"],
        "api.loading": ["load_experiment"],
        "experiment.model": ["Experiment"],
        "api.evaluating": ["evaluate"],
        "execution.models": ["load_model", "Model"],
    },
    "Data": {"data.dataset": ["load_dataset", "Dataset"]},
    "What there is": {"api.listing": ["list_datasets", "list_methods", "list_metrics", "list_published"]},
    "Methods": {
        "methods.composition": ["ComposedClassifier"],
        "methods.contracts": ["FeatureStep", "LabelSpace", "Learner", "Threshold"],
        "methods.label_space.linear": ["LinearLabelSpace"],
    },
    "Errors": {"errors": ["UserError", "ConfigError", "DataError", "ResultsError", "FailedTrialsWarning"]},
}
"""What `import mlcdr` offers besides the estimators: the heading of the reference, module, names."""


RETURNED = {
    "tables.tables": ["Table"],
    "comparison.comparison": ["Comparison"],
    "papers.published": ["PublishedComparison"],
    "comparison.baseline": ["BaselineComparison"],
    "tables.figures": ["Drawing"],
    "api.several": ["Page", "Several"],
}
"""The classes of tables, figures and comparisons that results give, which are not imported."""


def stub() -> str:
    """The text of `mlcdr/__init__.pyi`: every public name and its module, for type checkers and for `import mlcdr`."""
    found: dict[str, list[str]] = {}
    for modules in PUBLIC.values():
        for module, public in modules.items():
            found.setdefault(module, []).extend(public)
    for known in registry.BUILT_IN.values():
        for target in known.values():
            module, _, name = target.removeprefix("mlcdr.").partition(":")
            found.setdefault(module, []).append(name)
    lines = []
    for module, names in sorted(found.items()):
        lines += [f"from .{module} import {name} as {name}" for name in sorted(names)]
    remark = REMARK.strip("<!-> \n")
    return "\n".join([f"# {remark}", "", *lines, "", "__version__: str", ""])


def api() -> str:
    """Every public name with its parameters; of the estimators, links to where they are described."""
    parts = ["Every name of `import mlcdr`. [From Python](python.md) shows how they are used.\n"]
    for heading, modules in PUBLIC.items():
        parts.append(f"## {heading}\n")
        for module, public in modules.items():
            parts += [_public(f"mlcdr.{module}", name) for name in public]
        if heading == "Methods":
            parts.append("The components of methods, as estimators:\n")
            for family, known in registry.BUILT_IN.items():
                links = [f"[`{target.rpartition(':')[2]}`]({_place(family, name)})" for name, target in known.items()]
                parts.append(f"- {family}: {', '.join(links)}")
            parts.append("")
    parts.append("## What results give\n")
    for module, names in RETURNED.items():
        for name in names:
            found = getattr(importlib.import_module(f"mlcdr.{module}"), name)
            parts.append(f"### {name}\n\n{_docstring(found, level=4)}\n{_members(found)}")
    return page("Public names", *parts)


def _public(module: str, name: str) -> str:
    """One name: its signature and docstring; of a class also its public methods and properties."""
    found = getattr(importlib.import_module(module), name)
    is_error = isinstance(found, type) and issubclass(found, Exception)
    is_model = isinstance(found, type) and hasattr(found, "model_fields")
    shown = "" if is_error or is_model else _signature(found)
    text = f"### {name}\n\n`mlcdr.{name}{shown}`\n\n{_docstring(found, level=4)}"
    if not isinstance(found, type) or is_error or is_model or issubclass(found, Part):
        return text
    rows = _members(found)
    return text + (f"\n{rows}" if rows else "")


def _members(found: type) -> str:
    """A line on each public method and property of a class, those that it inherits from ours included."""
    members: dict[str, Any] = {}
    for cls in filter(_is_ours, reversed(found.__mro__)):
        members |= vars(cls)
    rows = []
    for key, each in members.items():
        function = each.__func__ if isinstance(each, classmethod) else each
        is_property = isinstance(function, property | cached_property)
        about = inspect.getdoc(function) or ""
        if key.startswith("_") or not (is_property or (about and callable(function))):
            continue
        usage = "" if is_property else _signature(function)
        first = about.partition("\n")[0]
        rows.append(f"- `.{key}{usage}`: {_escaped(first)}\n")
    return "".join(rows)


def _signature(found: Any) -> str:
    """The parameters of a function or a class, without types."""
    plain = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in inspect.signature(found).parameters.values()
        if each.name not in ("self", "cls", "temporary", "stamp")
    ]
    return str(inspect.Signature(plain))


# -------------------------------------------------------------------- methods


def methods() -> str:
    """All components by family, each with its first sentence."""
    parts = [
        "A method is a pipeline of components, of which only the learner is required:\n",
        "    x ─ feature_space ─▶ x' ─ learner ─▶ code ─ label_space (decode) ─▶ scores ─ threshold ─▶ label set\n",
        "A component is written as `name`, as `{name: {parameter: value}}`, or as a dotted path to a class; "
        "[config.md](config.md) describes a whole config. The page of each family has formulas, parameters, costs and "
        "sources, as `mlcdr methods NAME`; [what several share](methods/shared.md) describes their base classes.\n",
    ]
    for family, names in _families().items():
        parts += [f"## {family}\n", f"{FAMILIES.get(family, '')}\n".lstrip()]
        for name in names:
            summary = registry.find_declaration(family, name).summary
            parts.append(f"- [`{name}`]({_place(family, name)}): {summary}")
        parts.append("")
    links = "\n".join(f"methods/{name}" for name in (*_families(), "shared"))
    parts.append(f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{links}\n```\n")
    return page("Methods", *parts)


def _families() -> dict[str, list[str]]:
    """Family → the names of its components that are classes of mlcdr."""
    found = {}
    for family in registry.BUILT_IN:
        names = [name for name in registry.names(family) if _is_ours(registry.resolve(family, name))]
        if names:
            found[family] = names
    return found


def _place(family: str, name: str) -> str:
    """Where a component is described, from a page in `docs/`."""
    return f"methods/{family}.md#{family}-{name}"


def family_page(family: str) -> str:
    """The components of a family, each with its formula, parameters and source."""
    names = _families()[family]
    return page(
        f"Methods: {family}",
        f"{FAMILIES.get(family, '')} [All families](../methods.md).\n".lstrip(),
        *([eigenproblems()] if family == "feature_space" else []),
        *(_component(family, name) for name in names),
    )


def eigenproblems() -> str:
    """The table of A and B of the extractors that solve A p = λ B p."""
    rows = [
        f"| [`{written}`](#feature_space-{written.partition(':')[0]}) | {a} | {b} | {where} |"
        for written, a, b, where in EIGENPROBLEMS
    ]
    return "\n".join(
        [
            "Most extractors solve an eigenproblem A p = λ B p, and differ only in A and B (d×d); directions of the "
            "largest λ come first. Here Y (n×K) holds labels of ±1, centred as X is; r, α are `alpha` and β is `beta`.",
            "",
            "| method | A | B | |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def shared_page() -> str:
    """The base classes that docstrings of components refer to."""
    described = [f"## {cls.__name__}\n\n{_docstring(cls, level=3)}" for cls in _shared()]
    return page("What several methods share", "[All families](../methods.md).\n", *described)


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("mlcdr.")


def _component(family: str, name: str) -> str:
    cls = registry.resolve(family, name)
    gives = registry.find_declaration(family, name).gives
    given = f"Gives {gives}.\n\n" if gives else ""
    head = f'<a id="{family}-{name}"></a>\n\n## {name}\n\n`{write_call(name, cls)}`'
    return f"{head}\n\n{given}{_docstring(cls, level=3)}"


def _shared() -> list[type]:
    """The classes that docstrings refer to (`LinearLabelSpace`), which are no components themselves."""
    registered: set[type] = set()
    for family in registry.BUILT_IN:
        registered |= {registry.resolve(family, name) for name in registry.names(family)}
    bases = set(chain.from_iterable(cls.__mro__ for cls in registered)) - registered
    text = " ".join(inspect.getdoc(cls) or "" for cls in registered)
    named = [cls for cls in bases if _is_ours(cls) and f"`{cls.__name__}`" in text]
    return sorted(named, key=lambda cls: cls.__name__)


def _docstring(found: Any, level: int) -> str:
    return markdown(inspect.getdoc(found) or "", level)


def markdown(text: str, level: int) -> str:
    """A docstring in numpydoc's manner as Markdown: its sections become headings, what they list a list."""
    lines = text.splitlines()
    blocks: list[str] = []
    section = False
    k = 0
    while k < len(lines):
        if k + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[k + 1]):
            blocks += ["", f"{'#' * level} {lines[k]}", ""]
            section, k = lines[k] in ("Parameters", "Attributes", "Raises", "Returns"), k + 2
            continue
        line = _escaped(lines[k])
        if section and line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            blocks.append(f"- `{name}`{f' ({kind})' if kind else ''}  ")
        elif section and line:
            blocks.append(f"  {line.strip()}")
        elif not section or blocks[-1]:
            blocks.append(line)
        k += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(blocks)).strip() + "\n"


def _escaped(line: str) -> str:
    return re.sub(r"<(?=[A-Za-z/!])", "&lt;", line)


# -------------------------------------------------------------------- metrics


def metrics() -> str:
    """Every metric with its direction and what 0/0 counts as."""
    better = {True: "higher", False: "lower", None: "neither way"}
    parts = [
        "Y and P are the n×K matrices of true and predicted labels; scores are the real numbers from which label sets "
        "are made by a threshold. In a config a metric is its name, or `{name: "
        "{option: value, as: label}}`; the label is its name in the results. Other usual names are accepted "
        "(`subset_accuracy`, `lrap`, `p@3`). Every method gives scores, except classifiers of other packages that have "
        "none; `mlcdr methods` lists which give probabilities. A metric has no value for a method that does not give "
        "what the metric needs.\n",
        "A metric of your own is a function, named by its dotted path or by a package's entry point in the group "
        "`mlcdr.metric`:\n",
        "```python\ndef share_of_predicted(Y, labels, scores):  # n×K of {0, 1}, likewise, n×K of numbers or None\n"
        "    return labels.mean()\n\n\nshare_of_predicted.higher_is_better = True\n```\n",
        "| metric | better | what it is |\n| --- | --- | --- |",
        *(
            f"| [`{m.name}`](#{m.name}) | {better[m.higher_is_better]} | {_cell(m.description)} |"
            for m in METRICS.values()
        ),
        "",
        "## Times and memory\n",
        "Times (`fit_seconds`, `predict_seconds`) are wall time. `fit_memory` is the most that the process "
        "had in memory (resident) during the fit, less what it had when the fit began; with `tune: {scope: split}` the "
        "choice of parameters counts, as it does in the time. MB are 10⁶ bytes. Both differ from run to run and "
        "between machines: what makes the scores the same for any number of workers does not hold for them, no "
        "parameter is chosen by them, and `mlcdr compare --baseline` compares their ratios.\n",
        "- Memory is measured on Linux, which can reset the peak of a process (`5` written into "
        "`/proc/self/clear_refs`); elsewhere it has no value, and a run says so. Nor has it on Dask workers of several "
        "threads, where the fits of a process cannot be told apart.\n"
        "- The rise is exact for the process, not for the method: a few MB are what libraries take at first use, and "
        "what the allocator keeps. Differences of a few MB mean nothing.\n"
        "- Where it is asked for, methods of a split share no work, so that each has the memory that it takes alone, "
        "whatever came before it. The run takes longer then; scores and `fit_seconds`, in which shared work counts in "
        "full anyway, stay the same. Where it is not asked for, nothing is measured.\n"
        "- Not counted are the data set, what is computed once for the whole of it, pages of files such as code, "
        "programs that a method starts (`external`), and graphics cards. The peak of the run and of its largest "
        "worker, with everything, is in "
        "[manifest.json](results-folder.md#manifestjson).\n",
        "## Conventions\n",
        "Papers treat a denominator of 0 and equal scores differently, which changes some results by a factor of two. "
        "So each convention is an option, and tables state which one they use. With the option `beta`, F1 is F_β = "
        "(1+β²)TP / (β²|Y|+|P|).\n",
    ]
    for metric in METRICS.values():
        way = better[metric.higher_is_better].capitalize()
        parts.append(f"### {metric.name}\n\n{_sentence(metric.description)} {way} is better.")
        parts += metric.conventions()
        for option, default in metric.parameters.items():
            shown = "as above" if default is None else f"`{default}`"
            values = ", ".join(f"`{value}`" for value in metric.list_allowed(option))
            parts.append(f"- `{option}`: {values} (default {shown})")
        parts.append("")
    parts += [
        "## Each label by itself\n",
        "With `by_label: [f1, average_precision]` a run writes `labels.csv`: dataset, method, split, label, "
        "metric, value and frequency (the share of all rows). `mlcdr plot` draws each metric against the "
        "frequency, `mlcdr report` has the means over the more and less frequent thirds of the labels, and `mlcdr "
        "compare --by-label` which labels each method wins. A label counts as in the metric called `macro_…` with "
        "its default options, so that this metric is the mean of the labels': a label that is neither true nor "
        "predicted has an F1 of 0, and one that is never there has no line for `auc`. There are:\n",
    ]
    parts += [f"- `{each.name}`: {each.description}" for each in BY_LABEL.values()]
    parts += [
        "\n## The same elsewhere\n",
        "The names that metrics of other programs have here, or why they are missing.\n",
    ]
    with (FOLDER.parent / "mlcdr" / "metrics" / "elsewhere.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    named = [[f"`{row[0]}`" if row[0] != "none" else "none", *row[1:]] for row in rows]
    parts += ["| " + " | ".join(map(_cell, row)) + " |" for row in (header, ["---"] * len(header), *named)]
    return page("Metrics", *parts, "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _sentence(text: str) -> str:
    return (text if "_" in text.split()[0] else text[:1].upper() + text[1:]) + "."


# -------------------------------------------------------------------- the config


SPLITS = """[Choose splits](how-to/splits.md) has examples; [a study](studies/stratification.md) compares stratified
folds with others.

**Seeds.** Every random choice has a seed of its own, made from the `seed` (0 for `predefined` and `file`), the data
set's name and the purpose of the choice: the rows of a repeat from (seed, data set, number of the repeat), those that
keep their labels from (seed, data set, `labelled`, number of the split), the folds of `tune` from (seed, data set and
number of the split), and what a method draws from (seed, data set, number of the split, name of the method, parameter).
So a split is the same however many repeats, data sets and methods there are, in any order and on any number of workers;
the same data under another name are divided differently. `mlcdr datasets splits NAME --to FILE` writes folds for `kind:
file` and other programs.
"""


def config() -> str:
    """The keys of an experiment file, out of its JSON schema."""
    whole = config_schema()
    known = whole["$defs"]
    parts = [
        "An experiment is one YAML file. `mlcdr check FILE` reports all mistakes in it, each with its line; "
        "`mlcdr schema` prints the JSON schema that this page is made from, for an editor; `mlcdr new` writes a first "
        "file.\n",
        "YAML is read strictly: a key given twice is a mistake, `1e-3` is a number, `no` is a text. What is written "
        "more than once can be given a name and repeated: `alpha: &weights [0.1, 1]`, then `*weights`, or `<<: *name` "
        "for the keys of a mapping.\n",
        "## Keys\n",
        _keys(whole, known),
        "## splits\n",
        SPLITS,
    ]
    for name in ("Shuffle", "KFold", "Predefined", "FromFile"):
        spec = known[name]
        parts.append(f"### kind: {spec['properties']['kind']['const']}\n\n{spec['description']}\n")
        parts.append(_keys(spec, known))
    parts += [
        "## datasets\n",
        "A name of `mlcdr datasets list`, the path of a file, or `openml:NUMBER`; `{name: {option: value}}` with\n",
    ]
    options = known["DatasetSpec"]["anyOf"][1]["additionalProperties"]
    made = options["properties"].pop("synthetic")
    parts.append(_keys(options, known))
    parts.append("`{synthetic: {option: value}}`, or `{name: {synthetic: {…}}}`, is a data set that is made, with\n")
    parts += [
        _keys(made, known),
        "[Data in and out](data.md) has the forms of files, and what is made of them.\n",
        f"## methods\n\n{known['MethodSpec']['description']}\n",
        "What several methods have in common can be written once, under `defaults:`. A method takes from there each "
        "part that it does not state itself, and each key of `tune:` likewise; `threshold: null` in a method means "
        "none.\n",
    ]
    rows = ["| part | what may stand there |", "| --- | --- |"]
    for part, spec in known["MethodSpec"]["properties"].items():
        if part in known:
            names = ", ".join(f"[`{n}`]({_place(part, n)})" for n in registry.names(part))
            several = "; or a list of them, one after another" if "anyOf" in spec else ""
            rows.append(f"| `{part}` | {names}; or a dotted path to a class{several} |")
    parts += [
        "\n".join(rows) + "\n",
        "Another program is a learner, too: `{external: {command: …}}` ([how to](how-to/other-programs.md)).\n",
        "A percentage, for a component of mlcdr, is a share of what there is to choose from:",
        "`n_components: 20%` of the labels (or features). It is rounded down, and is one at least: 80% of 6 labels "
        "are 4, and 10% of them are 1. `1.0` is all of it, `1` is one.\n",
        f"### tune\n\n{known['TuneSpec']['description'].partition(';')[0]}.\n",
        _keys({**known["TuneSpec"], "required": ["grid"]}, known),
        "[Tune a method](how-to/tune.md) has examples.\n",
        "## sweep\n",
        f"{whole['properties']['sweep']['description']} A path begins with a part of a method: `learner.alpha`,\n"
        "`feature_space.1.n_components` (the second of several steps), `learner.estimator.alpha` (of a component in a\n"
        "component). A method without that parameter has one result, which is shown at every value.\n",
        "## metrics\n",
        "Names of [metrics.md](metrics.md), or `{name: {option: value, as: label}}`.\n",
        "## tables and figures\n\nThe name of a layout, the path of one of your own, or `{layout: NAME, metric: NAME}` "
        "with any key\nof the layout. [layouts.md](layouts.md) has the layouts and their keys.\n",
    ]
    return page("Config reference", *parts)


def _keys(schema: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """A row for each key of a mapping; `known`: the definitions to which its schema refers."""
    rows = ["| key | value | |", "| --- | --- | --- |"]
    for key, spec in schema["properties"].items():
        about = [spec.get("description", "")]
        default = spec.get("default")
        if key in schema.get("required", ()):
            about.append("Required.")
        elif default not in (None, "", [], {}):
            about.append(f"Default: `{str(default).lower() if isinstance(default, bool) else default}`.")
        elif "default" in spec:
            about.append("Optional.")
        rows.append(f"| `{key}` | {_cell(_kind(spec, known))} | {_cell(' '.join(filter(None, about)))} |")
    return "\n".join(rows) + "\n"


def _kind(spec: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """What values a key takes, in words."""
    if "const" in spec:
        return f"`{spec['const']}`"
    if "enum" in spec:
        return ", ".join(f"`{value}`" for value in spec["enum"])
    if "$ref" in spec:
        name = spec["$ref"].rpartition("/")[2]
        linked = {"TuneSpec": "see [tune](#tune)", "MetricSpec": "[metrics](metrics.md)"}
        if name in linked or name in FAMILIES:
            return linked.get(name, name)
        return _kind(known[name], known)
    for choice in ("anyOf", "oneOf"):
        if choice in spec:
            kinds = dict.fromkeys(_kind(each, known) for each in spec[choice] if each.get("type") != "null")
            return " or ".join(kinds)
    kind = spec.get("type")
    if kind == "array":
        return f"list of {_kind(spec['items'], known)}" if "items" in spec else "list"
    if kind == "integer":
        least = f", at least {spec['minimum']}" if "minimum" in spec else ""
        return f"whole number{least}{', not 0' if 'not' in spec else ''}"
    if kind == "number" and "exclusiveMaximum" in spec:
        return f"fraction between {spec['exclusiveMinimum']} and {spec['exclusiveMaximum']}"
    if spec.get("pattern") and "predefined" in spec["pattern"]:
        return "percentage or `predefined`"
    if kind == "object" and spec.get("properties", {}).get("kind"):
        return f"`kind: {spec['properties']['kind']['const']}`"
    return {"string": "text", "boolean": "`true`, `false`", "object": "mapping", "number": "number"}.get(str(kind), "")


# -------------------------------------------------------------------- layouts, commands


def layout_page() -> str:
    """The packaged layouts, and the keys of one."""
    parts = ["`tables:` and `figures:` of an experiment name layouts. [Write your own](how-to/layout.md) shows one.\n"]
    rows = ["| layout | kind | |", "| --- | --- | --- |"]
    for name in layouts.names():
        content = files("mlcdr.tables").joinpath("layouts", *f"{name}.yaml".split("/")).read_text(encoding="utf-8")
        comment = re.match(r"(?:#.*\n)*", content)
        about = " ".join(line.lstrip("# ") for line in (comment[0] if comment else "").splitlines())
        rows.append(f"| `{name}` | {read_yaml_text(content, name).data['kind']} | {_cell(about)} |")
    text = inspect.getdoc(layouts) or ""
    text = text.partition("\n\n")[2]  # its first line is what this page is
    return page(
        "Layouts", *parts, "\n".join(rows) + "\n", "## Keys\n", re.sub(r"\n\n(    .*(?:\n(?:    .*)?)*)", _yaml, text)
    )


def _yaml(match: re.Match[str]) -> str:
    """An indented block as one that says what it is."""
    body = inspect.cleandoc(match[1]).rstrip()
    return f"\n\n```yaml\n{body}\n```\n" if body.startswith("kind:") else match[0]


def commands() -> str:
    """Every command with its arguments and options."""
    root = typer.main.get_command(app)
    parts = [
        "`mlcdr COMMAND --help` prints the same. Exit codes: 0 no problem; 1 something was computed and failed, "
        "differs or got worse; 2 a mistake in the input, reported in one line; 130 interrupted.\n"
    ]
    for name, command in _all_commands(root, ""):
        about = inspect.cleandoc(command.help or "").replace("\n", " ").replace("  ", "\n\n")
        shown = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
        usage = " ".join([f"mlcdr {name}", *map(_usage, shown)])
        rows = [f"- `{_term(p)}`: {p.help}{_default(p)}" for p in shown if getattr(p, "help", None)]
        parts.append(
            f"## mlcdr {name}\n\n    {usage}\n\n{_escaped(about)}\n" + ("\n" + "\n".join(rows) + "\n" if rows else "")
        )
    return page("Commands", *parts)


def _usage(parameter: Any) -> str:
    """A parameter as a line of usage shows it: `CONFIG...`, `[NAME]`, `--format FORM`, `[--set KEY=VALUE]...`."""
    if parameter.param_type_name == "argument":
        text = parameter.metavar + ("..." if parameter.nargs == -1 else "")
    else:
        text = f"{max(parameter.opts, key=len)} {parameter.metavar or ''}".rstrip()
    text = text if parameter.required else f"[{text}]"
    return f"{text}..." if getattr(parameter, "multiple", False) else text


def _term(parameter: Any) -> str:
    """A parameter as a list shows it: `CONFIG`, or `-j, --jobs N`."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    return f"{', '.join(sorted(parameter.opts, key=len))} {parameter.metavar or ''}".rstrip()


def _default(parameter: Any) -> str:
    """The default of a parameter, if that is a value."""
    default = parameter.default
    is_value = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
    if default == Path():
        return " Default: the current folder."
    return f" Default: {default}." if is_value else ""


def _all_commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield f"{prefix}{name}", command
        if hasattr(command, "commands"):
            yield from _all_commands(command, f"{prefix}{name} ")


# -------------------------------------------------------------------- Python's names


def classes() -> str:
    """The public names by what they are, for autosummary, which makes a page of each."""
    import mlcdr

    families: dict[str, list[str]] = {}
    for name in sorted(mlcdr.__all__, key=str.lower):
        thing = getattr(mlcdr, name)
        module = getattr(thing, "__module__", "")
        if isinstance(thing, type) and issubclass(thing, Exception):
            kind = "Errors and warnings"
        elif module.startswith("mlcdr.methods."):
            kind = module.split(".")[2]
        elif module.startswith("mlcdr.numerics."):
            kind = "clusterer"
        elif callable(thing):
            kind = "Run, read, compare"
        else:
            continue
        families.setdefault(kind, []).append(name)
    order = ["Run, read, compare", "composition", "contracts", *registry.BUILT_IN]
    kinds = sorted(families, key=lambda kind: (order.index(kind) if kind in order else len(order), kind))
    parts = [
        "What `import mlcdr` offers: each name is imported when it is first used, `mlcdr.CPLST` for example. The "
        "estimators are scikit-learn's; [methods](methods.md) has the same components by their names in a config.\n"
    ]
    for kind in kinds:
        listed = "\n".join(f"   {name}" for name in families[kind])
        head = kind.replace("_", " ").capitalize()
        parts.append(
            f"## {head}\n\n```{{eval-rst}}\n.. currentmodule:: mlcdr\n\n.. autosummary::\n   :toctree: _api\n\n"
            f"{listed}\n```\n"
        )
    return page("Classes and functions", *parts)


def _paper(paper: str, title: str) -> str:
    return page(title, record_pages.paper_page(paper))


PAGES: dict[str, Callable[[], str]] = {
    "methods.md": methods,
    **{f"methods/{family}.md": partial(family_page, family) for family in _families()},
    "methods/shared.md": shared_page,
    "metrics.md": metrics,
    "config.md": config,
    "layouts.md": layout_page,
    "commands.md": commands,
    "api.md": api,
    "classes.md": classes,
    "papers.md": lambda: page("What the papers say and what comes out", record_pages.papers()),
    "claims.md": lambda: page("What the papers say, claim by claim", record_pages.claims()),
    "gallery.md": lambda: page("Gallery", record_pages.gallery()),
    "board.md": lambda: page("The board", board_page.board_page(make_board(record_pages.read_runs(), read_memory()))),
    **{f"gallery/{paper}.md": partial(_paper, paper, title) for paper, title in record_pages.PAPERS.items()},
}


if __name__ == "__main__":
    parts_file.PARTS.write_text(components_json(), encoding="utf-8")
    STUB.write_text(stub(), encoding="utf-8")
    parts_file.read_definitions.cache_clear()  # which the pages are made by
    declarations.read_parts.cache_clear()
    SCHEMA.write_text(config_json(), encoding="utf-8")
    for name, make in PAGES.items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(make(), encoding="utf-8")
        print(FOLDER / name)
    board_page.write_figure(make_board(record_pages.read_runs(), read_memory()))
