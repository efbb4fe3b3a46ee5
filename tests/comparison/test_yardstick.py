"""Own methods among those of a published study: ranks by brute force, what is left out, and files that are refused."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import kendalltau, spearmanr

from mlcdr.comparison import comparison, study
from mlcdr.comparison.agreement import agree, tabulate_ranks
from mlcdr.comparison.standing import place_methods, summarise_standings
from mlcdr.comparison.statistics import critical_difference
from mlcdr.comparison.study import MEASURES, METHODS
from mlcdr.comparison.yardstick import Yardstick, average_present_ranks
from mlcdr.data import catalog, sources, studies
from mlcdr.errors import DataError, ResultsError
from mlcdr.experiment.loading import load_experiment
from mlcdr.metrics import METRICS
from mlcdr.results.results import open_results
from mlcdr.tables.text_format import plain_word
from tests.results_folders import PATH, experiment, write_folder
from tests.small import Outcome

LOWER = {"hamming_loss", "one_error", "coverage", "ranking_loss"}
FAILED = {("langlog", "LP"), ("yeast", "CLR"), ("yeast", "MBR")}
SETS = ("langlog", "yeast", "scene", "reutersk500")
OWN = ("PLST", "CPLST")


def _made() -> dict[tuple[str, str], list[float]]:
    """A small study with many ties, of which three pairs failed."""
    drawn = np.random.default_rng(7)
    found = {}
    for dataset in SETS:
        for name, measure in MEASURES.items():
            worst = 75.0 if name == "COVARAGE" else float(measure.metric in LOWER)
            values = drawn.integers(1, 12, len(METHODS)) / (1 if name == "COVARAGE" else 16)
            of = zip(METHODS, values.round(3).tolist(), strict=True)
            found[dataset, name] = [worst if (dataset, method) in FAILED else value for method, value in of]
    return found


def _text(values: dict[tuple[str, str], list[float]], header: tuple[str, ...] = ("dataset", "measure")) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*header, *METHODS])
    writer.writerows([*key, *row] for key, row in values.items())
    return out.getvalue()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "published" / "bogatinovski_2022" / "results.csv"
    path.parent.mkdir(parents=True)
    path.write_text(_text(_made()), encoding="utf-8")
    return path


def _folder(tmp_path: Path, metrics: list[Any], values: dict[tuple, float], **more: Any) -> Path:
    """A results folder; `values`: (data set, method, *point, label of a metric) → mean."""
    datasets, methods = (list(dict.fromkeys(key[k] for key in values)) for k in (0, 1))
    config = experiment(datasets, methods, metrics, more.get("sweep"))
    return write_folder(
        tmp_path / "trial", config, {key: [v] for key, v in values.items()}, list(more.get("sweep", {}))
    )


def _beside(tmp_path: Path, made: Path, metrics: list[Any], values: dict[tuple, float], **more: Any) -> Yardstick:
    """A folder of `values` beside the study of `made`."""
    return Yardstick(open_results(_folder(tmp_path, metrics, values, **more)), study.read(made))


def _own(label: str, datasets: tuple[str, ...] = ("languagelog", "Yeast", "scene", "tiny")) -> dict[tuple, float]:
    drawn = np.random.default_rng(3)
    return {(d, m, label): float(drawn.integers(1, 12) / 16) + 0.0002 for d in datasets for m in OWN}


def _brute_force(metric: str, own: dict[str, float]) -> tuple[float, int, dict[str, list[int]]]:
    """Average rank, place and records of one method, whose value on each data set is given, from the definitions."""
    (measure,) = [m for m in MEASURES.values() if m.metric == metric]
    sign = -1 if metric in LOWER else 1
    ranks: dict[str, list[float]] = {}
    records: dict[str, list[int]] = {}
    k = len(METHODS) - len(measure.without) + 1
    for dataset, value in own.items():
        row = dict(zip(METHODS, _made()[dataset, measure.name], strict=True)) | {"own": round(value, 3)}
        row = {m: v * sign for m, v in row.items() if (dataset, m) not in FAILED and m not in measure.without}
        for method, v in row.items():
            better = sum(other > v for other in row.values())
            equal = sum(other == v for other in row.values()) - 1
            ranks.setdefault(method, []).append(1 + (better + equal / 2) * (k - 1) / (len(row) - 1))
            if method != "own":
                difference = row["own"] - v
                records.setdefault(method, [0, 0, 0])[0 if difference > 0 else 1 if difference == 0 else 2] += 1
    averages = {method: sum(found) / len(found) for method, found in ranks.items()}
    mine = averages.pop("own")
    return mine, 1 + sum(other < mine - 1e-9 for other in averages.values()), records


# -------------------------------------------------------------------- ranks


@pytest.mark.parametrize("metric", ["hamming_loss", "micro_auc", "one_error"])
def test_ranks_places_and_records_are_those_counted_one_by_one(tmp_path: Path, made: Path, metric: str) -> None:
    values = _own(metric)
    yardstick = _beside(tmp_path, made, [metric], values)
    found = place_methods(yardstick, *yardstick.measures(metric))
    assert found.datasets == ("languagelog", "Yeast", "scene")
    for own, pairs in found.pairs.groupby("own"):
        of_own = {"langlog": "languagelog", "yeast": "Yeast", "scene": "scene"}
        rank, place, records = _brute_force(metric, {t: values[d, own, metric] for t, d in of_own.items()})
        assert pairs["own_rank"].tolist() == pytest.approx([rank] * len(pairs))
        assert set(pairs["own_place"]) == {place}
        counts = pairs.set_index("method")[["wins", "ties", "losses"]]
        assert {method: list(each) for method, *each in counts.itertuples()} == records
        beaten = sum(wins > losses for wins, _, losses in records.values())
        assert (
            f"{own}: place {place} of {len(pairs) + 1}, beats {beaten} of {len(pairs)} on" in found.sheet().markdown()
        )
    assert counts.loc["CLR"].sum() == 2
    assert found.sheet().header[3].plain == "PLST W/T/L"
    shown = found.sheet().markdown()
    assert "languagelog (LP) and Yeast (CLR, MBR)" in shown
    assert "3 pairs" in shown
    assert "No data sets of the study: tiny." in shown.replace("\\", "")
    assert "Ranks are compared, not cells" in shown
    assert ("LP, CC and SSM" in shown) == (metric == "one_error")


def test_a_place_does_not_depend_on_the_others_that_are_placed(tmp_path: Path, made: Path) -> None:
    values = _own("f1")
    of_one = {key: value for key, value in values.items() if key[1] == "PLST"}
    metrics = [{"f1": {"zero_division": 0}}]
    both = _beside(tmp_path / "both", made, metrics, values)
    single = _beside(tmp_path / "one", made, metrics, of_one)
    together, alone = (place_methods(each, MEASURES["F1_example_based"]).pairs for each in (both, single))
    assert together[together["own"] == "PLST"].to_dict("list") == alone.to_dict("list")


def test_methods_far_ahead_and_far_behind_are_told_by_the_critical_difference(tmp_path: Path, made: Path) -> None:
    rows = _made()
    for dataset in SETS:  # MLkNN next to the best, MLARM next to the worst
        rows[dataset, "ACCURACY_example_based"][:2] = [0.99, 0.01]
    made.write_text(_text(rows), encoding="utf-8")
    values = {(d, m, "accuracy"): float(m == "PLST") for d in ("languagelog", "yeast", "scene") for m in OWN}
    yardstick = _beside(tmp_path, made, ["accuracy"], values)
    found = place_methods(yardstick, MEASURES["ACCURACY_example_based"])
    first, last = (found.pairs[found.pairs["own"] == own] for own in OWN)
    assert set(first["own_rank"]) == {1.0}
    assert set(last["own_rank"]) == {29.0}
    assert found.cd == critical_difference(29, 3)
    how = "of 28 on more data sets than it loses to them; 1"
    notes = found.sheet().notes
    assert f"PLST: place 1 of 29, beats 28 {how} worse by the critical difference (MLARM)." in notes
    assert f"CPLST: place 29 of 29, beats 0 {how} better by the critical difference (MLkNN)." in notes


def test_data_sets_without_results_of_all_own_methods_are_left_out_by_name(tmp_path: Path, made: Path) -> None:
    values = _own("exact_match")
    del values["Yeast", "CPLST", "exact_match"]
    yardstick = _beside(tmp_path, made, ["exact_match"], values)
    found = place_methods(yardstick, MEASURES["SUBSET_ACCURACY"])
    assert found.datasets == ("languagelog", "scene")
    assert "Left out, because results are missing here: Yeast." in found.notes
    for dataset in ("languagelog", "scene"):
        del values[dataset, "PLST", "exact_match"]
    yardstick = _beside(tmp_path / "none", made, ["exact_match"], values)
    with pytest.raises(ResultsError, match=r"no data set of .* has results of all methods \(CPLST and PLST\)"):
        place_methods(yardstick, MEASURES["SUBSET_ACCURACY"])


def test_each_point_of_a_sweep_is_placed(tmp_path: Path, made: Path) -> None:
    values = {("scene", "PLST", size, "accuracy"): 0.5 for size in ("20%", "80%")}
    folder = _folder(tmp_path, ["accuracy"], values, sweep={PATH: ["20%", "80%"]})
    found = place_methods(Yardstick(open_results(folder), study.read(made)), MEASURES["ACCURACY_example_based"])
    assert list(found.pairs["own"].unique()) == ["PLST 20%", "PLST 80%"]


# -------------------------------------------------------------------- measures


def test_another_convention_is_noted_and_another_scale_refused(tmp_path: Path, made: Path) -> None:
    metrics = ["f1", "coverage", "fit_seconds"]
    values = {("scene", m, label): 0.5 for m in OWN for label in metrics}
    yardstick = _beside(tmp_path, made, metrics, values)
    assert [measure.metric for measure in yardstick.measures()] == ["f1"]
    (note,) = [n for n in place_methods(yardstick, MEASURES["F1_example_based"]).notes if "zero_division" in n]
    assert note.startswith("zero_division is agree here and 0 there")
    with pytest.raises(ResultsError, match=r"coverage has another count; write \{coverage: \{count: labels\}\}"):
        yardstick.measures("COVARAGE")
    with pytest.raises(ResultsError, match="hamming_loss: not measured; write hamming_loss among"):
        yardstick.measures("hamming_loss")
    with pytest.raises(ResultsError, match="has no measure 'fit_seconds'"):
        yardstick.measures("fit_seconds")
    shown = (
        summarise_standings(yardstick, [place_methods(yardstick, each) for each in yardstick.measures()])
        .markdown()
        .replace("\\", "")
    )
    assert "coverage (coverage has another count: {coverage: {count: labels}})" in shown
    assert "no measures of the study: coverage, fit_seconds" in shown


def test_of_two_labels_of_a_metric_the_one_with_the_convention_of_the_study_is_taken(
    tmp_path: Path, made: Path
) -> None:
    metrics = ["f1", {"f1": {"zero_division": 0, "as": "of_study"}}]
    values = {("scene", "PLST", "f1"): 0.0, ("scene", "PLST", "of_study"): 1.0}
    yardstick = _beside(tmp_path, made, metrics, values)
    found = place_methods(yardstick, MEASURES["F1_example_based"])
    assert set(found.pairs["own_place"]) == {1}
    assert not any("zero_division" in note for note in found.notes)


def test_every_measure_names_a_metric_and_options_that_it_has() -> None:
    assert len(MEASURES) == 18
    assert len({measure.metric for measure in MEASURES.values()}) == 18
    assert {measure.metric for measure in MEASURES.values() if not measure.higher_is_better} == LOWER
    for measure in MEASURES.values():
        metric = METRICS[measure.metric]
        assert all(metric.allows(option, value) for option, value in measure.options.items())


def test_the_page_lists_the_measures() -> None:
    better = {True: "higher", False: "lower"}
    expected = [[m.name, m.written(), better[m.higher_is_better]] for m in MEASURES.values()]
    assert _rows_of_page("| study | config | better |") == expected


def test_folders_without_a_common_data_set_or_measure_are_refused(tmp_path: Path, made: Path) -> None:
    published = study.read(made)
    for name, values, why in (
        ("a", {("tiny", "PLST", "accuracy"): 0.5}, r"no data set of .* \(it has languagelog, yeast"),
        ("b", {("scene", "PLST", "log_loss"): 0.5}, "no measure of .* hamming_loss, accuracy"),
    ):
        folder = _folder(tmp_path / name, [next(iter(values))[-1]], values)
        with pytest.raises(ResultsError, match=why):
            Yardstick(open_results(folder), published)


# -------------------------------------------------------------------- agreement


def test_the_agreement_of_ranks_is_that_of_scipy(tmp_path: Path, made: Path) -> None:
    rows = _made()
    named = ("BR", "cc", "LP", "EBRJ48", "Own")
    drawn = np.random.default_rng(1)
    values = {(d, m, "micro_auc"): float(drawn.integers(1, 16) / 16) for d in ("languagelog", "yeast") for m in named}
    yardstick = _beside(tmp_path, made, ["micro_auc"], values)
    found = agree(yardstick, MEASURES["AUCROC_MICRO"])
    ours, theirs = {}, {}
    for dataset, there in (("languagelog", "langlog"), ("yeast", "yeast")):
        of = dict(zip(METHODS, rows[there, "AUCROC_MICRO"], strict=True))
        kept = [(m, n) for m, n in zip(named, ("BR", "CC", "LP", "EBRJ48"), strict=False) if (there, n) not in FAILED]
        ours[dataset] = {n: values[dataset, m, "micro_auc"] for m, n in kept}
        theirs[dataset] = {n: of[n] for _, n in kept}
    assert len(ours["languagelog"]) == 3
    a, b = (average_present_ranks(pd.DataFrame(each).T, True).to_dict() for each in (ours, theirs))
    assert (found.ranks["here"].to_dict(), found.ranks["there"].to_dict()) == (a, b)
    pair = [[side[m] for m in a] for side in (a, b)]
    assert found.differences["LP"].isna().to_dict() == {"langlog": True, "yeast": False}
    assert found.differences["LP"]["yeast"] == pytest.approx(ours["yeast"]["LP"] - theirs["yeast"]["LP"], abs=0.0006)
    within = [spearmanr(list(ours[d].values()), [theirs[d][m] for m in ours[d]]).statistic for d in ours]
    of_ranks = [test(*pair).statistic for test in (spearmanr, kendalltau)]
    assert found.correlations == pytest.approx((*of_ranks, np.mean(within)))


def test_the_study_agrees_with_itself(tmp_path: Path, made: Path) -> None:
    rows = _made()
    values = {
        (d, m, metric): dict(zip(METHODS, rows[d, name], strict=True))[m]
        for d in ("scene", "reutersk500")
        for m in METHODS
        for name, metric in (("SUBSET_ACCURACY", "exact_match"), ("ONE_ERROR", "one_error"))
    }
    yardstick = _beside(tmp_path, made, ["exact_match", "one_error"], values)
    found = [agree(yardstick, measure) for measure in yardstick.measures()]
    assert [len(each.ranks) for each in found] == [28, 25]
    assert [each.correlations for each in found] == [pytest.approx((1.0, 1.0, 1.0))] * 2
    assert {row[3].plain + row[4].plain for row in tabulate_ranks(found).rows} == {"0.000.000"}
    for names, told in (
        (("BR", "CC", "Mine"), "names of .*: BR, CC; an agreement needs three or more"),
        (("BR", "MLkNN", "ml-knn"), "MLkNN and ml-knn are one method in"),
    ):
        folder = _folder(tmp_path / names[1], ["accuracy"], {("scene", m, "accuracy"): 0.5 for m in names})
        with pytest.raises(ResultsError, match=told):
            agree(Yardstick(open_results(folder), study.read(made)), MEASURES["ACCURACY_example_based"])


# -------------------------------------------------------------------- the file


def test_the_file_of_the_repository_and_the_smaller_one_are_read_alike(tmp_path: Path, made: Path) -> None:
    rows = [[i, d, 0.5, *values, m] for i, ((d, m), values) in enumerate(_made().items())]
    out = io.StringIO()
    csv.writer(out).writerows([["", "index", "Cardinality", *METHODS, "metric"], *rows])
    path = tmp_path / "metaDataset.csv"
    path.write_text(out.getvalue(), encoding="utf-8")
    found = study.read(made)
    pd.testing.assert_frame_equal(study.read(path), found)
    assert _failed(found) == {"langlog": ["LP"], "yeast": ["CLR", "MBR"]}


def _failed(found: pd.DataFrame) -> dict[str, list[str]]:
    """Data set → the methods without a value."""
    without = {dataset: list(found.columns[found.loc[dataset].isna().all()]) for dataset in found.index.unique(0)}
    return {dataset: methods for dataset, methods in without.items() if methods}


_GOOD = _text(_made())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", r":1: the header does not have the column dataset, measure, MLkNN and 27 more once"),
        (_GOOD.replace("MLARM", "MLkNN", 1), ":1: the header does not have the column MLkNN and MLARM once"),
        (_GOOD.replace("HAMMING_LOSS", "HAMING_LOSS", 1), ":2: 'HAMING_LOSS_example_based' is no measure .*; did you"),
        (_GOOD.replace("0.", "nan", 1), r":\d+: \w+: 'nan.*' is no \w+, a number from 0 to 1"),
        (_GOOD.replace("0.", "1", 1), r"is no \w+, a number from 0 to 1"),
        (_GOOD.replace("\nlanglog", "\nla\x1bnglog", 1), r"'la\\x1bnglog' is no name of a data set"),
        (_GOOD + "scene,ONE_ERROR,0.5\r\n", r":74: 3 values where the header has 30 columns"),
        (_GOOD + _GOOD.splitlines()[1] + "\r\n", r":74: HAMMING_LOSS_example_based of langlog stands there twice"),
        ("\n".join(_GOOD.splitlines()[:-1]), "reutersk500 lacks AUPRC_MICRO"),
        (_GOOD.splitlines()[0], "has no results"),
        ('dataset,"measure', "not a CSV file"),
        ("x" * 200_000, "does not have the column"),
        ("\udcff", "not UTF-8 text"),
    ],
)
def test_a_file_of_another_form_is_refused_in_one_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    with pytest.raises(ResultsError, match=why) as caught:
        study.read(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    with path.open("wb") as file:
        file.truncate(16_000_001)
    with pytest.raises(ResultsError, match="larger than 15625 KiB; not the results of"):
        study.read(path)


def test_a_study_is_fetched_like_a_data_set(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = made.read_bytes()
    raw = yaml.safe_load(sources.CATALOGUE.read_text(encoding="utf-8"))
    raw["studies"]["bogatinovski_2022"] |= {
        "n_bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    monkeypatch.setattr(sources, "CATALOGUE", tmp_path / "catalog.yaml")
    monkeypatch.setenv("MLCDR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MLCDR_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.delenv("MLCDR_PUBLISHED", raising=False)
    file = sources.studies()["bogatinovski_2022"]
    public = tmp_path / "mirror" / file.repository / file.commit / file.path
    public.parent.mkdir(parents=True)
    with pytest.raises(DataError, match="`mlcdr datasets fetch bogatinovski_2022` downloads it, or MLCDR_PUBLISHED"):
        studies.locate_study("bogatinovski_2022")
    public.write_bytes(content[:-1] + b"x")
    with pytest.raises(DataError, match=r"bogatinovski_2022: not fetched: .* without the SHA-256"):
        catalog.fetch(["bogatinovski_2022"], progress=False)
    public.write_bytes(content)
    folder = tmp_path / "cache" / "published" / "bogatinovski_2022"
    assert catalog.fetch(["bogatinovski_2022"], progress=False) == {"bogatinovski_2022": folder}
    assert studies.locate_study("bogatinovski_2022") == folder / "metaDataset.csv"
    pd.testing.assert_frame_equal(study.read(folder / "metaDataset.csv"), study.read(made))
    monkeypatch.setenv("MLCDR_PUBLISHED", os.pathsep.join(["nowhere", str(tmp_path / "published")]))
    assert studies.locate_study("bogatinovski_2022") == made


def test_the_mapping_is_complete_for_the_study_as_it_is() -> None:
    try:
        found = study.read(studies.locate_study("bogatinovski_2022"))
    except DataError as error:
        pytest.skip(str(error))
    datasets = found.index.unique(0)
    assert len(datasets) == 40
    assert set(found.index.unique(1)) == set(MEASURES)
    assert _failed(found) == {
        "bibtex": ["LP"], "corel5k": ["LP"], "stackex_cs": ["LP"], "stackex_philosophy": ["LP"],
        "delicious": ["MLTSVM", "DEEP4", "LP", "CLR", "MBR"], "tmc2007_500": ["MLTSVM"],
        "stackex_chess": ["TREMLCnew"],
    }  # fmt: skip
    common = {e.name: study.find_name(e.name, datasets) for e in sources.entries()}
    common = {ours: theirs for ours, theirs in common.items() if theirs}
    assert len(common) == 16
    renamed = {ours: theirs for ours, theirs in common.items() if plain_word(ours) != plain_word(theirs)}
    assert renamed == {"languagelog": "langlog", "20ng": "ng20"}
    assert found.at[("genbase", "AUCROC_MICRO"), "DEEP1"] == 0.014


# -------------------------------------------------------------------- the page

STORED = Path(__file__).parents[2] / "docs" / "results" / "bogatinovski_2022_small"


def _rows_of_page(head: str) -> list[list[str]]:
    page = (Path(__file__).parents[2] / "docs" / "yardstick.md").read_text(encoding="utf-8")
    table = page[page.index(head) :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in table]


def _stored_beside_the_study() -> Yardstick:
    try:
        return Yardstick(open_results(STORED), study.read(studies.locate_study("bogatinovski_2022")))
    except DataError as error:
        pytest.skip(str(error))


def test_the_scores_of_the_page() -> None:
    yardstick = _stored_beside_the_study()
    for method, dataset, metric, there, here in _rows_of_page("| method | data set | measure | study | here |"):
        (measure,) = yardstick.measures(metric)
        assert (float(there), float(here)) == (
            yardstick.study.at[(dataset, measure.name), method],
            yardstick.own_values(measure).loc[dataset, method],
        )


@pytest.mark.slow  # tests of significance of all measures, for a page about stored results
def test_the_places_of_the_page() -> None:
    yardstick = _stored_beside_the_study()
    results, published = yardstick.results, yardstick.study
    measures = list(MEASURES.values())
    places = pd.concat([place_methods(yardstick, m).pairs for m in measures])
    place = places.drop_duplicates(["own", "metric"]).pivot(index="own", columns="metric", values="own_place")
    ranks = {m.metric: comparison.compare_methods(results, m.metric).average_ranks for m in measures}
    rows = _rows_of_page("| method | place of 29, label sets |")
    assert [row[0] for row in rows] == list(results.methods)
    for method, *shown in rows:
        groups = [[m.metric for m in part] for part in (measures[:12], measures[12:])]
        means = [place.loc[method, group].mean() for group in groups]
        means += [np.mean([ranks[metric][method] for metric in group]) for group in groups]
        assert shown == [f"{mean:.1f}" for mean in means]
    page = (Path(__file__).parents[2] / "docs" / "yardstick.md").read_text(encoding="utf-8")
    low = (published.xs("ONE_ERROR", level=1)[["LP", "CC", "SSM"]] < 0.02).sum().tolist()
    assert f"below 0.02 in the study on {low[0]}, {low[1]} and {low[2]} of the 40 data sets" in page
    cd = place_methods(yardstick, MEASURES["MICRO_F1"]).cd
    assert f"critical difference is {cd:.0f} places of 29" in page
    places["parted"] = places["beside"] - places["own_rank"] >= cd
    parted = places[places["metric"] == "micro_f1"].groupby("own")["parted"].sum()
    assert {method for method, n in parted.items() if n == 5} == {"RFPCT", "RFDTBR", "BR", "CLEMS"}
    assert not any(parted[method] for method in ("PLST", "CPLST", "DDSR", "MVMD", "OCC", "MLSF", "CLMLC"))


def test_what_is_stored_is_of_the_config() -> None:
    config = load_experiment(Path(__file__).parents[2] / "configs" / "bogatinovski_2022" / "small.yaml", look_up=False)
    stored = open_results(STORED).experiment
    for part in ("methods", "splits", "metrics", "datasets"):
        assert getattr(stored, part) == getattr(config, part)


# -------------------------------------------------------------------- the command


def test_compare_with_the_study(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    monkeypatch.setenv("MLCDR_PUBLISHED", str(tmp_path / "published"))
    labels = ("accuracy", "exact_match")
    values = {("scene", m, label): 0.4 for m in ("BR", "CC", "LP", "Own") for label in labels}
    folder = _folder(tmp_path, list(labels), values)
    asked = ("compare", folder, "--published", "bogatinovski_2022")
    done = mlcdr(*asked, "--out", tmp_path / "out")
    assert done.code == 0
    assert [done.out.splitlines()[k].split()[0] for k in (2, 4, 5)] == ["Measure", "accuracy", "exact_match"]
    assert len(list((tmp_path / "out").iterdir())) == 6
    rows = list(csv.DictReader((tmp_path / "out" / "study_accuracy.csv").open(encoding="utf-8")))
    assert len(rows) == 4 * len(METHODS)
    one = mlcdr(*asked, "--metric", "subset_accuracy")
    assert one.out.startswith("Bogatinovski et al. 2022: exact match, higher is better\n")
    assert one.out.count(" study ") == 28
    agreement = mlcdr(*asked, "--agreement")
    assert "Spearman" in agreement.out
    for more, why in (
        (("--metric", "log_loss"), "has no measure 'log_loss'"),
        (("--bayes",), "--bayes: cannot be combined with --published"),
        (("--agreement", "--out", "o"), "--out: cannot be combined with --agreement"),
    ):
        assert why in (wrong := mlcdr(*asked, *more)).err
        assert wrong.code == 2
    for more in ((), ("--published", "chen_lin_2012/table3")):
        assert "needs --published with the name of a study" in mlcdr("compare", folder, *more, "--agreement").err
    assert "--metric: cannot be combined with --published" in mlcdr(
        "compare", folder, "--published", "chen_lin_2012/table3", "--metric", "accuracy"
    ).err  # fmt: skip
    made.write_text("dataset,measure\n")
    assert mlcdr(*asked).err.startswith(f"error: {made}:1: the header")
    monkeypatch.setenv("MLCDR_PUBLISHED", "")
    assert "`mlcdr datasets fetch bogatinovski_2022` downloads it" in mlcdr(*asked).err
