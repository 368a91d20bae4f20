"""The HTML page in a real browser: it draws, sorts, filters, and neither logs errors nor makes requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chromium import chromium
from click.testing import CliRunner
from level_rows import level, profiled
from playwright.sync_api import Browser, Locator, Page, sync_playwright
from result_rows import emulated_row, failed_row, host_row, row

from bfsbench.cli import main

HOSTILE = "</script><script>document.title='broken'</script><b>&amp;"
TIMES = ["1.500", "2.000", "3.000", "4.000", "9.000", "10.00", "70.00", "500.0", ""]
"""Of all points, in order; a failed one has none."""
Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program, needed = chromium()
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=program, args=options, env={**needed})


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a heat map, a profile, emulated rows, and a failure that would break careless HTML."""
    folder = tmp_path_factory.mktemp("page")
    rows = [
        *(row(time, block=block, grid=grid) for time, block, grid in [(3, 64, "auto"), (2, 256, "auto")]),
        *(row(time, block=block, grid=grid) for time, block, grid in [(9, 64, 16), (10, 128, 16)]),
        failed_row(block=256, grid=16, reason=HOSTILE),
        row(1.5, variant="push"),
        host_row(70.0),
        row(4.0, graph="other:symmetrised"),
        emulated_row(500.0),
    ]
    kernels = ["push", "pull", "push"]
    levels = [level(number, kernel=kernel, block=64) for number, kernel in enumerate(kernels)]
    files = profiled(folder, rows, levels)
    done = CliRunner().invoke(
        main, ["report", str(files), "--format", "html", "--out", str(folder / "r.html")]
    )
    assert done.exit_code == 0, done.output
    return folder / "r.html"


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    """Opens the page; any log message or further request fails the test."""
    pages: list[Page] = []
    said: list[str] = []

    def open_page(width: int = 1200, scheme: str = "light") -> Page:
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url))
        pages.append(page)
        page.goto(report.as_uri())
        assert said.pop(0) == report.as_uri()
        return page

    yield open_page
    for page in pages:
        page.close()
    assert said == []


def column(page: Page, table: str, place: int) -> list[str]:
    """The cells of a column that are shown."""
    return page.locator(f"#{table} tbody tr td:nth-child({place})").all_inner_texts()


def header(page: Page, table: str, name: str) -> Locator:
    return page.locator(f"#{table} th").filter(has=page.get_by_text(name, exact=True))


def test_every_section_is_there_and_has_something_in_it(opened: Opened) -> None:
    page = opened()
    titles = page.locator("nav a").all_inner_texts()
    assert titles[0] == "Bars" and {"Grid x block", "Level profiles", "Failures", "Provenance"} <= {*titles}
    for link in page.locator("nav a").all():
        part = page.locator(str(link.get_attribute("href")))
        assert part.locator("td, .bar, svg").count() > 0


def test_a_header_sorts_numbers_as_numbers_both_ways(opened: Opened) -> None:
    page = opened()
    head = header(page, "points", "search ms")
    head.get_by_role("button").click()
    assert column(page, "points", 5) == TIMES
    assert head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert column(page, "points", 5) == [*TIMES[-2::-1], ""]
    assert head.get_attribute("aria-sort") == "descending"


def test_words_and_lists_filter_rows(opened: Opened) -> None:
    page = opened()
    points = page.locator("#points")
    points.get_by_label("filter").fill("GRID pull")
    assert set(column(page, "points", 3)) == {"pull (bottom_up)"}
    assert points.get_by_role("status").inner_text() == "6 of 9 rows"
    points.get_by_label("backend").select_option("cpu")
    assert column(page, "points", 5) == ["500.0"]
    points.get_by_label("filter").fill("nowhere")
    assert points.get_by_role("status").inner_text() == "0 of 9 rows"


def test_a_best_time_leads_to_its_points(opened: Opened) -> None:
    page = opened()
    page.locator("#best tbody tr", has_text="push").get_by_role("button").click()
    assert column(page, "points", 3) == ["push"] and column(page, "points", 5) == ["1.500"]


def test_bars_are_those_of_the_graph_that_is_chosen(opened: Opened) -> None:
    page = opened()
    bars = page.locator("#bars-best")
    assert bars.locator(".label").all_inner_texts() == ["1.500 ms", "2.000 ms", "70.00 ms (cut off)"]
    bars.get_by_label("graph").select_option("other:symmetrised")
    assert bars.locator(".label").all_inner_texts() == ["4.000 ms"]
    assert page.locator("#bars-best_emulated .label").all_inner_texts() == ["500.0 ms"]


def test_heat_maps_tell_a_cell_and_lead_to_its_points(opened: Opened) -> None:
    page = opened()
    maps = page.locator("#heatmaps")
    texts = [
        "grid \\ block",
        "64",
        "128",
        "256",
        "auto",
        "3.000",
        "",
        "2.000",
        "16",
        "9.000",
        "10.00",
        "failed",
    ]
    assert maps.locator("th, td").all_inner_texts() == texts
    maps.get_by_role("cell", name="9.000").hover()
    assert "grid 16, block 64: 9.000 ms, 4.50 times the best" in maps.get_by_role("status").inner_text()
    maps.get_by_role("button", name="points").click()
    assert column(page, "points", 5) == ["9.000"]


def test_profiles_tell_the_values_of_a_level(opened: Opened) -> None:
    page = opened()
    part = page.locator("#profiles")
    assert part.locator(".kernels").inner_text().split() == ["pull", "push"]
    part.locator("svg.profile").focus()
    page.keyboard.press("ArrowRight")
    assert part.get_by_role("status").inner_text() == (
        "level 1: 2 vertices, 7 edges inspected, 11.00 µs, kernel pull"
    )
    part.locator("svg.profile").hover(position={"x": 1, "y": 100})
    assert part.get_by_role("status").inner_text().startswith("level 0: 1 vertices")


def test_text_from_result_files_stays_text(opened: Opened) -> None:
    page = opened()
    assert page.title() == "bfsbench report"
    assert HOSTILE in column(page, "failures", 6)


def test_the_page_follows_the_system_and_its_button_between_dark_and_light(opened: Opened) -> None:
    page = opened(scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(22, 24, 28)"
    page.get_by_role("button", name="Dark or light").click()
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert opened().evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [320, 375, 800])
def test_a_narrow_page_does_not_scroll_sideways(width: int, opened: Opened) -> None:
    page = opened(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_paper_is_white_and_shows_tables_in_full(opened: Opened) -> None:
    page = opened(scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.get_by_role("button", name="Dark or light").is_visible()
    for part in page.locator(".scroll").all():
        assert part.evaluate("node => getComputedStyle(node).overflow") == "visible"
