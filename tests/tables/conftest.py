import pytest

from tests.results_folders import PATH, PERCENTS, as_printed, experiment, write_folder


@pytest.fixture
def table3_folder(tmp_path):
    """scene and yeast as Table 3 of Chen & Lin prints them, in a folder that asks for that table."""
    printed = as_printed("chen_lin_2012/table3")
    values = {key: cell for key, cell in printed.items() if key[0] in ("scene", "yeast")}
    config = experiment(
        ["scene", "yeast"],
        ["PLST", "CPLST"],
        ["hamming_loss"],
        {PATH: PERCENTS},
        tables=[{"layout": "chen_lin_2012/table3", "metric": "hamming_loss"}],
    )
    return write_folder(tmp_path / "results" / "trial", config, values, [PATH])
