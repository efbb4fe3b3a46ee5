"""The built site in a browser: search, accessibility (light and dark), width. `make site-look`; needs Chromium.

`python -m tools.site docs/_build/html [FOLDER FOR SCREENSHOTS]`
"""

from __future__ import annotations

import functools
import http.server
import itertools
import shutil
import sys
import threading
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

PAGES = ("index", "tutorial", "concepts", "gallery", "commands", "config", "methods", "papers", "api", "how-to/tune")
PAGES += ("gallery/chen_lin_2012", "studies/labels", "board", "methods/label_space")
WIDTHS = (1200, 390)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SEARCHES = {  # what is typed → a page that must be found
    "CPLST": "methods/label_space.html",
    "label_space.n_components": "config.html",
    "ranking loss": "metrics.html",
}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


def look(browser: Browser, root: str, pictures: Path | None) -> list[str]:
    """What is wrong with the pages; pictures of them are written if a folder is given."""
    wrong = []
    axe = Axe()
    for width, scheme in itertools.product(WIDTHS, SCHEMES):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        for name in PAGES:
            page.goto(f"{root}/{name}.html")
            if pictures is not None:
                page.screenshot(path=pictures / f"{name.replace('/', '-')}_{width}_{scheme}.png")
            if (scrolled := page.evaluate("document.documentElement.scrollWidth")) > width:
                wrong.append(f"{name} at {width}: {scrolled} px wide")
            found = [
                f"{each['id']} ({each['impact']}, {len(each['nodes'])}): {each['nodes'][0]['html'][:120]}"
                for each in axe.run(page).response["violations"]
            ]
            wrong += [f"{name} at {width}, {scheme}: {each}" for each in found]
        page.close()
    page = browser.new_page()
    for text, wanted in SEARCHES.items():
        page.goto(f"{root}/index.html")
        page.get_by_role("textbox", name="Search").first.fill(text)
        page.keyboard.press("Enter")
        page.wait_for_selector("#search-results ul.search li a")
        page.wait_for_function("document.querySelector('#search-results p').textContent.includes('found')")
        hits = [each.get_attribute("href") or "" for each in page.query_selector_all("#search-results ul.search li a")]
        print(f"search {text!r}: {len(hits)} pages, first {hits[:3]}")
        if not any(wanted in hit for hit in hits):
            wrong.append(f"search {text!r} does not find {wanted}: {hits[:8]}")
    return wrong


def main() -> int:
    """The exit code: 1 if anything is wrong."""
    folder = Path(sys.argv[1])
    pictures = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    system = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=system, args=["--no-sandbox"])
        wrong = look(browser, f"http://127.0.0.1:{server.server_port}", pictures)
        browser.close()
    print("\n".join([*wrong, f"{len(PAGES)} pages at {len(WIDTHS)} widths: {len(wrong)} faults"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
