"""``bfsbench roofline``: work, ceilings, and the shares of searches."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from level_rows import level, profiled
from result_rows import emulated_row, failed_row, host_row, row, write

from bfsbench.reports.plots import NothingToDrawError, draw
from bfsbench.reports.roofline import floors, modelled_work
from bfsbench.rows.ceilings import COLUMNS, Ceilings
from bfsbench.rows.results import read_results
from bfsbench.variants import all_variants
from bfsbench.variants.base import KernelVariant
from tests.commands import invoke, refused

FIGURES = {  # probe: {working set: value}
    "copy": {1 << 20: 4000},
    "random_reads": {1 << 10: 100, 1 << 20: 50},
    "dependent_loads": {1 << 14: 33, 1 << 23: 100},
    "barrier": {0: 2},
    "launch_and_read": {0: 10},
}
UNITS = {
    "copy": "GB/s",
    "random_reads": "G/s",
    "dependent_loads": "ns",
    "barrier": "us",
    "launch_and_read": "us",
}

BIG = {"num_vertices": 1_000_000, "num_edges": 50_000_000, "reached": 900_000, "depth": 9}
"""A graph whose search has 10 levels."""


def ceilings(folder: Path, gpu: str = "NVIDIA H200", backend: str = "cuda") -> Path:
    path = folder / "ceilings.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        for probe, values in FIGURES.items():
            for size, value in values.items():
                figure = {"probe": probe, "working_set": size or "", "value": value, "unit": UNITS[probe]}
                writer.writerow(figure | {"backend": backend, "gpu": gpu})
    return path


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """A folder in which the ceilings of the GPU are known."""
    return ceilings(tmp_path).parent


def roofline(*arguments: object) -> Result:
    return invoke("roofline", *arguments)


def lines(result: Result) -> dict[str, dict[str, Any]]:
    """By variant, from JSON."""
    assert result.exit_code == 0, result.stderr
    return {line["variant"]: line for line in json.loads(result.stdout)["roofline"]["rows"]}


def big(search_ms: float, variant: str, **changes: Any) -> dict[str, Any]:
    return row(search_ms, **{**BIG, "variant": variant, "edges_traversed": 40_000_000, **changes})


def test_work_is_modelled_from_the_declarations(known: Path) -> None:
    names = ("push_frontier", "edge_frontier_numbers", "pull")
    path = write(known / "rows.csv", [big(4.0, name) for name in names])
    found = lines(roofline(path, "--format", "json"))
    queue = found["push_frontier"]  # a queue: every edge and every vertex once
    assert (queue["edges"], queue["edges_from"], queue["levels"]) == (40e6, "modelled", 10)
    assert queue["bytes"] == 4 * 1e6 + 20 * 900e3 + 8 * 40e6
    assert queue["gedges_s"] == pytest.approx(10)
    assert queue["gb_s"] == pytest.approx(342 / 4)
    assert queue["latency_ms"] == pytest.approx(10 * (10 + 0.3) / 1e3)
    assert queue["random_ms"] == pytest.approx(40e6 / 50e9 * 1e3)
    assert queue["bandwidth_ms"] == pytest.approx(342e6 / 4000e9 * 1e3)
    assert (queue["bound"], queue["share"]) == ("random", pytest.approx(0.8 / 4))
    edges = found["edge_frontier_numbers"]  # all edges in each level, the heads of a few
    assert edges["edges"] == 500e6
    assert edges["bytes"] == 4 * 1e6 + 4 * 900e3 + 8 * 500e6 + 8 * 40e6
    assert edges["random_ms"] == pytest.approx(0.8)
    assert edges["bound"] == "bandwidth"
    pull = found["pull"]  # unknown from a row
    assert (pull["edges"], pull["edges_from"], pull["bound"], pull["share"]) == (None, "", "", None)
    assert pull["latency_ms"] == queue["latency_ms"]


def test_edges_are_counted_where_there_is_a_profile(known: Path) -> None:
    rows = [big(4.0, "pull", block=64), big(2.0, "pull", block=128)]
    path = profiled(known, rows, [level(n, edges_inspected=1000 * n, block=64) for n in range(4)])
    found = lines(roofline(path, "--format", "json"))["pull"]
    assert (found["search_ms"], found["levels"]) == (2.0, 4)
    assert (found["edges"], found["edges_from"]) == (6000, "counted")


def test_levels_inside_launches_cost_a_barrier_or_nothing(known: Path) -> None:
    kernels = ["luo_block"] * 5 + ["luo_resident"] * 3 + ["luo_level"] * 2
    levels = [level(number, kernel=kernel, variant="luo") for number, kernel in enumerate(kernels)]
    path = profiled(known, [big(4.0, "luo")], levels)
    found = lines(roofline(path, "--format", "json"))["luo"]
    assert found["latency_ms"] == pytest.approx((10 * 0.3 + 3 * 2 + 2 * 10) / 1e3)


def test_a_profile_that_does_not_know_its_edges(known: Path) -> None:
    edges = ("", 5)
    levels = [level(n, kernel="simple", variant="simple", edges_inspected=of) for n, of in enumerate(edges)]
    path = profiled(known, [big(4.0, "simple")], levels)
    result = roofline(path)
    note = "The number of edges of simple is unknown. A level profile ('run --profile') may count them."
    assert note in result.stdout
    assert lines(roofline(path, "--format", "json"))["simple"]["edges"] is None


def test_the_fastest_search_of_each_source_is_taken(known: Path) -> None:
    rows = [big(4.0, "luo"), big(3.0, "luo", block=64), big(5.0, "luo", source=7), failed_row(variant="luo")]
    text = roofline(write(known / "rows.csv", rows), "--format", "csv").stdout
    found = list(csv.DictReader(io.StringIO(text)))
    assert [(line["source"], line["search_ms"]) for line in found] == [("0", "3.0"), ("7", "5.0")]


def test_programs_on_the_cpu_and_emulated_kernels_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [big(4.0, "luo"), host_row(), emulated_row(variant="push_frontier")])
    result = roofline(path, "--ceilings", ceilings(tmp_path))
    assert "compared with a GPU's ceilings: 2 rows of programs on the CPU." in " ".join(result.stdout.split())
    assert "cpu_queue" not in result.stdout and "push_frontier" not in result.stdout
    only = write(tmp_path / "host.csv", [host_row()])
    assert "No kernel has a time that was measured on a GPU." in roofline(only).stdout


def test_ceilings_of_another_device(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [big(4.0, "luo")])
    line = refused(roofline(path, "--ceilings", ceilings(tmp_path, gpu="NVIDIA A100")))
    assert line == "the ceilings are those of NVIDIA A100, but rows were taken on NVIDIA H200"
    line = refused(roofline(path, "--ceilings", ceilings(tmp_path, backend="cpu")))
    assert line.endswith("holds figures of emulated kernels, which are not ceilings of a device")


def test_which_ceilings(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [big(4.0, "luo")])
    assert refused(roofline(path)).endswith("but there are none: make one with 'bfsbench probe'")
    made = ceilings(tmp_path)
    assert roofline(tmp_path).exit_code == 0
    made.with_name("old-ceilings.csv").write_bytes(made.read_bytes())
    line = refused(roofline(path))
    assert line.endswith(f"there are several: {made}, {tmp_path / 'old-ceilings.csv'}")
    assert roofline(path, "--ceilings", made).exit_code == 0
    assert "cannot read" in refused(roofline(path, "--ceilings", tmp_path / "none-ceilings.csv"))


def test_bars_are_as_long_as_the_shares(known: Path) -> None:
    rows = [big(4.0, "push_frontier", source=source) for source in (0, 1)] + [big(8.0, "push_private")]
    path = write(known / "rows.csv", [*rows, big(4.0, "pull"), host_row()])
    (picture,) = draw("roofline", read_results([path]))
    (axes,) = picture.figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["push_frontier", "push_private", "pull"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([20, 10])
    assert axes.get_xlabel() == "share of the ceiling (%)"
    legend = [text.get_text() for text in picture.figure.legends[0].get_texts()]
    assert legend == ["random access", "work modelled"]
    assert "edges unknown" in [text.get_text() for text in axes.texts]
    notes = " ".join(picture.figure.legends[0].get_title().get_text().split())
    assert "run --profile" in notes and notes.endswith("only to GPU kernels of bfsbench: cpu_queue.")


def test_nothing_to_draw(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [big(4.0, "pull")])
    with pytest.raises(NothingToDrawError, match="make one with 'bfsbench probe'"):
        draw("roofline", read_results([path]))
    ceilings(tmp_path)
    with pytest.raises(NothingToDrawError, match="edges that are known"):
        draw("roofline", read_results([path]))
    other = write(tmp_path / "other.csv", [big(4.0, "luo", gpu="NVIDIA A100")])
    with pytest.raises(NothingToDrawError, match="rows were taken on NVIDIA A100"):
        draw("roofline", read_results([other]))


def test_a_variant_that_is_no_longer_known(known: Path) -> None:
    path = write(known / "rows.csv", [big(4.0, "luo"), big(4.0, "forgotten")])
    assert list(lines(roofline(path, "--format", "json"))) == ["luo"]


@pytest.mark.parametrize(
    "variant", [v for v in all_variants().values() if issubclass(v, KernelVariant)], ids=lambda v: v.name
)
def test_every_variant_has_a_floor(variant: type[KernelVariant]) -> None:
    values = {**BIG, "edges_traversed": 40_000_000}
    work = modelled_work(variant, values)
    assert work.levels == 10
    assert set(variant.block_layers) <= set(variant.layers)
    least = floors(variant, work, values, Ceilings("gpu", FIGURES))
    assert (least["latency"] or 0) > 0
    assert (least["random"] is None) == (work.edges is None)
