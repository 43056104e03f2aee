"""Every page of the site in a real browser, without a network: `make browser`, after `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_report_page import AXE, SERIOUS, browser  # noqa: F401  (a fixture)

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SITE = ROOT / "out" / "docs"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
BROKEN = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
UNNAMED = "[...document.images].filter(i => !i.hasAttribute('alt')).map(i => i.src)"


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    if not PAGES:
        pytest.skip("the site is not built: make docs")


class Tab:
    """One window, offline, and what has gone wrong in it."""

    def __init__(self, program: Any, width: int) -> None:
        self.context = program.new_context(offline=True, viewport={"width": width, "height": 900})
        self.page, self.trouble = self.context.new_page(), []
        self.page.on("console", lambda m: self.trouble.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", lambda asked: self.asked(asked.url))

    def asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            self.trouble.append(url)

    def open(self, name: str, query: str = "") -> Any:
        self.trouble.clear()
        self.page.goto((SITE / name).as_uri() + query)
        return self.page


@pytest.fixture(params=[1400, 390])
def tab(request: pytest.FixtureRequest, browser: Any) -> Iterator[Tab]:  # noqa: F811
    found = Tab(browser, request.param)
    yield found
    found.context.close()


def test_pages_ask_for_nothing_fit_and_show_their_pictures(tab: Tab) -> None:
    wrong = {}
    for name in PAGES:
        page = tab.open(name)
        page.evaluate("document.querySelectorAll('img[loading=lazy]').forEach(i => i.loading = 'eager')")
        page.wait_for_function("[...document.images].every(i => i.complete)")
        found = [*tab.trouble, *page.evaluate(BROKEN), *page.evaluate(UNNAMED)]
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            found.append("wider than the window")
        if found:
            wrong[name] = found
    assert wrong == {}


def test_no_serious_barrier(tab: Tab) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is missing: make browser fetches it by npm")
    wrong = {}
    for name in PAGES:
        page = tab.open(name)
        page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
        found = page.evaluate(SERIOUS)
        if found:
            wrong[name] = found
    assert wrong == {}


def test_pictures_are_not_empty() -> None:
    from PIL import Image

    pictures = sorted((SITE / "_images").glob("*.png"))
    assert len(pictures) > 100
    for path in pictures:
        with Image.open(path) as image:
            colours = image.convert("RGB").getcolors(1 << 24)
        assert colours is not None
        assert len(colours) > 16, path.name
        assert max(n for n, _ in colours) < 0.998 * sum(n for n, _ in colours), path.name


def test_the_keyboard_suffices(tab: Tab) -> None:
    page = tab.open("start.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").strip() == "Skip to content"
    page.keyboard.press("Enter")
    assert page.url.endswith("#furo-main-content")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.getAttribute('href') || document.activeElement.tagName"))
    assert any(str(link).startswith("plant-files.html") for link in seen)


def test_search_finds_without_a_server(tab: Tab) -> None:
    page = tab.open("search.html", "?q=observer")
    page.wait_for_selector("#search-results li")
    assert page.locator("#search-results li").count() >= 3
    assert tab.trouble == []


def test_a_film_and_a_page_of_the_gallery_are_there(tab: Tab) -> None:
    films = sorted(path.name for path in (SITE / "_images").glob("*.gif"))
    assert films
    framed = [name for name in PAGES if "/pages/" in name]
    assert framed
    page = tab.open(framed[0])
    page.wait_for_selector("canvas")
