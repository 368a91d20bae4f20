"""Texts whose numbers come from rows."""

import csv
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import Result
from result_rows import emulated_row, failed_row, host_row, row, write

from bfsbench.experiments.texts import number, span
from bfsbench.rows.provenance import DIGITS, code_hash, read_runs, runs_file
from bfsbench.rows.results import read_rows
from bfsbench.support.paths import PACKAGE
from bfsbench.variants import find
from tests.commands import bfsbench, invoke
from tests.parameters import some

RESULTS = PACKAGE.parent / "results"
PAGE = RESULTS / "README.md"


def run(*arguments: object) -> Result:
    return invoke("text", *arguments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        *(row(time, source=source, grid="64") for source, time in enumerate((1.0, 2.0, 4.0))),
        *(row(3 * time, source=source, grid="auto") for source, time in enumerate((1.0, 2.0, 4.0))),
        row(7.0, variant="bfs4k", source=0, knobs="K1=4 K2=0.5"),
        row(5.0, variant="bfs4k", source=0, knobs="K1=8 K2=0.5"),
        failed_row(variant="merrill"),
    ]
    repeats = {"search_ms_samples": "1;1.1;1.2;1.3;1.4"}
    write(tmp_path / "rows" / "a.csv", [one | repeats for one in rows])
    (tmp_path / "rows" / "costs.csv").write_text('kind,us\n"push, long",4.5\npull,7\n')
    (tmp_path / "rows" / "empty.csv").write_text("")
    return tmp_path


def filled(folder: Path, template: str) -> Result:
    path = folder / "text.md.j2"
    path.write_text(template)
    return run(path, "--rows", folder / "rows")


def test_latex_templates_keep_the_braces_of_latex(folder: Path) -> None:
    path = folder / "paper.tex.j2"
    path.write_text(
        "\\BLOCK{for name, ms in rows('a.csv').of(variant='bfs4k').best_each.items()}\n"
        "\\textbf{{\\VAR{name}}} & \\VAR{{'ms': ms}['ms'] | number} \\\\ \\#{ not kept }% {{ kept }}\n"
        "\\BLOCK{endfor}\n"
        "\\VAR{'push_multilevel' | latex}\n"
    )
    result = run(path, "--rows", folder / "rows")
    assert result.output == "\\textbf{{bfs4k}} & 5 \\\\ % {{ kept }}\npush\\_multilevel\n"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ rows('a.csv') | length | count }} rows", "9 rows"),
        ("{{ rows('a.csv').of(variant='pull').ms | number }}", "2"),
        ("{{ rows('a.csv').of(variant='pull', grid='auto').ms | number }}", "6"),
        ("{{ rows('a.csv').of(variant='pull', source=2).ms | number }}", "4"),
        ("{{ rows('a.csv').of(K1=4).ms | number }}", "7"),
        ("{{ rows('a.csv').of(variant='bfs4k').best.knobs }}", "K1=8 K2=0.5"),
        ("{{ rows('a.csv').failed | length }} {{ rows('a.csv').failed.variants | join }}", "1 merrill"),
        ("{{ rows('a.csv').without(variant='pull').best_each.values() | span }}", "5"),
        ("{{ (rows('a.csv').of(K1=4).ms / rows('a.csv').of(K1=8).ms) | number }} times", "1.4 times"),
        ("{{ compared('a.csv', 'a.csv').count('slower') }}", "0"),
        ("{{ claims('bfs4k-table2', 'a.csv')['undecided'] }}", "2"),
        ("{{ geometric_mean([2, 8]) | number }} {{ [9, 2, 4] | median }}", "4 4"),
        ("{{ rows('a.csv').first.ms | number }}", "2"),
        ("{{ rows('a.csv').of(variant='bfs4k').first.ms | number }}", "7"),
        (
            "{% for row in rows('a.csv').ranking %}{{ row.variant }} {{ row.graphs }} {% endfor %}",
            "pull 1 bfs4k 1 ",
        ),
        ("{{ rows('a.csv').footnotes }}", "[]"),
        (
            "{% for line in table('costs.csv') %}{{ line.kind }} {{ 2 * line.us }}; {% endfor %}",
            "push, long 9.0; pull 14.0; ",
        ),
        ("{{ rows('a.csv').of(variant='bfs4k').values('search_ms') | harmonic_mean | number }}", "5.83"),
        ("{{ rows('a.csv').values('search_ms') | length }}", "8"),
        ("{{ kind_of('wave:symmetrised') }} {{ kind_of('mine.csv') }}", "mesh other"),
    ],
)
def test_what_a_template_can_quote(folder: Path, template: str, text: str) -> None:
    result = filled(folder, template)
    assert (result.exit_code, result.stdout) == (0, text)


@pytest.mark.parametrize(
    ("template", "line", "complaint"),
    [
        ("one\n{{ rows('a.csv').of(variant='luo').ms }}", 2, "no rows of variant 'luo'"),
        ("{{ rows('a.csv').of(K1=5).ms }}", 1, "no rows of a.csv, K1=5"),
        ("\n\n{{ rows('a.csv').of(variant='merrill').ms }}", 3, "no times among a.csv, variant=merrill"),
        ("{{ rows('b.csv') }}", 1, "cannot read"),
        ("{{ table('b.csv') }}", 1, "cannot read"),
        ("{{ table('empty.csv') }}", 1, "No columns to parse"),
        ("{{ rows('a.csv').speed }}", 1, "no attribute 'speed'"),
        ("{{ nothing }}", 1, "'nothing' is undefined"),
        ("{% if %}", 1, "Expected an expression"),
        ("{{ ().__class__.__base__.__subclasses__() }}", 1, "access to attribute '__class__'"),
        ("{{ rows('a.csv').of.__globals__ }}", 1, "access to attribute '__globals__'"),
        ("{% for i in range(10 ** 9) %}{% endfor %}", 1, "Range too big"),
        ("{{ 1 / 0 }}", 1, "division by zero"),
        ("{{ rows('a.csv').column('nope') }}", 1, "nope"),
        ("{{ rows('a.csv').without(nope='x') }}", 1, "nope"),
        ("{{ rows('a.csv').of(K1=4).failed.first }}", 1, "out-of-bounds"),
        ("{{ [] | span }}", 1, "index out of range"),
        ("{{ kind_of(3) }}", 1, "'int'"),
        ("{% macro again() %}{{ again() }}{% endmacro %}\n{{ again() }}", 1, "recursion"),
        ("{{ rows('a.csv')._frame }}", 1, "access to attribute '_frame'"),
        ("{{ rows('a.csv').of.__self__._frame }}", 1, "access to attribute"),
        ("{{ compared('a.csv', 'a.csv').frame() }}", 1, "access to attribute 'frame'"),
        ("{{ compared('a.csv', 'a.csv')['a'] }}", 1, "access to attribute 'a'"),
        ("{{ rows('a.csv').best.search_ms.tofile('file') }}", 1, "access to attribute 'tofile'"),
        ("{{ table('/etc/hostname') }}", 1, "/etc/hostname is not in"),
        ("{{ table('../text.md.j2') }}", 1, "../text.md.j2 is not in"),
        ("{{ rows('a.csv', '../rows/../b.csv') }}", 1, "b.csv is not in"),
        ("{{ compared('a.csv', '/dev/zero') }}", 1, "/dev/zero is not in"),
        ("{{ compared('a.csv', '../a.csv@HEAD') }}", 1, "../a.csv@HEAD is not in"),
        ("{{ claims('bfs4k-table2', '../a.csv') }}", 1, "../a.csv is not in"),
        ("{{ lipsum(n=2) }}", 1, "'lipsum' is undefined"),
        ("{{ compared.args }}", 1, "no attribute 'args'"),
        ("{{ claims.args }}", 1, "no attribute 'args'"),
    ],
)
def test_what_is_not_in_rows_cannot_be_quoted(folder: Path, template: str, line: int, complaint: str) -> None:
    result = filled(folder, template)
    assert result.exit_code == 2
    assert result.stdout == ""
    (said,) = result.stderr.splitlines()
    assert said.startswith(f"bfsbench: {folder / 'text.md.j2'}:{line}: ")
    assert complaint in said


@pytest.mark.parametrize(
    "member", ["ms", "typical_ms", "best.search_ms", "best_each.pull", "first_each.pull"]
)
def test_a_time_is_of_one_graph(folder: Path, member: str) -> None:
    rows = [row(1.0), row(9.0, graph="other:directed", graph_checksum="d")]
    write(folder / "rows" / "two.csv", rows)
    said = filled(folder, f"{{{{ rows('two.csv').of(variant='pull').{member} }}}}")
    assert said.exit_code == 2 and len(said.stderr.splitlines()) == 1
    wanted = "has times on 2 graphs: fix the column graph, as in of(graph='"
    assert f"two.csv, variant=pull {wanted}" in said.stderr
    one = filled(folder, f"{{{{ rows('two.csv').of(graph='other').{member} | number }}}}")
    assert one.stdout in ("9", "9.9"), one.stderr


@pytest.mark.parametrize(
    "quoted",
    [
        *("of(variant='pull').ms", "of(variant='pull').typical_ms", "best_each['pull']", "ms"),
        *("first_each['pull']", "without(variant='cpu_queue').first.ms", "values('search_ms') | median"),
    ],
)
def test_emulated_times_are_quoted_only_on_request(folder: Path, quoted: str) -> None:
    write(folder / "rows" / "emulated.csv", [emulated_row(8.0), host_row(2.0)])
    said = filled(folder, f"{{{{ rows('emulated.csv').{quoted} | number }}}}")
    assert said.exit_code == 2 and len(said.stderr.splitlines()) == 1
    assert "has emulated times: select backend='cpu' to quote them, or another backend" in said.stderr
    host = filled(folder, "{{ rows('emulated.csv').of(backend='host').ms | number }}")
    assert host.stdout == "2"
    asked = filled(folder, "{{ rows('emulated.csv').of(backend='cpu').first.ms | number }}")
    assert asked.stdout == "8"


def test_templates_and_texts_in_other_encodings(folder: Path) -> None:
    template, out = folder / "text.md.j2", folder / "text.md"
    template.write_bytes("für".encode("latin-1"))
    result = run(template)
    assert (result.exit_code, result.stderr) == (2, f"bfsbench: cannot read {template}: it is not UTF-8\n")
    template.write_text("für", encoding="utf-8")
    out.write_bytes("für".encode("latin-1"))
    result = run(template, "--out", out, "--check")
    assert result.exit_code == 1
    assert "is not up to date" in result.stderr


def test_a_stale_text_is_noticed(folder: Path) -> None:
    template, out = folder / "text.md.j2", folder / "text.md"
    template.write_text("{{ rows('a.csv').of(K1=8).ms | number }} ms\n")
    arguments = (template, "--rows", folder / "rows", "--out", out)
    assert run(*arguments, "--check").exit_code == 2
    assert run(*arguments).exit_code == 0
    assert out.read_text() == "5 ms\n"
    assert run(*arguments, "--check").exit_code == 0
    out.write_text("4 ms\n")
    result = run(*arguments, "--check")
    assert result.exit_code == 1
    assert "is not up to date" in result.stderr
    assert out.read_text() == "4 ms\n"
    assert run(template, "--check").exit_code == 2
    assert "no such file" in run(folder / "none.j2").stderr


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.05268, "0.0527"), (2.1906, "2.19"), (10.0, "10"), (99.96, "100"), (1090.4, "1,090"), (0.5, "0.5")],
)
def test_numbers_have_three_significant_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_a_span_has_two_ends_unless_they_round_to_one() -> None:
    assert span([36.04, 25.0, 30.0]) == "25 to 36"
    assert span([2.001, 2.0]) == "2"


ORIGIN = "The rows of this table are from "
TABLE = "\n| search | ms |\n|---|---|\n| pull | {{ rows('%s').of(variant='pull').ms | number }} |\n\nEnd.\n"


def test_a_table_says_which_rows_it_is_made_of(folder: Path) -> None:
    result = filled(folder, TABLE % "a.csv")
    assert result.exit_code == 0, result.stderr
    assert f"| pull | 2 |\n\n{ORIGIN}`a.csv` (commit abc, 2026-11-21, NVIDIA H200).\n\nEnd." in result.stdout


@pytest.mark.parametrize(("backend", "device"), [("cuda-core", "NVIDIA H200"), ("host", "Xeon")])
def test_the_origin_names_the_device_of_the_backend(folder: Path, backend: str, device: str) -> None:
    write(folder / "rows" / "other.csv", [row(2.0, backend=backend, host_cpu="Xeon")])
    assert f"`other.csv` (commit abc, 2026-11-21, {device})." in filled(folder, TABLE % "other.csv").stdout


def test_a_table_at_the_end_of_a_text_says_its_origin(folder: Path) -> None:
    for end in ("", "\n"):
        table = (TABLE % "a.csv").removesuffix("\n\nEnd.\n") + end
        assert filled(folder, table).stdout.endswith(
            f"| pull | 2 |\n\n{ORIGIN}`a.csv` (commit abc, 2026-11-21, NVIDIA H200).\n"
        )


def test_a_table_of_different_code_is_an_error_unless_it_is_declared(folder: Path) -> None:
    rows = [row(1.0, graph="a", code="one"), row(2.0, graph="b", code="two", commit="def")]
    write(folder / "rows" / "mixed.csv", rows)
    table = (TABLE % "mixed.csv").replace(".ms", ".values('search_ms') | median")
    refused = filled(folder, table)
    assert refused.exit_code == 2
    assert "a table compares rows of different code: `pull` (abc on a, def on b)" in refused.stderr
    declared = filled(folder, "{{ mixed('In two runs.') }}" + table)
    assert "In two runs.\n\n| graphs | searches | file | commit | day | device |" in declared.stdout
    assert "\n| a | all | `mixed.csv` | abc | 2026-11-21 | NVIDIA H200 |\n" in declared.stdout
    assert "\n| b | all | `mixed.csv` | def | 2026-11-21 | NVIDIA H200 |\n" in declared.stdout


def test_below_a_table_of_several_commits_stand_the_searches_and_graphs_of_each(folder: Path) -> None:
    rows = [
        row(2.0),
        row(3.0, variant="luo"),
        host_row(4.0, commit="def"),
        row(5.0, variant="merrill", graph="other", commit="def", taken_at="2026-11-22T10:00:00Z"),
    ]
    write(folder / "rows" / "some.csv", rows)
    table = (TABLE % "some.csv").replace(".of(variant='pull').ms", ".values('search_ms') | median")
    text = filled(folder, table).stdout
    assert "(commits abc and def, 2026-11-21 and 2026-11-22, NVIDIA H200 and Xeon)" in text
    lines = text.split("| device |\n|---|---|---|---|---|---|\n")[1].split("\n\n")[0].splitlines()
    assert lines == [
        "| grid | the others | `some.csv` | abc | 2026-11-21 | NVIDIA H200 |",
        "| grid | `cpu_queue` | `some.csv` | def | 2026-11-21 | Xeon |",
        "| other | all | `some.csv` | def | 2026-11-22 | NVIDIA H200 |",
    ]


ONE_TABLE = "| ms |\n|---|\n| {{ rows('a.csv').of(variant='bfs4k').ms | number }} |\n\n"


def test_below_a_table_stands_the_command_that_wrote_its_file(folder: Path) -> None:
    rows = folder / "rows"
    assert "This command" not in filled(folder, ONE_TABLE).stdout
    written = "2026-11-21, NVIDIA H200).\n\nThe following command wrote rows of `a.csv`:\n\n```\n%s\n```\n"
    (rows / "commands.csv").write_text("file,command,points\na.csv,bfsbench run --cold,all\n")
    assert written % "bfsbench run --cold" in filled(folder, ONE_TABLE).stdout
    (rows / "commands.csv").write_text("file,command,points\na.csv,bfsbench run,It measures the defaults.\n")
    twice = filled(folder, ONE_TABLE + ONE_TABLE).stdout
    assert twice.count("```\nbfsbench run\n```\n\nIt measures the defaults.\n") == 1
    assert (twice.count(ORIGIN), twice.count("bfsbench run")) == (2, 1)
    runs_file(rows / "a.csv").write_text('{"command": "bfsbench run --sources 8"}\n')
    assert written % "bfsbench run --sources 8" in filled(folder, ONE_TABLE).stdout


def test_the_tables_of_the_results_say_what_waits_for_a_gpu_and_name_their_commands() -> None:
    page = PAGE.read_text()
    parts = {part.partition("\n")[0]: part for part in page.split("\n## ")}
    waiting = "could decide the claim|must be measured again on a GPU"
    assert re.search(waiting, parts["The papers' claims"])
    for heading in (
        "Every search at its best",
        "Cold caches",
        "Graph500",
        "A GPU without clusters",
        "Energy",
    ):
        assert not re.search(waiting, parts[heading]), heading
    named = {
        name
        for line in page.splitlines()
        if line.startswith(ORIGIN)
        for name in re.findall(r"`(\S+)` \(commits? ", line)
    }
    command = r"^The following command wrote rows of `(.*)`:\n\n```\n(?:bfsbench|python) "
    written = re.findall(command, page, re.M)
    assert "energy.csv" in named and sorted(written) == sorted(named)
    goals = (RESULTS / "h200" / "goals.csv").read_text().splitlines()[0]
    assert goals == "graph,goal_ms,aim_ms", "targets; times come from rows"


OTHER = " Earlier tables on this page have different times for some searches of this table. "


def test_a_table_says_how_rows_of_earlier_tables_differ(folder: Path) -> None:
    once = [row(5.0, source=0), row(9.0, source=0, variant="luo")]
    write(folder / "rows" / "once.csv", once)
    write(folder / "rows" / "cold.csv", [one | {"method": "cold", "code": "new"} for one in once])
    write(folder / "rows" / "again.csv", once)
    text = filled(folder, "".join(TABLE % f"{name}.csv" for name in ("a", "once", "cold", "again"))).stdout
    first, *others = (line for line in text.splitlines() if line.startswith(ORIGIN))
    assert OTHER not in first
    of = "The rows of"
    assert [line.partition(OTHER)[2] for line in others] == [
        f"{of} `a.csv` were measured from 3 sources (1 in this table) and with 2 settings (1 in this table).",
        f"{of} `a.csv` were measured from 3 sources (1 in this table), with 2 settings (1 in this table), by "
        "another method and with another version of the code. "
        f"{of} `once.csv` were measured by another method and with another version of the code.",
        f"{of} `a.csv` were measured from 3 sources (1 in this table) and with 2 settings (1 in this table). "
        f"{of} `cold.csv` were measured by another method and with another version of the code. "
        f"{of} `once.csv` were measured in another run.",
    ]


def test_files_of_many_earlier_tables_are_counted_with_what_differs(folder: Path) -> None:
    names = [f"f{place}" for place in range(6)]
    for place, name in enumerate(names):
        write(folder / "rows" / f"{name}.csv", [row(5.0, block=32 * (place + 1))])
    text = filled(folder, "".join(TABLE % f"{name}.csv" for name in names)).stdout
    assert (
        text.rstrip()
        .splitlines()[-3]
        .endswith("use 5 other files, whose rows differ from the rows of this table in settings.")
    )


BESIDE = """
| pull | luo |
|---|---|
{% set all = rows("two.csv") %}
| {{ all.of(variant="pull").ms | number }} | {{ all.of(variant="luo").ms | number }} |

"""
IF_COMPARED = (
    "{% set times = rows('two.csv').best_each %}\n{{ times.pull | number }} {{ times.luo | default('none') }}"
)


@pytest.mark.parametrize(
    ("planted", "complaint"),
    [
        (row(6.0, variant="luo", source=1), "times on grid are compared over 2 and 3 sources"),
        (row(6.0, variant="luo", source=2) | {"search_ms_samples": "6;7"}, "compared over 2 and 3 repeats"),
    ],
)
def test_times_of_unequal_sources_or_repeats_stand_in_no_table(
    folder: Path, planted: dict[str, object], complaint: str
) -> None:
    repeats = {"search_ms_samples": "2;3;4"}
    equal = [row(2.0, variant=name, source=n) | repeats for name in ("pull", "luo") for n in range(3)]
    write(folder / "rows" / "two.csv", equal)
    assert "| 2 | 2 |" in filled(folder, BESIDE).stdout
    write(folder / "rows" / "two.csv", [*equal[:-1], planted])
    for template in (BESIDE, BESIDE.replace("\n|", "\nBeside: |")):
        refused = filled(folder, template)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert complaint in refused.stderr


def test_a_search_that_lacks_a_source_has_no_number(folder: Path) -> None:
    whole = [row(2.0, variant=name, source=n) for name in ("pull", "luo") for n in range(3)]
    write(folder / "rows" / "two.csv", whole)
    assert filled(folder, IF_COMPARED).stdout == "2 2.0"
    write(folder / "rows" / "two.csv", [*whole[:-1], failed_row(variant="luo", source=2)])
    assert filled(folder, IF_COMPARED).stdout == "2 none"


def test_a_table_of_rows_of_older_code_says_so(folder: Path) -> None:
    rows, nvcc = folder / "rows" / "b.csv", "Build cuda_13.0"
    now = code_hash(find("pull"), {}, "cuda", nvcc)[:DIGITS]
    marks = []
    for code in (now, "0" * DIGITS, ""):
        write(rows, [row(2.0, code=code)])
        runs_file(rows).write_text(f'{{"command": "bfsbench run", "nvcc": "{nvcc}"}}\n')
        marks.append("The code of all searches has changed since" in filled(folder, TABLE % "b.csv").stdout)
    assert marks == [False, True, True], "rows without a hash are older than hashes"
    runs_file(rows).unlink()
    assert "has changed since" not in filled(folder, TABLE % "b.csv").stdout, "no compiler is known"


def test_results_name_the_commits_of_rows_that_are_not_in_the_history() -> None:
    if not _is_commit("bbbef1128e01"):
        pytest.skip("there is no history, or not all of it, to look at")
    named: set[str] = set()
    for file in RESULTS.rglob("*.csv"):
        with file.open(newline="") as lines:
            for line in csv.DictReader(lines):
                if line.get("program") in ("cpu_parallel", "cpu_queue", None, ""):
                    named |= {
                        line[name] for name in ("commit", "kernels", "measured_commit") if line.get(name)
                    }
    gone = {commit[:7] for commit in named if not _is_commit(commit)}
    (said,) = re.findall(r"^Some rows name the commits (.*)\. These .* are not in", PAGE.read_text(), re.M)
    assert set(re.split(", | and ", said)) == gone


def _is_commit(name: str) -> bool:
    asked = ["git", "cat-file", "-e", f"{name}^{{commit}}"]
    return subprocess.run(asked, cwd=PACKAGE, capture_output=True, check=False).returncode == 0


def commands() -> dict[str, str]:
    """The `run` commands that measured all points of a committed file. They come from the record beside the
    file, and for older files from commands.csv."""
    with (RESULTS / "h200" / "commands.csv").open() as file:
        found = {line["file"]: line["command"] for line in csv.DictReader(file) if line["points"] == "all"}
    for name in ("cold.csv", "energy.csv", "tree.csv", "no-clusters.csv"):
        (run,) = read_runs(RESULTS / "h200" / name)
        found[name] = run["command"]
    return {name: command for name, command in found.items() if " run " in command}


@pytest.mark.parametrize(
    "name", some(list(commands()), "cold.csv", "energy.csv", "tree.csv", "no-clusters.csv")
)
def test_the_commands_of_committed_rows_measure_as_many_points(name: str, tmp_path: Path) -> None:
    words = shlex.split(commands()[name])
    done = bfsbench(*words[1:], "--dry-run", "--backend", "cpu", cwd=tmp_path, check=None)
    assert f"\n{len(read_rows(RESULTS / 'h200' / name))} points, each run" in done.stdout


DEFINED = {("entry-clocks.md.j2", "20 ms"), ("limits.md.j2", "6 us")}
"""Times that are definitions: the limit below which drivers search twice, and FIXED_US of level_costs.py."""


def _typed(template: str) -> list[str]:
    """Returns the times and percentages in a template that are outside of its code and of code spans."""
    code = r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|```.*?```|`[^`\n]*`"
    return re.findall(r"[\d.,]*\d ?(?:[mnuµ]?s|%)(?!\w)", re.sub(code, "", template, flags=re.DOTALL))


def test_no_template_has_a_typed_time_or_percentage() -> None:
    planted = "{{ a }} ms, `5 ms`, 2.15 ms, 3 to 9 us, 1.5 s and 5 to 8 % of 16 sources {# 7 ms #}"
    assert _typed(planted) == ["2.15 ms", "9 us", "1.5 s", "8 %"]
    templates = list((PACKAGE.parent / "docs" / "text").glob("*.j2"))
    found = {(path.name, number) for path in templates for number in _typed(path.read_text())}
    assert found == DEFINED


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_program_of_others_in_the_results_has_options_unused_features_and_a_clock() -> None:
    part = PAGE.read_text().split("\n## Programs of others\n")[1].split("\n## ")[0]
    told = {
        name: facts
        for name, *facts in map(_cells, re.findall(r"^\| [A-Z].*\|$", part, re.M))
        if len(facts) == 4
    }
    shown = {
        row["variant"]
        for name in ("entries.csv", "comparison.csv")
        for row in read_rows(RESULTS / "h200" / name)
        if row["program"] and row["status"] == "ok" and row["variant"] != "blest_natural"
    }
    assert {name.lower() for name in told} == shown
    assert all(all(facts) for facts in told.values()), told
    for program in shown:
        (clock,) = re.findall(rf"^- `{program}` is a program by other authors .*", part, re.M)
        assert re.search(r"come from .*, and include .*", clock)


def test_sizes_stand_beside_times_of_others_and_the_sentence_on_the_cache_is_made_of_them() -> None:
    part = PAGE.read_text().split("\n## Programs of others\n")[1]
    head, *lines = re.findall(r"^\| (?:graph|\S.*) \| .* \|$", part.split(f"\n\n{ORIGIN}")[0], re.M)
    assert _cells(head)[2:5] == ["vertices", "arcs", "MiB"]
    found = [(line[0], *(float(cell.replace(",", "")) for cell in line[2:5])) for line in map(_cells, lines)]
    for graph, vertices, arcs, mib in found:
        assert mib == pytest.approx((8 * vertices + 4 * arcs) / 2**20, rel=0.01), graph
    fit = sum(mib <= 60 for *_, mib in found)
    many = "All" if fit == len(found) else f"{fit} of the"
    largest = max(mib for *_, mib in found)
    said = f"{many} {len(found)} graphs, with their levels, fit into the GPU's L2 cache of 60 MiB"
    assert f"{said}. The largest graph takes {largest:g} MiB" in part
