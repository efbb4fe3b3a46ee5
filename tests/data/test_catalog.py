"""The facts of the catalogue, and what is here beside them."""

import re
from pathlib import Path

import pytest

from mlcdr.data import catalog, sources
from mlcdr.errors import DataError

NAMED = ["emotions", "yeast", "scene", "enron", "medical", "genbase", "bibtex", "corel5k", "birds", "flags", "cal500"]
NAMED += ["delicious", "mediamill", "bookmarks", "tmc2007", "tmc2007-500", "languagelog", "image", "20ng", "foodtruck"]
NAMED += ["languagelog_last75", "tmc2007-500_repeated"]
NAMED += [f"rcv1s{i}" for i in range(1, 6)] + [f"corel16k{i}" for i in range(1, 11)]

# --- the facts ----------------------------------------------------------------------------------------------------


def test_every_data_set_of_the_papers_is_there() -> None:
    assert sorted(NAMED) == sorted(sources.entry_names())


@pytest.mark.parametrize("name", NAMED)
def test_entries_are_complete(name: str) -> None:
    entry = sources.entry(name)
    assert entry.name == name
    assert all([entry.domain, entry.citation, entry.page.startswith("http"), entry.statistics])
    facts = entry.statistics
    if "cardinality" in facts:
        # Both numbers are rounded, so their ratio is K only within the density's last digit.
        half = 0.5e-6 if entry.measured else 0.5e-3
        assert abs(facts["cardinality"] / facts["n_labels"] - facts["density"]) <= half * 1.01
        assert facts["nominal"] + facts["numeric"] == facts["n_features"]
    for file in entry.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert re.fullmatch("[0-9a-f]{40}", file.commit)
        assert file.name.lower().startswith(name)
    kinds = {Path(file.name).suffix for file in entry.files}
    assert kinds in ({".arff", ".xml"}, {".mat", ".xml"}, {".mat"}, set())
    assert (".mat" in kinds) == (entry.matlab is not None)
    if entry.matlab:
        assert (".xml" in kinds) == (not entry.matlab.labels)


def test_unknown_names() -> None:
    with pytest.raises(DataError, match=r"the catalogue has no data set 'bibtx'; did you mean 'bibtex'\?$"):
        sources.entry("bibtx")
    assert sources.entry("CAL500").name == "cal500"


def test_info_of_the_embedded_data_set() -> None:
    facts = catalog.info("yeast")
    assert facts["expected_from"] == "measured"
    assert facts["statistics"]["n_instances"] == facts["expected"]["n_instances"] == 2417
    assert len(facts["labels"]) == 14
    assert facts["urls"][0].startswith("https://")


def test_info_of_one_that_is_not_here() -> None:
    facts = catalog.info("mediamill")
    assert facts["folder"] is None
    assert not facts["fetchable"]
    assert "statistics" not in facts
    with pytest.raises(DataError, match="unknown data set 'nonesuch'"):
        catalog.info("nonesuch")


def test_the_embedded_data_set_verifies() -> None:
    checks = catalog.verify("yeast")
    assert all(check.ok for check in checks)
    assert {"cardinality", "distinct", "sha256 of yeast.arff", "sha256 of yeast.xml"} <= {
        check.fact for check in checks
    }


def test_every_public_file_has_one_address() -> None:
    """What is public is named by repository and commit; all three hosts are asked over https."""
    (first, *_), known = sources.hosts(), sources.entry("corel16k1")
    matlab, xml = known.files
    assert matlab.address(first) == (
        "https://raw.githubusercontent.com/KKimura360/MLC_toolbox/e7987792cc26a81028395a0761b65b2bc89364bd/"
        "dataset/matfile/corel16k1.mat"
    )
    assert (xml.name, xml.path) == ("corel16k1.xml", "data/multi-label/corel16k/Corel16k001.xml")
    assert all(host.startswith("https://") for host in sources.hosts())
    assert sum(entry.fetchable for entry in sources.entries()) == len(NAMED) - 3


def test_no_checksum_no_download() -> None:
    with pytest.raises(DataError, match=r"^bookmarks: no checksum .* and put bookmarks\.arff and bookmarks\.xml into "):
        catalog.fetch(["yeast", "bookmarks"])
