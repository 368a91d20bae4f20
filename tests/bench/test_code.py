"""Test that rows name the code that they measured, and that changed code is measured again."""

import csv
from pathlib import Path

import pytest

from bfsbench.rows.columns import COLUMNS
from bfsbench.rows.provenance import code_hash
from bfsbench.variants import find
from tests.bench.test_run import LATTICE
from tests.commands import bfsbench_with

KERNEL = """// mine: frontier_numbers.
#include "step.cuh"

extern "C" __global__ void mine(const offset_t *row_offsets, const int *column_indices, int num_vertices,
                                int *levels, int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level);
}
"""
VARIANT = '''"""A user's own."""
from bfsbench.variants.base import LevelKernelVariant


class Mine(LevelKernelVariant):
    """A search."""

    name = "mine"
    summary = "as frontier_numbers"
'''
HEADER = '#include "neighbours.cuh"\n'


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a user's folder with a variant, its kernel and a header."""
    folder = tmp_path / "own"
    folder.mkdir()
    for name, text in (("mine.py", VARIANT), ("mine.cu", KERNEL), ("step.cuh", HEADER)):
        (folder / name).write_text(text)
    return folder


def run(own: Path, *more: str) -> list[dict[str, str]]:
    """Run a sweep of two points. Returns the rows of its file."""
    words = ("run", "--backend", "cpu", "--variant", "mine,cpu_queue", "--dataset", LATTICE)
    bfsbench_with(own, *words, "--repeats", "1", "--out", "rows.csv", *more, cwd=own)
    with (own / "rows.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.exhaustive
def test_other_code_is_measured_again(own: Path) -> None:
    first = run(own)
    assert [row["status"] for row in first] == ["ok", "ok"]
    assert all(len(row["code"]) == 16 for row in first)
    assert run(own, "--resume") == first, "the same code has its rows"
    rows = first
    for name, addition in (("step.cuh", "const int faster = 1;"), ("mine.py", "FASTER = 1")):
        before = {row["variant"]: row for row in rows}
        with (own / name).open("a") as file:
            file.write(f"{addition}\n")
        rows = run(own, "--resume")
        assert len(rows) == 2, "a row takes the place of that of other code"
        after = {row["variant"]: row for row in rows}
        assert after["cpu_queue"] == before["cpu_queue"]
        assert after["mine"]["code"] != before["mine"]["code"], f"{name} is part of what ran"


def test_other_comments_are_the_same_code(own: Path) -> None:
    first = run(own)
    for name, old, new in (
        (
            "step.cuh",
            '#include "neighbours.cuh"',
            '#include "neighbours.cuh"  // expand()\n\n/* Two\nlines. */',
        ),
        ("mine.py", "    name = ", "    # A comment.\n\n    name = "),
        ("mine.py", '"""A search."""', '"""A search of mine,\n    which is fast."""'),
    ):
        text = (own / name).read_text()
        assert old in text
        (own / name).write_text(text.replace(old, new))
    assert run(own, "--resume") == first, "no point is measured again"


@pytest.mark.exhaustive
def test_profiles_of_other_code_are_replaced(own: Path) -> None:
    run(own, "--profile")
    before = (own / "rows.levels.csv").read_text().splitlines()
    with (own / "mine.cu").open("a") as file:
        file.write("const int slower = 1;\n")
    (row,) = (row for row in run(own, "--profile", "--resume") if row["variant"] == "mine")
    after = (own / "rows.levels.csv").read_text().splitlines()
    assert len(after) == len(before)
    assert all(line.endswith(row["taken_at"]) for line in after[1:])


@pytest.mark.exhaustive
def test_rows_of_older_files_stay(own: Path) -> None:
    rows = run(own)
    columns = [name for name in COLUMNS if name != "code"]
    with (own / "rows.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    assert run(own, "--resume") == [row | {"code": ""} for row in rows]


def test_macros_are_code_and_other_knobs_are_not() -> None:
    def of(**knobs: int) -> str:
        variant = find("merrill")
        return code_hash(variant, variant.knob_values(knobs), "cpu")

    assert of() != of(BITMAP=0)
    assert of() == of(RESIDENT_LIMIT=7)
    assert of() != code_hash(find("luo"), find("luo").knob_values({}), "cpu")
