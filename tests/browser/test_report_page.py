"""Reports in a real browser, without a network: `make browser`, or as a part of `make test-all`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flexctl as fx

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium")
AXE = Path(__file__).parents[2] / "out" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
    .filter(v => ['serious', 'critical'].includes(v.impact)).map(v => `${v.id}: ${v.nodes[0].html.slice(0, 160)}`)"""
OPTIONS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
    "--disable-component-update", "--no-first-run",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: make browser says how to get it")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a page of each kind."""
    place = tmp_path_factory.mktemp("pages")
    script = fx.load_controller("tokhi_azad_lqg")
    arm = fx.load_plant(script.PLANT)
    law = script.design(arm)
    runs = fx.run_scenarios(script, arm, controller=law, only=["5 deg, 0 g", "60 deg, 10 g"], record_states=True)
    space = fx.load_plant("spatial_3r", overrides={"model.elements": 2})
    torque = {"joint2_torque": fx.bang_bang(40.0, 0.2)}
    flight = fx.simulate(space, inputs=torque, duration=0.5, step=1e-3, record_states=True)
    certificate = fx.certify("tokhi_azad_pd", payload=(0.0, 0.01), bits=(), workers=1)
    return {
        "runs": fx.report({item.name: run for item, run in runs}, place / "runs.html", design=law, plant=arm),
        "space": fx.report(flight, place / "space.html"),
        "certificate": fx.report(certificate, place / "certificate.html"),
        "bode": fx.report(arm.frequency_response(), place / "bode.html"),
    }


@pytest.fixture(params=[1400, 390])
def opened(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """Return a function that opens a page offline; at the end nothing has asked for anything or complained."""
    context = browser.new_context(offline=True, viewport={"width": request.param, "height": 900})
    trouble: list[str] = []

    def open_page(path: Path) -> Any:
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith("file:") else trouble.append(asked.url))
        page.goto(path.as_uri())
        page.wait_for_function("[...document.querySelectorAll('canvas')].every(v => v.style.height)")
        return page

    yield open_page
    context.close()
    assert not trouble


def ink(page: Any, selector: str = "canvas", number: int = 0) -> str:
    """Return a canvas as data: whether it has changed."""
    return str(page.evaluate(f"document.querySelectorAll('{selector}')[{number}].toDataURL()"))


@pytest.mark.parametrize("kind", ["runs", "space", "certificate", "bode"])
def test_pages_fit_and_are_not_empty(kind: str, pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages[kind])
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    drawn = page.evaluate("""[...document.querySelectorAll('canvas')].map(v => {
        const d = v.getContext('2d').getImageData(0, 0, v.width, v.height).data; let n = 0;
        for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })""")
    assert drawn
    assert min(drawn) > 500


def test_the_slider_moves_the_arm_and_the_cursors(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["runs"])
    film = page.locator("figure:has(select)").first
    before = film.locator("canvas").evaluate("v => v.toDataURL()")
    film.locator("input[type=range]").first.fill("150")
    assert film.locator("canvas").evaluate("v => v.toDataURL()") != before
    assert " s" in film.locator(".bar .read").first.inner_text()
    beside = film.locator("xpath=following-sibling::figure").first
    assert "at " in beside.locator(".legend").inner_text()


def test_play_goes_on_and_pauses(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["space"])
    film = page.locator("figure:has(select)").first
    film.get_by_role("button", name="play").click()
    page.wait_for_timeout(700)
    film.get_by_role("button", name="pause").click()
    assert int(film.locator("input[type=range]").first.input_value()) > 0
    before = film.locator("canvas").evaluate("v => v.toDataURL()")
    film.locator("canvas").focus()
    page.keyboard.press("ArrowLeft")  # an arm in space turns
    assert film.locator("canvas").evaluate("v => v.toDataURL()") != before


def test_hover_shows_values_and_dragging_zooms(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["bode"])
    figure = page.locator("figure").first
    canvas, legend = figure.locator("canvas"), figure.locator(".legend")
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    assert "Hz" in legend.inner_text()
    assert any(c.isdigit() for c in legend.locator("button").first.inner_text())
    whole = canvas.evaluate("v => v.toDataURL()")
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.up()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    near = canvas.evaluate("v => v.toDataURL()")
    assert near != whole
    canvas.focus()
    page.keyboard.press("0")
    assert canvas.evaluate("v => v.toDataURL()") != near


def test_poles_say_what_they_are(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["certificate"])
    figure = page.locator("figure:has(figcaption:text('Poles'))")
    canvas = figure.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box, said = canvas.bounding_box(), ""
    for x in range(5, 100):
        page.mouse.move(box["x"] + 0.01 * x * box["width"], box["y"] + 0.75 * box["height"])
        said = figure.locator(".legend").inner_text()
        if "damping" in said:
            break
    assert "Hz" in said


def test_a_rectangle_zooms_poles_and_a_double_click_shows_all(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["certificate"])
    canvas = page.locator("figure:has(figcaption:text('Poles')) canvas")
    canvas.scroll_into_view_if_needed()
    box, before = canvas.bounding_box(), canvas.evaluate("v => v.toDataURL()")
    at = [(box["x"] + part * box["width"], box["y"] + part * box["height"]) for part in (0.4, 0.7)]
    page.mouse.move(*at[0])
    page.mouse.down()
    page.mouse.move(*at[1])
    page.mouse.up()
    near = canvas.evaluate("v => v.toDataURL()")
    assert near != before
    canvas.dblclick()
    assert canvas.evaluate("v => v.toDataURL()") not in (near, before)  # it began with the slowest poles


def test_a_bode_plot_names_the_mode_under_the_cursor(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["bode"])
    figure = page.locator("figure").first
    canvas, legend, said = figure.locator("canvas"), figure.locator(".legend"), set()
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
        said |= set(re.findall("mode [0-9]+: [0-9.]+ Hz", legend.inner_text()))
    assert said


def test_dark_where_the_system_is(pages: dict[str, Path], browser: Any) -> None:
    """The ground is dark, and what is written on it in the charts is not."""
    context = browser.new_context(offline=True, color_scheme="dark", viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(pages["space"].as_uri())
    page.wait_for_function("[...document.querySelectorAll('canvas')].every(v => v.style.height)")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    brightest = page.evaluate("""[...document.querySelectorAll('canvas')].map(v => {
        const d = v.getContext('2d').getImageData(0, 0, v.width, v.height).data; let most = 0;
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) most = Math.max(most, d[i] + d[i + 1] + d[i + 2]);
        return most; })""")
    assert min(brightest) > 600
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["runs", "space", "certificate", "bode"])
def test_no_serious_barrier(kind: str, scheme: str, pages: dict[str, Path], browser: Any) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is missing: make browser fetches it by npm")
    page = browser.new_context(offline=True, color_scheme=scheme).new_page()
    page.goto(pages[kind].as_uri())
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = page.evaluate(SERIOUS)
    page.context.close()
    assert found == []


def test_tables_sort_by_keyboard(pages: dict[str, Path], opened: Any) -> None:
    page = opened(pages["certificate"])
    table = page.locator("table:has(th:has-text('frequencies'))").first
    head = table.locator("th").nth(3)

    def column() -> list[float]:
        texts = table.locator("tbody tr td:nth-child(4)").all_inner_texts()
        return [float(text) for text in texts if text]

    for order in ("ascending", "descending"):
        head.locator("button").focus()
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == order
        assert column() == sorted(column(), reverse=order == "descending")
