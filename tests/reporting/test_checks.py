import pytest

from mlcdr.reporting import checks
from tests.reporting.results_folders import PATH, experiment

TABLE3 = {"layout": "chen_lin_2012/table3", "metric": "hamming_loss"}
FIGURE1 = {"layout": "chen_lin_2012/figure1"}
FOUR = ["hamming_loss", "encoding_error", "prediction_error", "loss_bound"]


def test_an_experiment_that_fits_has_no_problem():
    config = experiment(["yeast"], ["PLST"], FOUR, {PATH: ["20%"]}, [TABLE3, "generic"], [FIGURE1])
    assert checks.problems(config) == []
    assert checks.problems(experiment(["yeast"], ["PLST"], FOUR)) == []


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            experiment(["y"], ["A"], ["f1"], {PATH: [1]}, [TABLE3]),
            "tables.0: needs the metric hamming_loss (measured: f1)",
        ),
        (
            experiment(["y"], ["A"], ["hamming_loss"], {}, [TABLE3]),
            "tables.0: needs a sweep of label_space.n_components (swept: nothing)",
        ),
        (
            experiment(["y"], ["A"], FOUR[:3], {PATH: [1]}, [], [FIGURE1]),
            "figures.0: needs the metric loss_bound (measured: hamming_loss, encoding_error, prediction_error)",
        ),
        (
            experiment(
                ["y"], ["A"], [{"f1": {"as": "mine"}}], {}, ["generic", {"layout": "generic", "metric": "mien"}]
            ),
            "tables.1: needs the metric mien; did you mean 'mine'? (measured: mine)",
        ),
        (
            experiment(["y"], ["A"], ["f1"], {}, ["genric"]),
            "tables.0: unknown layout 'genric'; did you mean 'generic'? (known: "
            "chen_lin_2012/figure1, chen_lin_2012/table3, chen_lin_2012/table5, generic; or your own file, NAME.yaml)",
        ),
    ],
)
def test_what_would_fail_is_told_before(config, expected):
    assert checks.problems(config) == [expected]
