import pytest

from mlcdr.experiment.consistency import Asked
from mlcdr.tables import checks
from tests.results_folders import PATH, entry_of, experiment

TABLE3 = {"layout": "chen_lin_2012/table3", "metric": "hamming_loss"}
FIGURE1 = {"layout": "chen_lin_2012/figure1"}
FOUR = ["hamming_loss", "encoding_error", "prediction_error", "loss_bound"]


def find_problems(config):
    asked = Asked(
        tables=tuple(map(entry_of, config["tables"])),
        figures=tuple(map(entry_of, config["figures"])),
        metrics=tuple(next(iter(m.values()))["as"] if isinstance(m, dict) else m for m in config["metrics"]),
        methods=tuple(config["methods"]),
        n_datasets=len(config["datasets"]),
        sweep={path: len(values) for path, values in config["sweep"].items()},
    )
    return list(map(str, checks.find_problems(asked)))


def test_an_experiment_that_fits_has_no_problem():
    config = experiment(["yeast"], ["PLST"], FOUR, {PATH: ["20%"]}, [TABLE3, "generic"], [FIGURE1])
    assert find_problems(config) == []
    assert find_problems(experiment(["yeast"], ["PLST"], FOUR)) == []


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            experiment(["y"], ["A"], ["hamming_loss"], {}, [TABLE3]),
            "tables.0: needs a sweep of label_space.n_components (swept: nothing)",
        ),
        (
            experiment(["y"], ["A"], FOUR[:3], {PATH: [1]}, [], [FIGURE1]),
            "figures.0: needs the metric loss_bound (measured: hamming_loss, encoding_error, prediction_error)",
        ),
        (
            experiment(["y"], ["A"], ["f1"], {}, [{"layout": "generic", "digits": -1}]),
            "tables.0: the experiment's entry with layout generic: digits: must be at least 0, found -1",
        ),
        (
            experiment(["y"], ["A"], ["f1"], {}, [], ["curves"]),
            "figures.0: needs a sweep, and nothing is swept",
        ),
        (
            experiment(["y"], ["A"], ["f1"], {PATH: [1, 2], "learner.alpha": [1, 2]}, [], ["curves"]),
            f"figures.0: {PATH} is swept too, so a method has several curves; a figure shows one sweep "
            "(`at:` chooses a value, `lines:` draws a line for each, `draw: heatmap` shows two sweeps)",
        ),
        (
            experiment(
                ["y"], ["BR+"], ["f1"], {PATH: [1]}, [{"layout": "generic", "relative_to": "BR", "spread": "none"}]
            ),
            "tables.0: needs the method BR; did you mean 'BR+'?",
        ),
    ],
)
def test_what_would_fail_is_told_before(config, expected):
    assert find_problems(config) == [expected]


@pytest.mark.parametrize("places", [{"rows": ["method"]}, {"rows": ["dataset", "method", PATH]}, {"columns": "method"}])
def test_a_layout_must_have_a_place_for_data_sets_and_methods(places):
    config = experiment(["y"], ["A"], ["hamming_loss"], {PATH: [1]}, [{**TABLE3, **places}])
    (line,) = find_problems(config)
    assert line == "tables.0: rows and columns together must hold dataset and method, each name once"


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"layout": "curves", "size": [1, 50]}, "size.0: must be at least 40"),
        ({"layout": "curves", "size": [50, float("inf")]}, "size.1: must be at most 1000"),
        ({"layout": "curves", "panels": [{"metric": "accuracy"}] * 101}, "has 101 panels; a figure may have 100"),
        ({"layout": "curves", "x_label": r"$\input{x}$"}, r"x_label: \input is not known in mathematics"),
    ],
)
def test_a_figure_that_could_not_be_drawn_is_refused(figure, message):
    found = find_problems(experiment(["yeast"], ["A"], ["accuracy"], {PATH: ["20%", "40%"]}, [], [figure]))
    assert any(message in problem for problem in found)
