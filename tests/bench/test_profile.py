"""Compare level profiles with the levels of a reference."""

import itertools
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.profile import LevelSizes, parse_counters, profile
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.rows.columns import PROFILE_COLUMNS as COLUMNS
from bfsbench.rows.results import ResultWriter, axes_of, read_rows
from bfsbench.variants import all_variants, find
from bfsbench.variants.base import DeviceGraph, KernelSetup, KernelVariant
from tests.bench.test_run import LATTICE, measured, run
from tests.shapes import SHAPES

KERNEL_VARIANTS = [variant for variant in all_variants().values() if issubclass(variant, KernelVariant)]


def edges_by_hand(graph: Graph, levels: np.ndarray, level: int) -> tuple[int, int]:
    """Return the edges of the frontier, and the edges that unreached vertices read until a parent."""
    frontier = sum(
        int(graph.row_offsets[v + 1] - graph.row_offsets[v]) for v in np.flatnonzero(levels == level)
    )
    pulled = 0
    for v in range(graph.num_vertices):
        if 0 <= levels[v] <= level:
            continue
        for parent in graph.row_indices[graph.column_offsets[v] : graph.column_offsets[v + 1]]:
            pulled += 1
            if levels[parent] == level:
                break
    return frontier, pulled


@pytest.mark.parametrize(
    "name", ["kronecker", "lattice", "pmpp", "hub", "several_components", "self_loops_everywhere"]
)
def test_edge_counts_are_those_of_a_search_by_hand(name: str) -> None:
    graph = build_graph(SHAPES[name], name)
    levels = reference_levels(graph, 0)
    counts = LevelSizes(graph, levels)
    for level in range(counts.depth + 1):
        frontier, pulled = edges_by_hand(graph, levels, level)
        assert counts.frontier_sizes[level] == (levels == level).sum()
        assert counts.edges_inspected("frontier", level) == frontier
        assert counts.edges_inspected("pull", level) == pulled
        assert counts.edges_inspected("all", level) == graph.num_edges
        assert counts.edges_inspected("unknown", level) is None
    assert counts.edges_inspected("all", counts.depth + 1) is None


@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_every_variant_tells_of_every_level_once(emulator: Device, variant: type[KernelVariant]) -> None:
    for name in ("kronecker", "lattice", "path"):
        graph = build_graph(SHAPES[name], name)
        reference = reference_levels(graph, 0)
        search = variant(KernelSetup(DeviceGraph(emulator, graph), None, 64, variant.knob_values({})))
        costs = profile(search, 0, reference)
        told = [cost.level for cost in costs]
        assert told == sorted(set(told))
        # Searches that relax edges in any order may need fewer rounds than there are levels.
        if not variant.times_levels:
            assert told[0] == 0 and max(told) <= int(reference.max()) + 1
        elif variant.frontier != "none":
            assert set(range(int(reference.max()))) <= set(told)
            assert max(told) <= int(reference.max()) + 1
        assert all(cost.time_us >= 0 and cost.kernel for cost in costs)


def test_the_command_writes_profiles_beside_the_rows_and_resumes_them(tmp_path: Path) -> None:
    words = ["--dataset", LATTICE, "--variant", "push,edge,cpu_queue", "--profile"]
    rows = measured(*words, cwd=tmp_path)
    levels = read_rows(tmp_path / "r.levels.csv", COLUMNS)
    assert {axes_of(row) for row in levels} == {axes_of(row) for row in rows if row["backend"] != "host"}
    edge = [row for row in levels if row["variant"] == "edge_frontier_numbers"]
    assert {row["edges_inspected"] for row in edge} == {rows[0]["num_edges"]}
    assert sum(int(row["frontier_size"]) for row in edge) == int(rows[0]["reached"])

    assert {row["counts"] for row in levels} == {""}

    # A kill between writing a profile and its row leaves a profile without a row. Resuming drops it.
    orphan = dict(levels[0]) | {"variant": find("pull").name}
    with closing(ResultWriter(tmp_path / "r.levels.csv", resume=True, columns=COLUMNS)) as writer:
        writer.append(orphan)
    words[-2:] = ["push,edge,cpu_queue,pull", "--profile"]
    run(*words, "--resume", cwd=tmp_path)
    pull = [row for row in read_rows(tmp_path / "r.levels.csv", COLUMNS) if row["variant"] == "pull"]
    assert [row["level"] for row in pull] == [str(level) for level in range(len(pull))]


@pytest.mark.exhaustive
def test_counters_stand_beside_what_a_level_cost(tmp_path: Path) -> None:
    """The graph has complete bipartite layers, so each vertex of a level finds all vertices of the next."""
    layers = [range(0, 1), range(1, 41), range(41, 81), range(81, 82)]
    edges = [(u, v) for near, far in itertools.pairwise(layers) for u in near for v in far]
    (tmp_path / "layers.txt").write_text("".join(f"{u} {v}\n" for u, v in edges))
    words = "--dataset layers.txt:directed --variant bfs4k --source 0 --k4 0 --profile"
    run(*words.split(), "--hash", "none,hash64,hash_warp", cwd=tmp_path)
    found: dict[str, list[dict[str, int]]] = {}
    for row in read_rows(tmp_path / "r.levels.csv", COLUMNS):
        counts = parse_counters(row["counts"])
        assert counts["single_block_levels"] == 1 and row["kernel"] == "bfs4k_single_block"
        (hashing,) = (word for word in row["knobs"].split() if word.startswith("HASH="))
        found.setdefault(hashing.removeprefix("HASH="), []).append(counts)
    for counts_of_levels in found.values():
        assert len(counts_of_levels) == 4
        entries, missed = (
            [level.get(name, 0) for level in counts_of_levels] for name in ("entries", "missed")
        )
        assert [e - m for e, m in zip(entries, missed, strict=True)] == [40, 40, 1, 0]
    detected = {hashing: levels[1].get("detected", 0) for hashing, levels in found.items()}
    assert detected["none"] == 0 < min(detected["hash64"], detected["hash_warp"])
