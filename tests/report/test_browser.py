"""report.html in a browser: no error, nothing missing, sortable, accessible, and no wider than a phone.

Driven by Playwright, with the Chromium of the system or Playwright's own; axe-core comes with axe-playwright-python.
Where one of them is not installed the tests skip. `python -m tests.report.test_browser FOLDER` leaves pictures.
"""

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest

from mlcdr.report import report
from tests.results_folders import PATH, experiment, spread_around, write_folder

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright (pip install playwright)")

STORED = Path(__file__).parents[1] / "stored"
SYSTEM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHONE, DESK = {"width": 360, "height": 780}, {"width": 1280, "height": 900}
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        try:
            started = driver.chromium.launch(executable_path=SYSTEM, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"needs Chromium: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Reports by name: of a real run, of one that failed in part, and of many data sets with long names."""
    return written(tmp_path_factory.mktemp("reports"))


def written(root):
    """The reports, in a folder."""
    made = {}
    made["best"] = shutil.copytree(STORED / "best", root / "best")
    made["many"] = many(root)
    made["failed"] = failed(root)
    return {name: report.write(folder) for name, folder in made.items()}


EVERY = {"best": 4 + 2, "many": 2 + 7, "failed": 1}
"""The pages, and how many figures each has: diagrams, and curves or the points tried of each data set."""


def many(root):
    """Seven data sets, so that there are tests and diagrams; one with a long name, one method that lacks a number."""
    datasets = [*(f"set{k}" for k in range(6)), "a_data_set_with_a_name_that_is_rather_long"]
    methods = ["M10", "M2", "Of a name that is rather long"]
    values = {
        (d, m, p, k): spread_around(0.1 * (i + 1) + 0.01 * j * (1 + i % 3) + 0.001 * len(p), 0.004)
        for i, d in enumerate(datasets)
        for j, m in enumerate(methods)
        for p in ("20%", "100%")
        for k in ("hamming_loss", "f1")
    }
    del values["set5", "M10", "20%", "f1"]
    config = experiment(datasets, methods, ["hamming_loss", "f1"], {PATH: ["20%", "100%"]})
    return write_folder(root / "many", config, values, [PATH])


def failed(root):
    """A run in which a method failed, with its traceback."""
    from mlcdr.execution.runner import run
    from mlcdr.experiment.loading import experiment_from
    from tests.small import FOUR, plain, write_dataset

    methods = {"<Bad> & worse": {"learner": "tests.small.Failing"}, "PLST": FOUR["PLST"]}
    arff = write_dataset(root / "data")
    return run(experiment_from(plain(arff, name="failed", methods=methods)), root).folder


def opened(browser, path, **options):
    """The page and what went wrong while it was loaded; everything folded away is opened."""
    context = browser.new_context(**options)
    page = context.new_page()
    wrong = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
    page.on("request", lambda request: wrong.append(f"asks for {request.url}") if page.url != "about:blank" else None)
    page.goto(path.as_uri())
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    return page, wrong


@pytest.mark.parametrize("name", EVERY)
def test_it_loads_without_an_error_and_shows_every_figure(browser, pages, name):
    page, wrong = opened(browser, pages[name], viewport=DESK)
    drawn = page.evaluate(
        """[...document.querySelectorAll('figure')].map(figure => {
            const box = figure.querySelector('svg')?.getBoundingClientRect();
            const marks = figure.querySelector('svg')?.querySelectorAll('path, polyline, line, circle, rect, polygon');
            const caption = figure.querySelector('figcaption')?.textContent.trim();
            return [caption, box?.width ?? 0, box?.height ?? 0, marks?.length ?? 0];
        })"""
    )
    assert wrong == []
    assert len(drawn) == EVERY[name]
    assert all(caption and width > 150 and height > 80 and marks > 3 for caption, width, height, marks in drawn), drawn
    page.context.close()


@pytest.mark.parametrize(("name", "scheme", "rules"), [
    ("best", "light", "{}"),
    ("failed", "light", "{}"),
    ("failed", "dark", "{runOnly: ['color-contrast']}"),  # colours are all that the dark page has of its own
    ("many", "light", "{rules: {'color-contrast': {enabled: false}}}"),  # which takes long, and finds the same colours
])  # fmt: skip
def test_axe_finds_no_serious_fault(browser, pages, name, scheme, rules):
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs axe-core (pip install axe-playwright-python)")
    axe = Path(next(iter(spec.submodule_search_locations))) / "axe.min.js"
    page, _ = opened(browser, pages[name], viewport=DESK, color_scheme=scheme, bypass_csp=True)
    page.evaluate(axe.read_text(encoding="utf-8"))
    # What is within a picture is not read out.
    faults, passes = page.evaluate(
        f"""axe.run({{exclude: [['svg > *']]}}, {{resultTypes: ['violations'], ...{rules}}}).then(found => [
            found.violations.map(each => [each.id, each.impact, each.nodes[0].html.slice(0, 120)]),
            found.passes.length,
        ])"""
    )
    assert [fault for fault in faults if fault[1] in SERIOUS] == []
    assert passes > ("runOnly" not in rules) * 15, "else axe has not looked"
    page.context.close()


@pytest.mark.parametrize("name", EVERY)
def test_it_does_not_scroll_sideways(browser, pages, name):
    page, _ = opened(browser, pages[name], viewport={"width": 768, "height": 780})
    for width in (768, 360, 320):
        page.set_viewport_size({"width": width, "height": 780})
        wide = page.evaluate(
            """[document.scrollingElement.scrollWidth, [...document.querySelectorAll('body *')].filter(each =>
                each.getBoundingClientRect().right > innerWidth + 1 && !each.closest('.scroll, pre, .unseen')
            ).map(each => each.outerHTML.slice(0, 80)).slice(0, 3)]"""
        )
        assert wide == [width, []]
    page.context.close()


def test_columns_are_sorted_by_mouse_and_keyboard(browser, pages):
    page, wrong = opened(browser, pages["many"], viewport=DESK)
    table = page.locator("#dataset-0 table").first
    head = table.locator("thead button").nth(2)

    def shown():
        return [float(text.split()[0]) for text in table.locator("tbody td:nth-child(3)").all_inner_texts()]

    before = shown()
    head.click()
    assert shown() == sorted(before)
    assert table.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")  # the button has the focus
    assert shown() == sorted(before, reverse=True)
    page.keyboard.press("Space")
    assert shown() == before
    assert table.locator("th[aria-sort]").count() == 0
    table.locator("thead button").nth(0).click()
    methods = [name.split()[0] for name in table.locator("tbody th:nth-child(1)").all_text_contents()]
    assert list(dict.fromkeys(methods)) == ["M2", "M10", "Of"], "numbers within names count as such"
    assert wrong == []
    page.context.close()


def test_rows_of_a_data_set_stay_together_when_a_table_is_sorted(browser, pages):
    page, wrong = opened(browser, pages["many"], viewport=DESK)
    table = page.locator("#tables table").first

    def column(k):
        return table.locator(f"tbody tr > :nth-child({k})").all_text_contents()

    datasets, heads = list(dict.fromkeys(column(1))), table.locator("thead button")
    heads.nth(2).click()
    heads.nth(2).click()
    assert [name for k, name in enumerate(column(1)) if not k or column(1)[k - 1] != name] == datasets
    numbers = [text.split()[0] for text in column(3)]
    for name in datasets:
        of = [float(each) for each, d in zip(numbers, column(1), strict=True) if d == name and each != "–"]
        assert of == sorted(of, reverse=True)
        assert len(of) > 1
    heads.nth(0).click()
    assert column(1) == sorted(column(1)), "the data sets themselves can be sorted"
    assert wrong == []
    page.context.close()


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1000, "height": 800}])
def test_what_scrolls_says_so(browser, pages, viewport):
    page, _ = opened(browser, pages["many"], viewport=viewport)
    page.wait_for_timeout(300)
    told = page.evaluate(
        """[...document.querySelectorAll('.scroll')].map(
            each => [each.scrollWidth > each.clientWidth + 1, !each.previousElementSibling.hidden])"""
    )
    assert all(wide == remark for wide, remark in told)
    assert any(wide for wide, _ in told)
    assert viewport == PHONE or not all(wide for wide, _ in told)
    page.context.close()


def test_a_link_opens_what_is_folded_away(browser, pages):
    page, _ = opened(browser, pages["many"], viewport=DESK)
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = false")
    page.locator("nav a", has_text="set4").click()
    page.locator("#dataset-4 > details[open]").wait_for(state="attached")  # the click's event comes later
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement !== document.body")
    page.context.close()


def test_all_is_printed(browser, pages):
    """On paper nothing is folded away, cut off or dark."""
    page, _ = opened(browser, pages["many"], viewport=DESK, color_scheme="dark")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = false")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    )
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 0
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) > 3
    page.context.close()


def test_without_its_script_the_page_is_whole(browser, pages):
    context = browser.new_context(viewport=DESK, java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["many"].as_uri())
    assert page.locator("table").count() == page.locator("caption").count() > 7
    assert page.locator("th button").count() == 0
    assert "0.1030 ± 0.0040" in page.locator("#dataset-0").text_content()
    context.close()


def pictures(folder):
    """Screenshots of every page: desk, phone, dark, print."""
    looks = {
        "desk": {"viewport": DESK},
        "dark": {"viewport": DESK, "color_scheme": "dark"},
        "phone": {"viewport": PHONE, "device_scale_factor": 2},
    }
    folder.mkdir(parents=True, exist_ok=True)

    made = written(folder)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=SYSTEM, args=["--no-sandbox"])
        for name, path in made.items():
            for look, options in looks.items():
                page, _ = opened(browser, path, **options)
                page.screenshot(path=folder / f"{name}_{look}.png", full_page=True)
                page.context.close()
            page, _ = opened(browser, path, viewport=DESK)
            page.pdf(path=folder / f"{name}_print.pdf", format="A4")
            page.context.close()


if __name__ == "__main__":
    pictures(Path(sys.argv[1]))
