"""Every link within the built site leads to a page and a place that exist: `python docs/check_links.py FOLDER`.

Sphinx checks the links that it makes itself; this one checks what is in the HTML. Links to elsewhere are for
`make site-links`, which needs the network.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places (`id`) and the links (`href`, `src`) of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect both."""
        for name, value in attrs:
            if value and name in ("id", "name"):
                self.ids.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def find_broken(folder: Path) -> tuple[int, list[str]]:
    """How many internal links there are, and those that are broken, as `page: link`."""
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    count, broken = 0, []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.exists() or (place and target in pages and place not in pages[target].ids):
                broken.append(f"{path.relative_to(folder)}: {link}")
    return count, broken


if __name__ == "__main__":
    total, wrong = find_broken(Path(sys.argv[1]).resolve())
    print("\n".join([*wrong, f"{total} internal links, {len(wrong)} broken"]))
    sys.exit(bool(wrong or not total))
