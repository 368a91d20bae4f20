"""Tests that the emulator counts what ncu counted on an H200."""

import csv
from pathlib import Path

import numpy as np
import pytest

from bfsbench.graphs.load import load
from bfsbench.rows.point import Point
from bfsbench.support.paths import CUDA_SRC
from bfsbench.tools.explain import count
from tests.benchmarks.emulator_against_ncu import compared

COUNTED = CUDA_SRC.parent / "results" / "h200" / "emulator"
EXACT = ("pull", "spmv", "push_frontier")
"""Variants without races, or with harmless races. In these variants, the work of a warp does not depend on
other warps."""
WITHIN = {"frontier_numbers": 0.05, "virtual_warp": 0.05, "edge_frontier_numbers": 0.05}


@pytest.fixture
def lattice(tmp_path: Path) -> Path:
    """A file with the measured searches on the lattice only."""
    header, *rows = (COUNTED / "ncu-searches.csv").read_text().splitlines()
    path = tmp_path / "searches.csv"
    path.write_text("\n".join([header, *(row for row in rows if "lattice" in row)]))
    return path


def ratios(searches: Path, variant: str) -> dict[str, float]:
    rows = compared(COUNTED / "ncu.csv", searches, (variant,))
    return {f"{row['kernel']} {row['counter']}": float(str(row["ratio"])) for row in rows}


@pytest.mark.parametrize(
    "variant", ["pull", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in EXACT[1:])]
)
def test_searches_without_races_agree(lattice: Path, variant: str) -> None:
    found = ratios(lattice, variant)
    assert len(found) == 11
    assert found == pytest.approx(dict.fromkeys(found, 1.0), abs=0.02)


@pytest.mark.parametrize(
    "variant",
    ["frontier_numbers", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in list(WITHIN)[1:])],
)
def test_searches_with_benign_races_agree_within_a_twentieth(lattice: Path, variant: str) -> None:
    found = ratios(lattice, variant)
    assert found == pytest.approx(dict.fromkeys(found, 1.0), abs=WITHIN[variant])


@pytest.mark.exhaustive
def test_counts_do_not_depend_on_where_buffers_lie() -> None:
    name = "kronecker(scale=10,seed=1):symmetrised"
    point = Point(name, 1, "frontier_queue", "cpu", None, 256, (("BLOCK_QUEUE_SIZE", 8192),))
    kept, found = [], []
    for size in (1, 5_000, 40):
        kept.append([np.ones(size * i, np.int8) for i in range(1, 9)])  # these arrays move the buffers
        found.append(count(point, load(name)).lines)
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


def test_the_committed_table_is_of_these_measurements() -> None:
    with (COUNTED / "against-ncu.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    totals = [row for row in table if row["counter"] in ("requests", "sectors") and row["kernel"] != "all"]
    graphs = {row["graph"] for row in totals}
    agree = {
        kernel
        for kernel in {row["kernel"] for row in totals}
        if {row["graph"] for row in totals if row["kernel"] == kernel} == graphs
        and all(abs(float(row["ratio"]) - 1) <= 0.05 for row in totals if row["kernel"] == kernel)
    }
    assert len(graphs) == 3
    assert len(agree) >= 8
