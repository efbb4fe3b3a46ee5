"""report.html: what stands in it, that nothing of the user's is markup, and that any results folder gets one.

`test_browser` looks at it in a browser.
"""

import base64
import contextlib
import hashlib
import html
import json
import re
import sqlite3
from collections import Counter
from html.parser import HTMLParser

import pytest
import yaml
from matplotlib.figure import Figure

from mlcdr.comparison import diagrams
from mlcdr.errors import ResultsError
from mlcdr.report import charts, report
from mlcdr.results.results import open_results
from tests.results_folders import PATH, experiment, write_folder
from tests.small import FOUR, SIZES, plain, write_dataset

METRICS = ("hamming_loss", "f1")
HOSTILE = "<script>alert(1)</script>"
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """The elements of a page in order; refuses tags that do not match."""

    def __init__(self, content):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(content)
        self.close()
        assert not self.open, f"left open: {[tag for tag, _ in self.open]}"

    def handle_starttag(self, tag, attrs):
        element = (tag, dict(attrs))
        assert len(attrs) == len(element[1]), f"an attribute twice: {tag} {attrs}"
        self.elements.append(element)
        if tag not in VOID:
            self.open.append((tag, len(self.texts)))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1][0] == "script":
            self.elements[-1][1]["text"] = data
        if self.open and self.open[-1][0] == "style":
            self.elements[-1][1]["text"] = data

    def all(self, tag, **attributes):
        return [a for t, a in self.elements if t == tag and attributes.items() <= a.items()]

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def folder_of(tmp_path, datasets=("yeast", "scene"), methods=("PLST", "CPLST"), points=("20%", "100%"), **more):
    values = {
        (d, m, p, k): [0.1 + i / 100 + j / 1000, 0.2 + i / 100 + j / 1000]
        for d in datasets
        for i, m in enumerate(methods)
        for j, p in enumerate(points)
        for k in METRICS
    }
    config = experiment(datasets, methods, METRICS, {PATH: points}, **more)
    return write_folder(tmp_path / "trial", config, values, [PATH])


def folder_without_curves(tmp_path, **more):
    """Nothing is swept, and the page is made in half the time: for what stands outside the data sets."""
    values = {("yeast", method, metric): [0.1, 0.2] for method in ("PLST", "CPLST") for metric in METRICS}
    return write_folder(tmp_path / "trial", experiment(["yeast"], ["PLST", "CPLST"], METRICS, **more), values)


@pytest.fixture(autouse=True)
def pictures(monkeypatch):
    """The diagrams of a page, title → figure: none, to save the time; `test_browser` has real ones."""
    found = {}
    monkeypatch.setattr(diagrams, "draw_all", lambda *_: found)
    return found


def page_of(folder):
    return Page(report.write(folder).read_text(encoding="utf-8"))


def with_manifest(folder, **changes):
    manifest = {
        "started": "2026-01-02T03:04:05+00:00",
        "trials": {"planned": 16, "kept": 0, "computed": 16, "failed": 0, "interrupted": False},
        "datasets": {"yeast": {"checksum": "abc", "n_instances": 7, "n_features": 3, "n_labels": 2, "notices": []}},
        "mlcdr": "0.2.0",
        "packages": {"numpy": "2.0"},
        "computed_by": [],
        **changes,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


# -------------------------------------------------------------------- what stands in it


def test_what_repeats_it_names_all_versions(tmp_path):
    page = page_of(with_manifest(folder_without_curves(tmp_path)))
    assert "pip install mlcdr==0.2.0 numpy==2.0" in page.text


def test_what_repeats_a_command_trusts_it(tmp_path):
    folder = folder_without_curves(tmp_path)
    assert "experiment.yaml --out again" in page_of(with_manifest(folder)).text
    path = folder / "experiment.yaml"
    config = yaml.safe_load(path.read_text())
    config["methods"]["Theirs"] = {"learner": {"external": {"command": "octave ridge.m {train} {test}"}}}
    path.write_text(yaml.safe_dump(config))
    assert "experiment.yaml --trust --out again" in page_of(folder).text


def test_the_parts_of_the_page(tmp_path):
    page = page_of(folder_of(tmp_path))
    sections = [a["id"] for a in page.all("section")]
    assert sections == ["summary", "tables", "ranks", "dataset-0", "dataset-1", "times", "failures", "repeat"]
    identifiers = Counter(a["id"] for _, a in page.elements if "id" in a)
    assert set(identifiers.values()) == {1}
    links = [a["href"] for a in page.all("a")]
    assert all(link.startswith("#") and link[1:] in identifiers for link in links)
    assert {f"#{section}" for section in sections} <= set(links)
    assert [a["aria-labelledby"] for a in page.all("section")] == [f"{section}-head" for section in sections]
    assert page.all("html", lang="en")
    assert page.all("meta", name="viewport")


def test_it_needs_nothing_beside_it_and_allows_its_own_script_and_style_only(tmp_path):
    page = page_of(folder_without_curves(tmp_path))
    reached = [
        a for t, a in page.elements if {"src", "srcset", "data", "xlink:href"} & a.keys() or t in ("link", "base")
    ]
    assert reached == []
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    rules = dict(rule.strip().split(" ", 1) for rule in policy["content"].split(";"))
    assert rules["default-src"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src-elem")):
        (element,) = page.all(tag)
        digest = base64.b64encode(hashlib.sha256(element["text"].encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert not [name for _, a in page.elements for name in a if name.startswith("on")]
    assert "url(" not in page.all("style")[0]["text"]
    assert len(page.all("script")[0]["text"].splitlines()) < 120


def test_every_number_stands_there_and_can_be_sorted(tmp_path):
    folder = folder_of(tmp_path)
    page = page_of(folder)
    for mean, se in open_results(folder).summary[["mean", "se"]].itertuples(index=False):
        assert f"{mean:.4f} ± {se:.4f}" in page.text
    assert len(page.all("table", **{"class": "sortable"})) == len(page.all("table")) >= 6
    assert len(page.all("caption")) == len(page.all("table"))
    assert {a.get("scope") for a in page.all("th")} == {"col", "row"}


def test_published_numbers_stand_with_each_cell_and_are_counted_on_top(tmp_path):
    tables = [{"layout": "chen_lin_2012/table3", "metric": "hamming_loss"}]
    page = page_of(folder_of(tmp_path, ("yeast",), tables=tables))
    assert "chen_lin_2012/table3: 4 of 4 cells within 3 standard errors" in page.text.partition("Data sets")[0]
    cells = page.text.partition("compared with chen_lin_2012/table3")[2]
    assert cells.index("0.2150 ± 0.0008") < cells.index("agrees")
    assert "Published" in cells
    assert len(page.all("td", **{"class": "agrees"})) == 4
    assert "0.1510 ± 0.0500 published 0.2022 ± 0.0009 diff. −0.0512, z −1.0: agrees" in page.text
    other = page_of(folder_of(tmp_path / "other", ("yeast",)))
    assert not other.all("span", **{"class": "about"}), "no published table"


def test_average_ranks_are_those_of_the_comparison(tmp_path):
    page = page_of(folder_of(tmp_path))
    # Both metrics are higher for CPLST: worse as Hamming loss, better as F1, on both data sets at both points.
    assert "Average rank over 4 pairs of data set and point of the sweep; 1 is the best" in page.text
    assert re.search(r"Method\s*Hamming loss\s*F1\s*PLST\s*1\.00\s*2\.00\s*CPLST\s*2\.00\s*1\.00", page.text)
    values = {("yeast", "A", "f1"): [0.5], ("yeast", "B", "f1"): [0.6]}
    one = page_of(write_folder(tmp_path / "one", experiment(["yeast"], ["A", "B"], ["f1"]), values))
    assert "Average rank over 1 data set; 1 is the best" in one.text


def test_each_data_set_has_its_curves_with_a_text_for_each_point(tmp_path):
    page = page_of(folder_of(tmp_path))
    charts = page.all("svg", **{"class": "figure"})
    assert [a["aria-label"] for a in charts] == [f"{dataset} along n_components" for dataset in ("yeast", "scene")]
    assert page.text.count("PLST, 20%: 0.15") == 4, "two data sets, two metrics"
    assert "CPLST, 100%: 0.161" in page.text


def test_nothing_swept_means_no_curves_and_times_stand_where_they_were_measured(tmp_path):
    values = {("yeast", "A", "fit_seconds"): [1.0, 3.0], ("yeast", "A", "f1"): [0.5, 0.5]}
    page = page_of(write_folder(tmp_path / "trial", experiment(["yeast"], ["A"], ["f1", "fit_seconds"]), values))
    assert not page.all("svg")
    assert "All numbers of yeast" in page.text
    assert re.search(r"Fitting, s per trial\s*Fitting, s in all\s*yeast\s*A\s*2\s*4", page.text)
    assert "were not timed apart" in page_of(folder_of(tmp_path / "other")).text


def test_memory_stands_with_the_times(tmp_path):
    values = {("yeast", "A", "fit_memory"): [10.0, 30.0], ("yeast", "A", "f1"): [0.5, 0.5]}
    page = page_of(write_folder(tmp_path / "trial", experiment(["yeast"], ["A"], ["f1", "fit_memory"]), values))
    assert re.search(r"Fitting, MB\s*yeast\s*A\s*20\b", page.text)
    assert "MB (10⁶ bytes)" in page.text


def test_of_two_swept_paths_the_last_runs_across_and_each_value_of_the_other_has_a_chart(tmp_path, monkeypatch):
    monkeypatch.setattr(charts, "_SETTINGS", 2)
    swept = {"learner.alpha": ["0.1", "1", "10"], PATH: ["1", "2"]}
    values = {("yeast", "A", a, m, "f1"): [0.5, 0.6] for a in ("0.1", "1", "10") for m in ("1", "2")}
    config = experiment(["yeast"], ["A"], ["f1"], swept)
    page = page_of(write_folder(tmp_path / "trial", config, values, list(swept)))
    shown = [a["aria-label"] for a in page.all("svg")]
    assert shown == [f"yeast along n_components, alpha = {alpha}" for alpha in ("0.1", "1")]
    assert "1 more setting: the table below has their numbers." in page.text


def test_what_looks_like_mathematics_in_a_name_is_none(tmp_path):
    odd = "$\\frac$"
    swept = {"learner.alpha": [odd], f"learner.{odd}": [odd, "2"]}
    values = {("y", odd, odd, p, odd): [0.5, 0.6] for p in (odd, "2")}
    config = experiment(["y"], [odd], ["f1"], swept)
    config["metrics"] = [{"f1": {"as": odd}}]
    page = page_of(write_folder(tmp_path / "trial", config, values, list(swept)))
    assert f"{odd}, 2: 0.55" in page.text


def test_diagrams_have_ids_of_their_own(tmp_path, pictures):
    pictures |= {title: Figure(figsize=(1, 1)) for title in ("Nemenyi & trial", "Holm")}
    page = page_of(folder_of(tmp_path))
    assert [a["role"] for name in pictures for a in page.all("svg", **{"aria-label": name})] == ["img", "img"]
    assert [page.all("g", id=f"diagram{k}-figure_1") for k in range(2)] == [
        [{"id": f"diagram{k}-figure_1"}] for k in range(2)
    ]


def test_tuned_parameters_and_how_often(tmp_path):
    folder = folder_of(tmp_path)
    rows = ["dataset,method,label_space.n_components,learner.gamma,split,parameter,value"]
    rows += [f"yeast,PLST,20%,,{split},learner.alpha,{value}" for split, value in enumerate(("1", "0.1", "1"))]
    (folder / "chosen.csv").write_text("\n".join(rows) + "\n")
    wanted = (
        r"Method\s*n_components\s*Parameter\s*Chosen \(how often\)\s*PLST\s*20%\s*learner.alpha\s*1 \(2\), 0.1 \(1\)"
    )
    assert re.search(wanted, page_of(folder).text)


def test_a_broken_file_is_told(tmp_path):
    folder = folder_of(tmp_path)
    (folder / "chosen.csv").write_text("dataset,method,split,parameter,value\nyeast,PLST\n")
    with pytest.raises(ResultsError, match=r"chosen\.csv:2: 2 values where the header has 5 columns"):
        report.write(folder)
    (folder / "chosen.csv").unlink()
    (folder / "scores.csv").write_text("dataset,method,label_space.n_components,split,metric,value\nyeast,PLST\n")
    with pytest.raises(ResultsError, match=r"scores\.csv:2: 2 values where the header has 6 columns"):
        report.write(folder)
    with pytest.raises(ResultsError, match="no such results folder"):
        report.write(tmp_path / "nowhere")


def test_the_state_is_what_is_there(tmp_path):
    folder = folder_without_curves(tmp_path)
    assert "trial/manifest.json: cannot be read" in page_of(folder).text
    page = page_of(with_manifest(folder, trials={"planned": 4, "failed": 0, "interrupted": False}))
    assert page.all("p", **{"class": "state"})
    page = page_of(with_manifest(folder, trials={"planned": 5, "failed": 0, "interrupted": True}))
    assert page.all("p", **{"class": "state bad"})
    assert "4 of 5 trials have results. The last run was interrupted" in page.text


def test_a_table_that_cannot_be_made_says_why_and_the_rest_stands(tmp_path):
    page = page_of(folder_without_curves(tmp_path, tables=[{"layout": "gone"}, {"layout": "generic"}]))
    assert "The table gone cannot be made: unknown layout 'gone'" in page.text
    assert page.all("section", id="dataset-0")


def test_the_same_folder_gives_the_same_page(tmp_path):
    folder = with_manifest(folder_of(tmp_path))
    assert report.make_page(folder) == report.make_page(folder)


# -------------------------------------------------------------------- whatever the user calls things


def hostile_folder(tmp_path):
    """Every name that a user gives is markup."""
    names = [HOSTILE, '"><img src=x onerror=alert(1)>', "a' onmouseover='x", "{{ 7*7 }}", "</style></script>&amp;"]
    metrics = {"hamming_loss": 0, "f1": {"as": "</td><script>"}}
    values = {
        (d, m, p, k): [0.1, 0.2]
        for d in ("<b>yeast</b>", "scene")
        for m in names
        for p in ("<i>1</i>", "2")
        for k in ("hamming_loss", "</td><script>")
    }
    config = experiment(["<b>yeast</b>", "scene"], names, METRICS, {PATH: ["<i>1</i>", "2"]})
    config["metrics"] = ["hamming_loss", {"f1": metrics["f1"]}]
    config |= {"name": "trial", "description": f"{HOSTILE} --> ]]>"}
    folder = write_folder(tmp_path / "<u>trial", config, values, [PATH])
    header = f"dataset,method,{PATH},split,parameter,value\n"
    (folder / "chosen.csv").write_text(f"{header}scene,{HOSTILE},2,0,learner.<s>,<q>\n")
    notices = [HOSTILE]
    return with_manifest(folder, datasets={"scene": {"n_labels": 2, "n_features": 1, "notices": notices}})


def test_nothing_of_the_users_is_markup(tmp_path):
    folder = hostile_folder(tmp_path)
    content = report.write(folder).read_text(encoding="utf-8")
    page = Page(content)
    assert len(page.all("script")) == 1
    assert len(page.all("style")) == 1
    assert not {"img", "b", "i", "s", "q", "u"} & {tag for tag, _ in page.elements}
    assert not [name for _, a in page.elements for name in a if name.startswith("on")]
    for name in (HOSTILE, "{{ 7*7 }}", "<b>yeast</b>", "learner.<s>", "<q> (1)"):
        assert name in page.text, "shown as it is written"
    assert html.escape(HOSTILE) in content


# -------------------------------------------------------------------- runs that did not go well


@pytest.fixture
def run(tmp_path, mlcdr):
    """`run(name, **changes)`: an experiment on a small data set, run; its folder."""
    data = write_dataset(tmp_path / "data")

    def go(name, **changes):
        config = tmp_path / f"{name}.yaml"
        config.write_text(yaml.safe_dump(plain(data, name=name, **changes), sort_keys=False))
        mlcdr("run", config, "--jobs", "1", "--out", tmp_path, "--quiet")
        return tmp_path / name

    return go


def test_failures_with_their_tracebacks(run, mlcdr):
    methods = {"<Bad>": {"learner": "tests.small.Failing"}, "PLST": FOUR["PLST"]}
    folder = run("partly", methods=methods)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = mlcdr("report", folder)
    assert (done.code, done.out, done.err) == (0, f"{folder / 'report.html'}\n", "")
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and p.name != "report.html"} == before
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert "8 of 12 trials have results. 4 failed." in page.text
    assert "<Bad> on tiny RuntimeError: no luck today splits 0–3 Traceback of split 0" in page.text
    assert "Traceback (most recent call last)" in page.text
    assert "The manifest of the last run counts" not in page.text


def test_a_folder_without_a_number_says_so(run):
    folder = run("none", methods={"Bad": {"learner": "tests.small.Failing"}}, sweep={})
    page = page_of(folder)
    assert "0 of 4 trials have results. 4 failed." in page.text
    assert "no trial has a result; 4 failed" in page.text
    assert [a["id"] for a in page.all("section")] == ["summary", "times", "failures", "repeat"]


def test_a_run_that_was_killed_before_it_wrote_its_tables(run):
    folder = run("killed", methods={"Bad": {"learner": "tests.small.Failing"}, "PLST": FOUR["PLST"]})
    for name in ("scores.csv", "summary.csv", "manifest.json"):
        (folder / name).unlink()
    page = page_of(folder)
    assert "manifest.json: cannot be read" in page.text
    assert "8 trials have results. 4 failed." in page.text
    assert f"mlcdr run {folder / 'experiment.yaml'} --out {folder.parent}" in page.text


def test_a_damaged_record_is_noticed(run, mlcdr):
    folder = run("damaged", methods={"PLST": FOUR["PLST"]})
    record = folder / "trials.sqlite"
    assert "No trial failed." in page_of(folder).text
    whole = record.read_bytes()
    page_size = int.from_bytes(whole[16:18], "big")
    record.write_bytes(whole[: 2 * page_size] + b"\xff" * page_size + whole[3 * page_size :])
    done = mlcdr("report", folder)
    assert (done.code, done.out) == (0, f"{folder / 'report.html'}\n")
    assert done.err.startswith(f"{record}: ")
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert page.all("p", **{"class": "state bad"})
    assert "The record of trials cannot be read, so which of them failed is not known" in page.text
    assert "No trial failed" not in page.text
    (folder / "summary.csv").unlink()
    assert mlcdr("report", folder).code == 0
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert str(record) in page.text, "what is damaged, and not only the missing summary.csv"


def test_a_damaged_record_of_a_part_is_noticed(run, mlcdr, tmp_path):
    folder = run("parts", methods={"PLST": FOUR["PLST"]})
    (folder / "trials.sqlite").unlink()
    for number in (1, 2):
        part = f"{number}/2"
        assert mlcdr("run", tmp_path / "parts.yaml", "--part", part, "-j", 1, "--out", tmp_path, "-q").code == 0
    assert page_of(folder).all("p", **{"class": "state"})
    record = folder / "trials.2-of-2.sqlite"
    record.write_bytes(b"\xff" * 9000)
    page = page_of(folder)
    assert page.all("p", **{"class": "state bad"})
    assert "The record of trials cannot be read, so which of them failed is not known" in page.text
    assert str(record) in page.text


def test_a_record_without_a_plan_is_not_called_damaged(run):
    folder = run("no_plan", methods={"Bad": {"learner": "tests.small.Failing"}, "PLST": FOUR["PLST"]})
    with contextlib.closing(sqlite3.connect(folder / "trials.sqlite")) as db, db:
        db.execute("DELETE FROM planned")
    page = page_of(folder)
    assert "no run has planned its trials here" in page.text
    assert "cannot be read" not in page.text
    assert "The manifest of the last run counts" not in page.text


def test_why_there_is_no_diagram(run, mlcdr):
    folder = run("single")
    mlcdr("report", folder)
    text = Page((folder / "report.html").read_text(encoding="utf-8")).text
    assert "No diagram: a critical-difference diagram needs" in text
    assert "two data sets or more (better more than 5)" in text
    done = mlcdr("compare", folder, "--out", folder / "compared")
    assert "no diagram of hamming_loss, f1, encoding_error: a critical-difference diagram needs" in done.err


def test_what_failed_before_a_change_of_the_experiment_is_not_counted(run):
    changing = {"sweep": {SIZES: [1, 200]}, "methods": {"PBR": FOUR["PBR"]}}
    folder = run("changed", **changing)
    assert "4 failed." in page_of(folder).text
    run("changed", **changing | {"sweep": {SIZES: [1, 2]}})
    page = page_of(folder)
    assert "8 of 8 trials have results." in page.text
    assert "No trial failed." in page.text


def test_the_comparison_with_one_method_stands_near_the_top(tmp_path):
    """And what a method is called is no markup."""
    folder = folder_of(tmp_path)
    assert "All methods against" not in page_of(folder).text
    path = folder / "experiment.yaml"
    for one in ("PLST", HOSTILE):
        config = yaml.safe_load(path.read_text())
        config["methods"][one] = config["methods"].pop("PLST")
        config["against"] = one
        path.write_text(yaml.safe_dump(config, sort_keys=False))
        for name in ("scores.csv", "summary.csv"):
            text = (folder / name).read_text()
            (folder / name).write_text(re.sub(",PLST,", f",{one},", text))
        text = page_of(folder).text
        told = text.index("yeast: the best of the others, CPLST at n_components = 20%, is 0.0100 behind")
        assert told < text.index("Data sets") < text.index(f"All methods against {one}: Hamming loss")
