"""``bfsbench report`` as a user drives it."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import termios
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result
from result_rows import emulated_row, failed_row, host_row, row, write

from bfsbench.reports import TABLES
from bfsbench.rows.columns import COLUMNS, PROFILE_COLUMNS
from tests.commands import invoke, refused

HEADERS = ",".join(COLUMNS) + "\n"


def report(*arguments: object) -> Result:
    return invoke("report", *arguments)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rows = [row(2.0), row(1.0, block=512), host_row(9.0), emulated_row(50.0), failed_row(block=1024)]
    return write(tmp_path / "rows.csv", rows)


def test_all_tables_are_shown(results: Path) -> None:
    result = report(results)
    assert result.exit_code == 0
    titles = [line for line in result.stdout.splitlines() if line.strip("=") == "" and line]
    assert len(titles) == 6
    assert "emulated on the CPU: shows that it works, never how fast it is" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_a_picture_has_the_width_of_a_column(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "bars.pdf"
    assert report(results, "--backend", "cuda", "--out", out, "--width", "84mm").exit_code == 0
    assert b"/MediaBox [ 0 0 238.11" in out.read_bytes()


def test_chosen_tables_in_the_order_asked_for(results: Path) -> None:
    made = json.loads(report(results, "--table", "failures,datasets", "--format", "json").stdout)
    assert list(made) == ["failures", "datasets"]


def test_json_of_everything(results: Path) -> None:
    made = json.loads(report(results, "--format", "json").stdout)
    assert list(made) == [*("datasets", "best", "best_emulated", "heatmap", "failures", "provenance")]
    assert {line["backend"] for line in made["best"]["rows"]} == {"cuda", "host"}


def test_heat_maps_of_emulated_kernels_are_made_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [emulated_row(2.0), emulated_row(1.0, block=512)])
    assert "Grid x block" not in report(path).stdout
    assert "Grid x block (emulated on the CPU" in report(path, "--table", "heatmap").stdout


def test_a_first_report_fits_a_screen_or_two(tmp_path: Path) -> None:
    rows = [
        emulated_row(graph=graph, variant=f"variant{number}", grid=grid, block=block)
        for graph in ("road:symmetrised", "social:directed")
        for number in range(7)
        for grid in (8, 32)
        for block in (64, 256)
    ]
    lines = report(write(tmp_path / "rows.csv", rows)).stdout.splitlines()
    assert len(lines) <= 60
    assert sum(line.startswith("variant3") for line in lines) == 2


def test_csv_of_one_kind_of_time(results: Path) -> None:
    text = report(results, "--table", "best", "--backend", "cuda,host", "--format", "csv").stdout
    lines = list(csv.DictReader(io.StringIO(text)))
    found = [(line["variant"], line["block"], line["search_ms"]) for line in lines]
    assert found == [("pull", "512", "1.0"), ("cpu_queue", "", "9.0")]


def test_filters_reach_the_tables(results: Path) -> None:
    shown = report(results, "--table", "best", "--variant", "cpu_queue", "--graph", "grid").stdout
    assert "cpu_queue" in shown and "pull" not in shown


@pytest.mark.parametrize(
    "name", ["kronecker", "kronecker(scale=4,seed=2)", "kronecker(scale=4,seed=2):directed"]
)
def test_a_generated_graph_is_chosen_by_its_label_or_a_part_of_it(tmp_path: Path, name: str) -> None:
    graphs = ("kronecker(scale=4,seed=2):directed", "lattice(rows=2,columns=2):directed")
    path = write(tmp_path / "r.csv", [row(variant=f"v{i}", graph=graph) for i, graph in enumerate(graphs)])
    shown = report(path, "--table", "best", "--graph", name).stdout
    assert "v0" in shown and "v1" not in shown


def test_the_newest_file_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for age, name in enumerate(("new", "old")):
        path = write(tmp_path / "results" / f"{name}.csv", [row(variant=name)])
        os.utime(path, (1e9 - age, 1e9 - age))
    monkeypatch.chdir(tmp_path)
    assert "new" in report("--table", "best").stdout
    assert "old" not in report("--table", "best").stdout


def test_the_default_is_a_result_file_with_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "results"
    write(folder / "run.csv", [row(variant="measured")])
    os.utime(folder / "run.csv", (1e9, 1e9))
    empty_cells = "," * (len(PROFILE_COLUMNS) - 1)
    (folder / "run.levels.csv").write_text(f"{','.join(PROFILE_COLUMNS)}\n{empty_cells}")
    (folder / "begun.csv").write_text(HEADERS)
    monkeypatch.chdir(tmp_path)
    assert "measured" in report("--table", "best").stdout
    (folder / "run.csv").unlink()
    assert refused(report()) == "no rows in results/begun.csv: nothing to report"


def test_a_file_named_twice_counts_once(results: Path) -> None:
    once = report(results, "--format", "json").stdout
    assert report(results, results, "--format", "json").stdout == once


def test_no_file_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(report()) == "no result file in results/: name one, or make one with 'bfsbench run'"


def test_several_files_are_one_set_of_rows(results: Path, tmp_path: Path) -> None:
    more = write(tmp_path / "more.csv", [row(0.5, block=32)])
    made = json.loads(report(results, more, "--table", "best", "--format", "json").stdout)
    assert made["best"]["rows"][0]["block"] == 32


@pytest.mark.parametrize("content", ["", HEADERS])
def test_a_file_without_rows(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(content)
    assert refused(report(path)) == f"no rows in {path}: nothing to report"


def test_malformed_files_are_refused_in_one_line(results: Path, tmp_path: Path) -> None:
    text = results.read_text()
    broken = tmp_path / "broken.csv"
    broken.write_text("a,b\n1,2\n")
    assert "is not a result file" in refused(report(broken))
    broken.write_text(text + "1,2,3\n")
    assert refused(report(broken)).startswith(f"{broken}:7: expected")
    broken.write_text(text.replace("0.5", "soon").replace("9.0", "soon"))
    assert "not numeric" in refused(report(broken))
    broken.write_bytes(b"\xff\xfe\x00")
    assert refused(report(broken)).startswith(f"cannot read {broken}")
    assert refused(report(Path("best"))) == "there is no file best: choose a table with --table best"
    assert refused(report(tmp_path / "absent.csv")).startswith(f"cannot read {tmp_path / 'absent.csv'}")


def test_a_byte_order_mark_and_quotes_of_a_spreadsheet_are_read(results: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.csv"
    saved.write_bytes(b"\xef\xbb\xbf" + results.read_bytes())
    assert report(saved, "--table", "best").stdout == report(results, "--table", "best").stdout != ""
    first = COLUMNS[0]
    saved.write_text("\ufeff" + results.read_text().replace(first, f'"{first}"', 1), encoding="utf-8")
    assert report(saved, "--table", "best").stdout == report(results, "--table", "best").stdout


def test_out_replaces_the_file_whole(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.md"
    out.write_text("old")
    result = report(results, "--format", "markdown", "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert out.read_text().startswith("## Datasets")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.md", "rows.csv"]


def test_a_failed_report_leaves_out_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "report.md"
    out.write_text("old")
    refused(report(tmp_path / "absent.csv", "--out", out))
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("where", ["absent/report.md", "."])
def test_an_unwritable_out_is_noticed_before_the_files_are_read(tmp_path: Path, where: str) -> None:
    line = refused(report(tmp_path / "absent.csv", "--out", tmp_path / where))
    assert line.startswith(f"cannot write {tmp_path / where}: ")


def test_warnings_are_said_even_without_the_table_that_explains_them(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [row(), row(commit="def")])
    warning = "rows come from different commits: abc, def"
    assert report(path, "--table", "best").stderr == f"bfsbench: warning: {warning}\n"
    whole = report(path)
    assert whole.stderr == "" and f"Warning: {warning}." in whole.stdout


def test_a_report_without_a_terminal_has_no_colours(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [row(2.0), row(1.0, block=512)])
    shown = report(path, "--table", "heatmap").stdout
    assert "1.00 *" in shown and "\x1b" not in shown


def test_pictures_go_to_a_folder_and_what_has_nothing_to_show_says_so(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pictures"
    result = report(results, "--format", "svg", "--out", folder)
    assert result.exit_code == 0
    written = [Path(line) for line in result.stdout.splitlines()]
    assert {path.name for path in written} >= {"bars.svg", "bars_emulated.svg", "speedup.svg", "spread.svg"}
    assert sorted(folder.iterdir()) == sorted(written)
    assert all(path.read_text().lstrip().startswith("<?xml") for path in written)
    assert "no profile: no level profile belongs to these rows" in result.stderr


def test_pictures_are_drawn_beside_one_that_would_be_empty(results: Path, tmp_path: Path) -> None:
    result = report(results, "--format", "png", "--plot", "profile,bars", "--out", tmp_path / "pictures")
    assert result.exit_code == 1
    assert "bfsbench: no profile: " in result.stderr and "bfsbench run --profile" in result.stderr
    names = {Path(path).name for path in result.stdout.split()}
    assert names == {"bars.png", "bars_emulated.png"}


def test_a_picture_that_would_be_empty_is_an_error(results: Path, tmp_path: Path) -> None:
    result = report(results, "--format", "png", "--plot", "profile", "--out", tmp_path / "pictures")
    assert result.exit_code == 2
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("bfsbench:")]
    assert line.startswith("bfsbench: no profile: ")


ONE_TABLE = "--format csv writes one table: choose it with --table"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--format png", "name their folder with --out"),
        ("--format svg --plot pie", "unknown plot 'pie': there are bars"),
        ("--plot bars", "--plot goes with --format png or svg or pdf, not text"),
        ("--format html --table best", "--table does not go with --format html"),
        ("--format csv", ONE_TABLE),
        ("--format csv --table best,failures", ONE_TABLE),
        ("--format csv --table best", "csv holds one table, not 2 (best, best_emulated): add --backend, or"),
        ("--table bets", f"unknown table 'bets': there are {', '.join(TABLES)}"),
        ("--graph road", "no rows of graph 'road'"),
        ("--width 3in", "--width goes with --format png"),
        ("--format html --name pull=x", "--name goes with --format text or markdown"),
        ("--name bfs4k=x", "no search or graph 'bfs4k' to rename: there are cpu_queue, pull, grid"),
        ("--name pull", "'pull' is not OLD=NEW"),
        ("--width 84px", "84px is not a length"),
        ("--format svg --width 1in", "1in is not a length from 2in"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: str, words: str, results: Path) -> None:
    assert words in refused(report(results, *options.split()))


def test_pictures_without_matplotlib_say_how_to_get_it(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = refused(report(results, "--format", "png", "--out", tmp_path / "pictures"))
    assert "pip install 'bfsbench[plots]'" in line
    assert not (tmp_path / "pictures").exists()


def test_a_page_is_written_whole(results: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert report(results, "--format", "html", "--out", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text


def test_a_page_maps_the_times_with_blocks_of_a_search_that_has_others(tmp_path: Path) -> None:
    shapes = [("auto", 64), ("auto", 128), ("8", 64), ("8", 128), ("", "")]
    rows = [row(1.0 + number, grid=grid, block=block) for number, (grid, block) in enumerate(shapes)]
    page = tmp_path / "report.html"
    done = report(write(tmp_path / "rows.csv", rows), "--out", page)
    assert done.exit_code == 0, done.output
    assert '"grids":["auto","8"],"blocks":[64,128]' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("x.html", "<!DOCTYPE html>"),
        ("x.md", "## Failures"),
        ("x.tex", "% In the preamble"),
        ("x.CSV", "points,of,status"),
        ("x.json", '{\n  "failures"'),
        ("x.txt", "Failures\n====="),
        ("x.unknown", "Failures\n====="),
    ],
)
def test_the_name_of_the_file_means_a_format(
    name: str, beginning: str, results: Path, tmp_path: Path
) -> None:
    table = () if name == "x.html" else ("--table", "failures")
    result = report(results, *table, "--out", tmp_path / name)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(beginning)


def test_a_format_that_is_asked_for_is_stronger_than_the_name(results: Path, tmp_path: Path) -> None:
    report(results, "--table", "failures", "--format", "json", "--out", tmp_path / "x.md")
    assert [*json.loads((tmp_path / "x.md").read_text())] == ["failures"]


def test_a_picture_by_the_name_of_its_file(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.csv", [row(2.0), row(1.0, variant="luo")])
    result = report(rows, "--out", tmp_path / "x.svg")
    assert result.stdout == f"{tmp_path / 'x.svg'}\n"
    assert (tmp_path / "x.svg").read_text().lstrip().startswith("<?xml")
    more = report(rows, "--out", tmp_path / "y.svg", "--plot", "bars,spread")
    assert {Path(line).name for line in more.stdout.splitlines()} == {"y-bars.svg", "y-spread.svg"}


def test_a_ranking_is_one_table(results: Path) -> None:
    read = list(csv.DictReader(io.StringIO(report(results, "--table", "ranking", "--format", "csv").stdout)))
    found = {line["variant"]: float(line["times_best"]) for line in read if line["family"] == "all"}
    assert found == pytest.approx({"pull": 1.0, "cpu_queue": 9.0})


@pytest.mark.parametrize("width", [80, 140])
def test_tables_fit_the_terminal(width: int, tmp_path: Path) -> None:
    graph = "lattice(rows=600,columns=600,seed=1):self_loops=drop:symmetrised"
    rows = [row(2.0, graph=graph), row(1.0, graph=graph, variant="luo"), host_row()]
    path = write(tmp_path / "rows.csv", rows)
    leader, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, width))
    command = [sys.executable, "-m", "bfsbench", "report", str(path), "--table", "datasets,best"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(command, stdout=terminal, env=environment):
        os.close(terminal)
        text = b"".join(iter(partial(_read, leader), b"")).decode()
    os.close(leader)
    assert width // 2 < max(map(len, text.splitlines())) <= width
    assert (graph + "  " in text) == (width == 140)


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # as Linux says that the other end is closed
        return b""


@pytest.mark.parametrize("style", ["text", "markdown", "latex"])
def test_tables_for_people_have_no_emulated_times(style: str, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [emulated_row(777.0)])
    assert "777" not in report(path, "--table", "best", "--format", style).stdout


def test_a_page_names_devices_and_days(tmp_path: Path) -> None:
    rows = [row(taken_at="2026-11-20T09:00:00Z"), row(block=512, taken_at="2026-11-21T09:00:00Z")]
    written = write(tmp_path / "rows.csv", rows)
    assert report(written, "--out", tmp_path / "page.html").exit_code == 0
    text = (tmp_path / "page.html").read_text()
    assert "Rows taken on NVIDIA H200 (2026-11-20 to 2026-11-21)" in text


def test_a_folder_is_read_without_its_other_files(tmp_path: Path) -> None:
    write(tmp_path / "rows.csv", [row()])
    (tmp_path / "goals.csv").write_text("graph,goal_ms\n")
    shown = report(tmp_path)
    assert shown.exit_code == 0 and "pull" in shown.stdout
    assert "bfsbench: not result files, and left out: goals.csv" in shown.stderr


def test_latex_of_several_graphs_has_the_matrix_in_place_of_the_best_times(tmp_path: Path) -> None:
    rows = [row(1.0, graph=graph, variant=variant) for graph in "ab" for variant in ("pull", "push")]
    write(tmp_path / "both.csv", rows)
    write(tmp_path / "one.csv", rows[:2])
    for name, chosen, other in (("both", "matrix", "best"), ("one", "best", "matrix")):
        labels = re.findall(
            r"label\{tab:(\w+)", invoke("report", "--format", "latex", tmp_path / f"{name}.csv").stdout
        )
        assert chosen in labels and other not in labels


CHANGED_KNOBS = "ORGANISATION=hybrid ATOMIC_CLAIM=1"


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """Rows of two graphs. On graph a, merrill is fastest with a knob value that this project added."""
    rows = [row(variant="pull", graph=graph, graph_checksum=graph) for graph in ("a", "b")]
    rows += [
        row(2.0, variant="merrill", graph="a", graph_checksum="a", knobs=CHANGED_KNOBS),
        row(8.0, variant="merrill", graph="a", graph_checksum="a", knobs="ATOMIC_CLAIM=0"),
        row(2.0, variant="merrill", graph="b", graph_checksum="b", knobs="ATOMIC_CLAIM=0"),
    ]
    return write(tmp_path / "rows.csv", rows)


def test_times_of_a_search_that_this_project_changed_are_marked(changed: Path, tmp_path: Path) -> None:
    matrix = report(changed, "--table", "matrix").stdout
    assert re.search(r"^merrill \(garland\) +2\.00† +2\.00 +2\.00†$", matrix, re.MULTILINE)
    assert "† marks results of merrill with ATOMIC_CLAIM=1." in matrix
    ranking = report(changed, "--table", "ranking").stdout
    assert re.search(r"^merrill \(garland\)† +2\.00 ", ranking, re.MULTILINE)
    latex = report(changed, "--table", "matrix,ranking", "--format", "latex").stdout
    captions = re.findall(r"\\caption\{(.*)\}", latex)
    assert "$^\\dagger$ marks results of merrill with ATOMIC\\_CLAIM=1." in captions[0]
    assert "$^\\dagger$ marks results of merrill with ATOMIC\\_CLAIM=1." in captions[1]
    assert "merrill (garland)$^\\dagger$ & 2.00 & " in latex
    data = json.loads(report(changed, "--table", "matrix,ranking", "--format", "json").stdout)
    assert data["matrix"]["rows"][1] == {"variant": "merrill", "a": 2.0, "b": 2.0, "geometric mean": 2.0}
    assert report(changed, "--plot", "bars", "--out", tmp_path / "bars.svg").exit_code == 0
    picture = (tmp_path / "bars.svg").read_text()
    assert re.findall(r"<!-- (a|b|merrill|†) -->", picture) == ["merrill", "†", "a", "b"]  # of graph a
    page = report(changed, "--format", "html").stdout
    assert re.findall(r'"changed": ?(\w+)', page) == ["false", "false", "true", "false"]
    assert "† marks results of merrill with ATOMIC_CLAIM=1." in page


def test_searches_can_be_shown_as_published(changed: Path, tmp_path: Path) -> None:
    matrix = report(changed, "--table", "matrix", "--as-published").stdout
    assert re.search(r"^merrill \(garland\) +8\.00 +2\.00 +4\.00$", matrix, re.MULTILINE)
    assert "†" not in matrix
    only = write(tmp_path / "only.csv", [row(variant="merrill", knobs=CHANGED_KNOBS)])
    assert refused(report(only, "--as-published")).startswith("no rows of searches as published")


def test_names_replace_searches_and_graphs_in_tables_and_pictures(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    changed = {"variant": "merrill", "knobs": "ATOMIC_CLAIM=1", "search_ms_samples": "1;1.1"}
    pulled = {"search_ms_samples": "2;2.2"}
    other = {"graph": "kron(scale=8):directed", "graph_checksum": "k"}
    write(path, [one | where for where in ({}, other) for one in (row(2.0) | pulled, row(1.0) | changed)])
    names = ["--name", "merrill=Merrill et al.", "--name", "kron=Kron. & co"]
    latex = report(path, "--table", "matrix", "--format", "latex", *names).stdout
    assert "grid & Kron. \\& co & geometric mean" in latex
    assert "Merrill et al. & 1.00$^\\dagger$" in latex and "results of Merrill et al. with" in latex
    assert "merrill" not in latex and "kron(" not in latex
    assert "Merrill et al." in report(path, "--table", "matrix", "--format", "csv", *names).stdout
    invoke("report", path, "--out", tmp_path / "bars.svg", *names)
    drawn = (tmp_path / "bars.svg").read_text()
    texts = re.findall("<!-- (.*?) -->", drawn)
    assert "Merrill et al." in texts and any("Kron. " in text for text in texts)
    assert not any("merrill" in text or "kron(" in text for text in texts)
    compared = invoke("compare", path, "--searches", "pull", "merrill", *names).output
    assert "Merrill" in compared and "merrill" not in compared


def test_latex_captions_say_how_times_were_measured(tmp_path: Path) -> None:
    graphs = ("a(n=1):self_loops=drop:symmetrised", "b:symmetrised")
    rows = [
        row(graph=graph, graph_checksum=graph, variant=variant, source=source)
        for graph in graphs
        for variant in ("pull", "push")
        for source in (1, 2)
    ]
    several = write(tmp_path / "several.csv", rows)
    latex = report(several, "--table", "matrix,ranking", "--format", "latex").stdout
    captions = re.findall(r"\\caption\{(.*)\}", latex)
    said = "Measured on NVIDIA H200, from 2 sources of each graph. Options with which all graphs were read: "
    assert len(captions) >= 2 and all(f"{said}symmetrised." in caption for caption in captions)
    one = report(several, "--graph", "b", "--table", "best", "--format", "latex").stdout
    assert (
        "\\caption{Best time per variant and graph: b:\\allowbreak{}symmetrised, 2 sources. Measured" in one
    )
