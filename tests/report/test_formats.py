"""Every format holds the table's cells and can be read back."""

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from hypothesis import given, strategies as st

from bfsbench.reports.rows import STATISTIC
from bfsbench.reports.table import WIDTH, Cell, Table, render
from bfsbench.support.errors import UsageError

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=12)
CELLS = st.none() | TEXT | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5)


def table(
    *rows: tuple[Cell, ...], notes: tuple[str, ...] = (), drawings: tuple[Table, ...] | None = None
) -> Table:
    return Table("times", "Times", ("variant", "search_ms", "mteps"), list(rows), notes, drawings)


@given(ROWS)
def test_json_gives_the_cells_back(rows: list[tuple[Cell, ...]]) -> None:
    read = json.loads(render([table(*rows)], "json"))
    assert [tuple(line.values()) for line in read["times"]["rows"]] == rows


@given(ROWS)
def test_csv_gives_the_cells_back_as_text(rows: list[tuple[Cell, ...]]) -> None:
    head, *lines = csv.reader(io.StringIO(render([table(*rows)], "csv")))
    assert tuple(head) == ("variant", "search_ms", "mteps")
    expected = [["" if cell is None else str(cell) for cell in row] for row in rows]
    quoted = [[isinstance(cell, str) and cell[:1] in tuple("=+-@") for cell in row] for row in rows]
    assert lines == [
        [f"'{text}" if formula else text for text, formula in zip(*both, strict=True)]
        for both in zip(expected, quoted, strict=True)
    ]


@given(ROWS.filter(bool))
def test_markdown_has_a_line_for_every_row(rows: list[tuple[Cell, ...]]) -> None:
    lines = [line for line in render([table(*rows)], "markdown").splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(rows)
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines} == {4}


@given(ROWS)
def test_text_can_be_made_of_any_cells(rows: list[tuple[Cell, ...]]) -> None:
    assert render([table(*rows)], "text").startswith("Times\n=====\n")


def test_text_has_units_and_aligned_numbers() -> None:
    text = render([table(("pull", 0.0512, 12345.0), ("virtual_warp", 12.3, None))], "text")
    assert text.splitlines()[3:] == [
        "variant              search ms     MTEPS",
        "-------------------  ---------  --------",
        "pull (bottom_up)         0.051  12,345.0",
        "virtual_warp (hong)     12.300",
    ]


def test_long_cells_wrap_at_spaces_to_fit() -> None:
    reason = "block 1024 needs too much shared memory " * 5
    lines = render([table(("bfs4k", 1.0, 2.0), (reason, None, None))], "text").splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert " ".join(" ".join(lines[6:]).split()) == reason.strip()


def test_words_are_never_broken() -> None:
    name = "x" * (WIDTH + 20)
    assert name in render([table((name, 1.0, 2.0))], "text")


def test_drawings_stand_for_the_table_where_people_read() -> None:
    drawn = Table("", "One graph", ("variant",), [("pull",)], ("drawn note",))
    whole = table(("never shown", 1.0, 2.0), drawings=(drawn,), notes=("a note",))
    for style in ("text", "markdown"):
        shown = render([whole], style)
        assert "never shown" not in shown
        assert all(part in shown for part in ("Times", "a note", "One graph", "drawn note", "pull"))
    for style in ("csv", "json"):
        assert "never shown" in render([whole], style)
        assert "One graph" not in render([whole], style)


def test_an_empty_table_keeps_its_title_and_notes() -> None:
    assert render([table(notes=("No point has a time.",))], "text") == "Times\n=====\nNo point has a time.\n"


def test_csv_refuses_two_tables() -> None:
    with pytest.raises(
        UsageError, match=r"csv holds one table, not 2 \(times, times\): add --backend, or use json"
    ):
        render([table(), table()], "csv", narrow="--backend")


HEAT = Table(
    "heatmap",
    "Map",
    ("grid \\ block", "64", "128", "256"),
    [("auto", 1.0, 1.2, 2.0), ("16", 3.0, 40.0, "fail"), ("32", None, None, None)],
    heat=True,
)


def test_heat_map_marks_the_best_and_darkens_with_time() -> None:
    lines = render([HEAT], "text").splitlines()
    assert lines[5].split() == ["auto", "1.00", "*", "1.20", "·", "2.00", "░"]
    assert lines[6].split() == ["16", "3.00", "▒", "40.00", "▓", "fail"]
    assert lines[7].split() == ["32"]


def test_colours_change_nothing_but_colour() -> None:
    coloured = render([HEAT], "text", colour=True)
    assert coloured != render([HEAT], "text")
    assert click.unstyle(coloured) == render([HEAT], "text")


def test_markdown_escapes_what_would_end_a_cell() -> None:
    assert "| a\\|b \\\\" in render([table(("a|b \\", 1.0, 2.0))], "markdown")


def test_latex_has_a_ruled_table_and_no_character_that_means_something() -> None:
    hostile = "a_b & 50 % of $x$ {#1} \\input{y} ~^<>"
    drawn = Table("", hostile, ("variant", "search_ms", "mteps"), [(hostile, 1.5, None)])
    text = render([table(drawings=(drawn,), notes=(hostile,))], "latex")
    assert [text.count(rule) for rule in ("\\toprule", "\\midrule", "\\bottomrule")] == [1, 1, 1]
    assert "\\caption{Times: a\\_b \\& 50 \\% of \\$x\\$ \\{\\#1\\} \\textbackslash{}input" in text
    assert "\\input" not in text
    assert re.search(r"(?<!\\)[$#]", text) is None
    assert len(re.findall(r"(?<!\\)&", text)) == 4  # two lines of three cells
    assert text.startswith("% In the preamble: \\usepackage{booktabs}\n")


def test_latex_labels_its_tables_and_splits_what_no_page_holds() -> None:
    names = [f"graph(n={i},seed=1)" for i in range(20)]
    wide = Table("", "a graph (n=1)", ("variant", *names), [(f"v{i}", *range(20)) for i in range(60)])
    text = render([table(drawings=(wide,))], "latex")
    parts = text.split("\\begin{table*}\n")[1:]  # wider than one of two columns
    labels = re.findall(r"\\label\{tab:([a-z-]*a-graph-n-1)(?:-(\d+))?\}", text)
    assert [number for _, number in labels] == ["", *map(str, range(2, len(parts) + 1))]
    assert f"(part 2 of {len(parts)})" in parts[1]
    assert "\\shortstack[r]{graph( \\\\ n=7, \\\\ seed=1)}" in text
    of_v0 = [line for part in parts for line in part.splitlines() if line.startswith("v0 ")]
    assert [cell for line in of_v0 for cell in re.findall(r"\d+", line)[1:]] == [*map(str, range(20))]
    assert max(len(re.findall(r"^v\d", part, re.MULTILINE)) for part in parts) == 40
    narrow = render([table(("a", 1.0, 2.0))], "latex")
    assert "\\begin{table}\n" in narrow and "table*" not in narrow
    assert "\\label{tab:times}" in narrow and "part" not in narrow and "scriptsize" not in narrow


@pytest.mark.parametrize(("inches", "parts"), [(2.0, 10), (3.3, 4), (7.0, 2)])
def test_latex_tables_fill_the_width_in_parts_of_about_equal_size(inches: float, parts: int) -> None:
    names = [f"graph_{i:02}" for i in range(20)]
    wide = Table("t", "T", ("variant", *names), [("luo", *map(float, range(20)))], named=True)
    text = render([wide], "latex", inches=inches)
    heads = re.findall(r"^variant &(.*)\\\\$", text, re.MULTILINE)
    assert [head.count("graph\\_") for head in heads] == [20 // parts] * parts
    assert text.count("\\begin{table*}") == (parts if inches == 7 else 0)


def test_a_part_of_a_latex_table_has_no_single_column() -> None:
    names = [f"graph-with-a-long-name-{i:02}" for i in range(6)]
    wide = Table("t", "T", ("variant", *names), [("luo", *["x" * 24] * 6)])
    heads = re.findall(r"^variant &(.*)\\\\$", render([wide], "latex", inches=7.0), re.MULTILINE)
    assert [head.count("graph-") for head in heads] == [3, 3]


def test_rows_of_several_lines_take_their_room_on_a_latex_page() -> None:
    name = ":".join(["option" * 5] * 3)  # three lines in a column of half the width
    tall = Table("t", "T", ("graph", "search_ms"), [(name, 1.0)] * 30)
    parts = render([tall], "latex", inches=4.7).split("\\begin{tabular}")[1:]
    assert [part.count("[l]{option") for part in parts] == [13, 13, 4]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles_with_booktabs_alone(tmp_path: Path) -> None:
    hostile = "[a_b & 50 % of $x$ {#1} \\input{y} ~^<>"
    wide = Table("", hostile, (hostile, *[hostile, "*"] * 8), [(hostile, *range(16))] * 60)
    (tmp_path / "t.tex").write_text(render([table(drawings=(wide,))], "latex", inches=4.7))
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n\\input{t}\n\\end{document}\n"
    )
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "main.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout and "too large" not in done.stdout


def test_latex_prints_the_statistic_of_its_times() -> None:
    drawn = Table("", "a graph", ("variant", "search_ms"), [("pull", 1.5)])
    text = render([table(drawings=(drawn,), notes=("other", f"search ms: {STATISTIC}."))], "latex")
    assert f"\\caption{{Times: a graph. search ms: {STATISTIC}.}}" in text


def test_latex_of_a_heat_map_has_numbers_alone() -> None:
    text = render([HEAT], "latex")
    assert " 1.20 " in text and "░" not in text and "*" not in text


NAME = "lattice(rows=60,columns=60,seed=1):self_loops=drop:symmetrised"
WIDE = Table(
    *("wide", "Wide", ("graph", "num_vertices", "search_ms", *(f"figure_{i}" for i in range(9)))),
    [(NAME, 12345678, 0.5, *(float(i * 1000) for i in range(9)))],
)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 300])
@pytest.mark.parametrize("shown", [WIDE, HEAT])
def test_tables_fit_the_width_and_lose_nothing(shown: Table, width: int) -> None:
    text = render([shown], "text", width=width)
    assert max(map(len, text.splitlines())) <= width
    for cell in ("12,345,678", "8,000.0", "4,000.0") if shown is WIDE else ("40.00 ▓", "fail"):
        assert cell in text  # numbers are never broken
    if width == 300 and shown is WIDE:
        assert NAME in text and text.count("figure 1") == 1


def test_parts_of_a_table_begin_with_its_first_column() -> None:
    rows = [("a", *map(float, range(20))), ("luo", *map(float, range(20)))]
    columns = ("variant", *(f"column{i:02}" for i in range(20)))
    text = render([Table("t", "T", columns, rows)], "text", width=80)
    parts = text.split("\n\n")[1:]
    assert len(parts) == 3
    assert all(part.split()[0] == "variant" and "luo" in part for part in parts)


def test_legends_are_for_people() -> None:
    whole = Table("t", "T", ("variant",), [("pull",)], legend=("what the columns mean",))
    for style in ("text", "markdown", "latex"):
        assert "what the columns mean" in render([whole], style)
    assert "what the columns mean" not in render([whole], "json")
