"""The HTML page in a real browser: it draws, sorts, filters, and neither logs errors nor makes requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import chromium
from click.testing import CliRunner
from level_rows import level, profiled
from result_rows import emulated_row, failed_row, host_row, row, write

from bfsbench.cli import main
from bfsbench.reports.html import page
from bfsbench.reports.rows import STATISTIC
from bfsbench.rows.results import read_results

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

playwright_api = pytest.importorskip("playwright.sync_api", reason="the extra 'browser' opens pages")
pytestmark = pytest.mark.exhaustive
HOSTILE = "</script><script>document.title='broken'</script><b>&amp;"
TIMES = ["1.500", "2.000", "3.000", "4.000", "8.000", "9.000", "10.00", "70.00", "", ""]
"""Of all points, in order. A failed point and an emulated one have none."""
MANY = 1000
Opened = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program, needed = chromium()
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright_api.sync_playwright() as playwright:
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
        row(8.0, graph="other:symmetrised", variant="push"),
        emulated_row(500.0),
    ]
    kernels = ["push", "pull", "push"]
    levels = [level(number, kernel=kernel, block=64) for number, kernel in enumerate(kernels)]
    levels += [level(number, variant="push", kernel="push", time_us=9.0) for number in range(2)]
    levels += [level(number, backend="cpu", gpu="", time_us=800.0) for number in range(2)]
    files = profiled(folder, rows, levels)
    done = CliRunner().invoke(
        main, ["report", str(files), "--format", "html", "--out", str(folder / "r.html")]
    )
    assert done.exit_code == 0, done.output
    return folder / "r.html"


@pytest.fixture(scope="module")
def long_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of more rows than a browser draws without delay."""
    folder = tmp_path_factory.mktemp("long")
    rows = write(folder / "rows.csv", [row(1.0 + number, source=number) for number in range(MANY)])
    path = folder / "r.html"
    path.write_text(page(read_results([rows])), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    """Opens the page; any log message or further request fails the test."""
    pages: list[Page] = []
    said: list[str] = []

    def open_page(width: int = 1200, scheme: str = "light", path: Path = report) -> Page:
        shown = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        shown.on("console", lambda message: said.append(message.text))
        shown.on("pageerror", lambda error: said.append(str(error)))
        shown.on("request", lambda request: said.append(request.url))
        pages.append(shown)
        shown.goto(path.as_uri())
        assert said.pop(0) == path.as_uri()
        return shown

    yield open_page
    for shown in pages:
        shown.close()
    assert said == []


def column(page: Page, table: str, place: int) -> list[str]:
    """The cells of a column that are shown."""
    return page.locator(f"#{table} tbody tr td:nth-child({place})").all_inner_texts()


def header(page: Page, table: str, name: str) -> Locator:
    return page.locator(f"#{table} th").filter(has=page.get_by_text(name, exact=True))


def test_every_section_is_there_and_has_something_in_it(opened: Opened) -> None:
    page = opened()
    titles = page.locator("nav a").all_inner_texts()
    assert titles[:2] == ["Searches by graphs", "One graph"]
    assert {"Failures", "Provenance", "All points"} <= {*titles}
    for link in page.locator("nav a").all():
        part = page.locator(str(link.get_attribute("href")))
        assert part.locator("td, .bar, svg").count() > 0


def test_a_header_sorts_numbers_as_numbers_both_ways(opened: Opened) -> None:
    page = opened()
    head = header(page, "points", "time (ms)")
    head.get_by_role("button").click()
    assert column(page, "points", 5) == TIMES
    assert head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert column(page, "points", 5) == [*TIMES[-3::-1], "", ""]
    assert head.get_attribute("aria-sort") == "descending"


def test_words_and_lists_filter_rows(opened: Opened) -> None:
    page = opened()
    points = page.locator("#points")
    points.get_by_label("filter").fill("GRID pull")
    assert set(column(page, "points", 2)) == {"pull (bottom_up)"}
    assert points.get_by_role("status").inner_text() == "6 of 10 rows"
    points.get_by_label("runs on").select_option("cpu")
    assert column(page, "points", 5) == [""]
    points.get_by_label("filter").fill("nowhere")
    assert points.get_by_role("status").inner_text() == "0 of 10 rows"


def test_reset_clears_filters_and_order(opened: Opened) -> None:
    page = opened()
    points = page.locator("#points")
    before = column(page, "points", 5)
    reset = points.get_by_role("button", name="Reset")
    assert reset.is_disabled()
    header(page, "points", "time (ms)").get_by_role("button").click()
    points.get_by_label("runs on").select_option("cpu")
    points.get_by_label("filter").fill("pull")
    page.locator("#best tbody tr", has_text="push").first.get_by_role("button").click()
    said = "1 of 10 rows, only those of grid auto, block 256"
    assert points.get_by_role("status").inner_text() == said
    reset.click()
    assert points.get_by_role("status").inner_text() == "10 of 10 rows"
    assert points.get_by_label("filter").input_value() == ""
    assert points.get_by_label("runs on").input_value() == "all"
    assert column(page, "points", 5) == before


def test_a_best_time_leads_to_its_points(opened: Opened) -> None:
    page = opened()
    best = page.locator("#best tbody tr").filter(has_text="push").filter(has_text="grid:directed")
    best.get_by_role("button").click()
    assert column(page, "points", 2) == ["push"] and column(page, "points", 5) == ["1.500"]
    page.locator("#graph .bars button").nth(1).click()
    assert column(page, "points", 2) == ["pull (bottom_up)"] and column(page, "points", 5) == ["2.000"]


def test_rows_out_of_view_are_not_drawn(opened: Opened, long_report: Path) -> None:
    page = opened(path=long_report)
    table = page.locator("#points table")
    assert table.get_attribute("aria-rowcount") == str(MANY + 1)
    drawn = "document.querySelectorAll('#points tbody tr').length"
    assert page.evaluate(drawn) < 100
    first = column(page, "points", 3)[0]
    page.locator("#points .scroll").focus()
    page.keyboard.press("End")
    page.get_by_role("cell", name=str(MANY - 1), exact=True).wait_for()
    assert page.evaluate(drawn) < 100 and column(page, "points", 3)[1] != first
    header(page, "points", "time (ms)").get_by_role("button").click()
    header(page, "points", "time (ms)").get_by_role("button").click()
    assert column(page, "points", 3)[0] == str(MANY - 1)
    graph, variant, source = table.locator("tbody td").all()[:3]
    page.locator("#points .scroll").evaluate("node => node.scrollLeft = 300")
    assert [graph.bounding_box()["x"] >= 0, source.bounding_box()["x"] >= 0] == [True, False]
    assert variant.bounding_box()["x"] > graph.bounding_box()["x"]


def test_the_matrix_has_the_ratios_and_the_best_search_first(opened: Opened) -> None:
    page = opened()
    lines = page.locator("#matrix tbody tr")
    cells = [line.locator("th, td").all_inner_texts() for line in lines.all()]
    assert cells == [
        ["pull (bottom_up)", "1.15", "1.15", "1.33", "1 of 2", "1.00", "2", "1.33", "1.00"],
        ["push", "1.41", "1.41", "2.00", "1 of 2", "1.22", "2", "1.00", "2.00"],
        ["cpu_queue (sequential)", "46.7", "46.7", "46.7", "0 of 1", "35.0", "1", "46.7", ""],
    ]
    page.locator("#matrix th").get_by_role("button", name="grid").click()
    assert lines.first.locator("th").inner_text() == "push"


def test_a_cell_of_the_matrix_is_reached_by_keys_and_leads_to_its_graph(opened: Opened) -> None:
    page = opened()
    page.locator("#matrix td[tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    told = page.locator("#matrix").get_by_role("status").inner_text()
    assert told.startswith(
        "push on other:symmetrised, source 0: 8.000 ms, median 8.800 ms, 2.00 times the best"
    )
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    assert page.locator("#graph").get_by_label("graph").input_value() == "other:symmetrised"
    assert page.locator("#graph .bars .label").all_inner_texts() == [
        "4.000 ms, median 4.400",
        "8.000 ms (2.00 times), median 8.800",
    ]


def test_bars_are_those_of_the_graph_that_is_chosen(opened: Opened) -> None:
    page = opened()
    bars = page.locator("#graph .bars")
    texts = [part.locator(".label").all_inner_texts() for part in bars.all()]
    expected = [
        "1.500 ms, median 1.650",
        "2.000 ms (1.33 times), median 2.200",
        "70.00 ms (46.7 times), median 77.00",
    ]
    assert texts == [expected], "none of emulated times"
    widths = [part.bounding_box()["width"] for part in bars.locator(".bar").all()]
    assert widths == sorted({*widths}), "a longer time has a longer bar, although labels are long"
    page.locator("#graph").get_by_label("graph").select_option("other:symmetrised")
    assert bars.locator(".label").all_inner_texts() == [
        "4.000 ms, median 4.400",
        "8.000 ms (2.00 times), median 8.800",
    ]


def test_heat_maps_tell_a_cell_and_lead_to_its_points(opened: Opened) -> None:
    page = opened()
    maps = page.locator("#heatmaps")
    texts = ["grid \\ block", "64", "128", "256"]
    texts += ["auto", "3.000", "", "2.000", "16", "9.000", "10.00", "failed"]
    assert maps.locator("th, td").all_inner_texts() == texts
    assert STATISTIC in maps.get_by_role("status").inner_text()
    maps.get_by_role("cell", name="9.000").hover()
    assert "grid 16, block 64: 9.000 ms, 4.50 times the best" in maps.get_by_role("status").inner_text()
    maps.get_by_role("button", name="points").click()
    assert column(page, "points", 5) == ["9.000"]


def test_profiles_of_several_searches_tell_the_values_of_a_level(opened: Opened) -> None:
    page = opened()
    part = page.locator("#profiles")
    names = part.locator(".searches label").all_inner_texts()
    assert names == ["pull", "push", "pull (emulated)"]
    assert part.locator(".kernels").inner_text().split("\n") == ["level by pull", "level by push"]
    assert part.locator("polyline").count() == 9
    part.locator("svg.profile").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    told = [line.locator("th, td").all_inner_texts() for line in part.locator(".level tr").all()]
    assert told == [
        ["level 1", "vertices", "arcs", "µs", "kernel"],
        ["pull", "2", "7", "11.00", "pull"],
        ["push", "2", "7", "9.000", "push"],
        ["pull (emulated)", "2", "7", "", "pull"],
    ]
    part.get_by_role("checkbox", name="push").uncheck()
    assert part.locator("polyline").count() == 6
    part.locator("svg.profile").hover(position={"x": 1, "y": 100})
    assert part.locator(".level th").first.inner_text() == "level 0"


def test_text_from_result_files_stays_text(opened: Opened) -> None:
    page = opened()
    assert page.title() == "bfsbench report"
    assert HOSTILE in page.locator("#failures tbody td").all_inner_texts()


def test_the_page_follows_the_system_and_its_button_between_dark_and_light(opened: Opened) -> None:
    page = opened(scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(22, 24, 28)"
    page.get_by_role("button", name="Dark or light").click()
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert opened().evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [320, 390, 1920])
def test_a_narrow_page_does_not_scroll_sideways(width: int, opened: Opened) -> None:
    page = opened(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture(scope="module")
def wide_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of long names."""
    folder = tmp_path_factory.mktemp("wide")
    graphs = [f"kronecker(scale=1{number},edge_factor=16,seed=1):symmetrised" for number in range(2)]
    names = ["edge_frontier_numbers", "frontier_numbers_defer", "virtual_warp"]
    rows = write(
        folder / "rows.csv", [row(2.0, graph=graph, variant=name) for graph in graphs for name in names]
    )
    path = folder / "r.html"
    path.write_text(page(read_results([rows])), encoding="utf-8")
    return path


ASIDE = """() => [...document.querySelectorAll("table")].flatMap((table) => {
  const [head, line] = [table.tHead?.rows[0], table.tBodies[0]?.rows[0]];
  if (!head || !line || line.cells.length !== head.cells.length) return [];
  return [...head.cells].flatMap((cell, place) => ["left", "right"].map((side) =>
    Math.abs(cell.getBoundingClientRect()[side] - line.cells[place].getBoundingClientRect()[side])));
})"""
"""How far each header stands from the cells below it, in pixels."""

BROKEN = """() => [...document.querySelectorAll(".name, .matrix th")].flatMap((node) => {
  const found = [], walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) for (const word of walker.currentNode.data.matchAll(/[A-Za-z0-9]+/g)) {
    const range = document.createRange();
    range.setStart(walker.currentNode, word.index);
    range.setEnd(walker.currentNode, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map((part) => part.top)).size > 1) found.push(word[0]);
  }
  return found;
})"""
"""Words of names that are broken."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1920, 1280, 390])
def test_headers_stand_over_their_columns_and_words_are_whole(
    width: int, scheme: str, opened: Opened, wide_report: Path
) -> None:
    page = opened(width=width, scheme=scheme, path=wide_report)
    found = page.evaluate(ASIDE)
    assert len(found) > 20 and max(found) < 1
    assert page.evaluate(BROKEN) == []
    weight = "node => getComputedStyle(node).fontWeight"  # bold digits are wider in some fonts
    assert {cell.evaluate(weight) for cell in page.locator("#points .frozen-1").all()} == {"400"}
    page.locator("#points .scroll").evaluate("node => node.scrollLeft = 200")
    assert max(page.evaluate(ASIDE)) < 1


def test_the_page_of_explain_fits_a_phone(opened: Opened, tmp_path: Path) -> None:
    graph = "kronecker(scale=4,edge_factor=4,seed=1):symmetrised"
    words = ["explain", "push", "--dataset", graph, "--html", str(tmp_path / "e.html")]
    assert CliRunner().invoke(main, words).exit_code == 0
    page = opened(width=390, path=tmp_path / "e.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.get_by_text("Predicted, not measured").count() == 1


def test_paper_is_white_and_shows_tables_in_full(opened: Opened) -> None:
    page = opened(scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.get_by_role("button", name="Dark or light").is_visible()
    for part in page.locator(".scroll").all():
        assert part.evaluate("node => getComputedStyle(node).overflow") == "visible"
    assert len(column(page, "points", 1)) == 10
