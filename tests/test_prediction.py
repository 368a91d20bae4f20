"""Predicted times are what the model says, worked out by hand."""

from collections.abc import Mapping, Sequence

import pandas as pd
import pytest

from bfsbench.emulator.watch import STEPS
from bfsbench.reports.predictions import baseline, trust
from bfsbench.rows.ceilings import Ceilings
from bfsbench.rows.counters import COUNTERS, KEY, Counters
from bfsbench.rows.point import Point
from bfsbench.support.paths import CUDA_SRC
from bfsbench.tools.explain import L2_PARTS, MULTIPROCESSORS, PASSES, TRUST, predict

RESULTS = CUDA_SRC.parent / "results" / "h200" / "emulator"

DEVICE = Ceilings(
    "a GPU",
    {
        "launch": {0: 2.0},  # us
        "launch_and_read": {0: 10.0},
        "barrier": {0: 1.0},
        "dependent_loads": {16 << 10: 20.0, 8 << 20: 100.0},  # ns
        "random_reads": {0: 100.0},  # G/s
        "copy": {0: 12_800.0},  # GB/s, which is 400 sectors
        "random_bit_tests": {0: 500.0},
        "random_atomics": {0: float(L2_PARTS)},  # 1 G/s in each part
    },
)


def counters(
    lines: Sequence[Mapping[str, object]], launches: Sequence[Mapping[str, object]], waits: int
) -> Counters:
    no_line = dict.fromkeys(COUNTERS, 0) | {"file": "k.cu", "line": 1, "kernel": "k", "kind": "load"}
    no_launch = dict.fromkeys(STEPS, 0) | {"kernel": "k", "blocks": 1, "threads": 32, "shared": 0}
    return Counters(
        pd.DataFrame([{**no_line, **line} for line in lines], columns=[*KEY, *COUNTERS]),
        pd.DataFrame([{**no_launch, **launch} for launch in launches]),
        waits,
        {},
        Point("g", 0, "push", "cpu", None, 256),
        "",
    )


def test_a_level_takes_the_largest_of_its_parts_and_the_host_its_own() -> None:
    steps = {"far": 30, "near": 5, "shared_steps": 5, "atomics": 20, "barriers": 5}
    slow_chain = {"level": 0, "launch": 0, **steps}
    many = {"level": 1, "memory": "global", "sectors": 1_500_000, "far_sectors": 1_000_000}
    hot = {"level": 2, "memory": "global", "kind": "atomic", "sectors": 960, "hottest": 30_000}
    launches = [slow_chain, {"level": 1, "launch": 1}, {"level": 2, "launch": 2}]
    found = predict(counters([{"level": 0, "memory": "global"}, many, hot], launches, waits=2), DEVICE)
    assert found.launches_ms == pytest.approx((3 * 2 + 2 * 8) / 1e3)
    assert found.latency_ms == pytest.approx((50 * 0.1 + 15 * 0.02) / 1e3)
    assert found.throughput_ms == pytest.approx((1_000_000 / 100 + 500_000 / 500 + 960 / L2_PARTS) / 1e6)
    assert found.contention_ms == pytest.approx(30_000 / 1e6)
    in_levels = 5.3 + 11.0 + 30.0  # us: latency, throughput, contention
    assert found.search_ms == pytest.approx((22 + in_levels) / 1e3)
    assert found.bound == "contention"


def test_sectors_of_whole_lines_move_at_the_rate_of_copies() -> None:
    line = {"level": 0, "memory": "global", "sectors": 1_000_000, "far_sectors": 1_000_000}
    stream = counters([line | {"streamed_sectors": 800_000}], [{"level": 0, "launch": 0}], waits=0)
    assert predict(stream, DEVICE).throughput_ms == pytest.approx((200_000 / 100 + 800_000 / 400) / 1e6)


def test_bank_conflicts_take_the_cycles_of_the_multiprocessors_that_have_a_block() -> None:
    shared = {"memory": "shared", "passes": 1_000_000, "conflicts": 900_000}
    for blocks, busy in ((8, 8), (1000, MULTIPROCESSORS)):
        launches = [{"level": 0, "launch": 0, "blocks": blocks, "shared_steps": 10}]
        found = predict(counters([{"level": 0, **shared}], launches, waits=0), DEVICE)
        assert found.banks_ms == pytest.approx(1_000_000 / busy / PASSES / 1e6)
        assert found.search_ms == pytest.approx(found.launches_ms + found.banks_ms)
        assert found.bound == "banks"


def test_levels_of_resident_blocks_end_with_a_barrier() -> None:
    resident = [{"level": level, "launch": 0, "blocks": 8, "far": 10} for level in range(4)]
    found = predict(counters([{"level": 0, "memory": "global"}], resident, waits=1), DEVICE)
    assert found.latency_ms == pytest.approx(4 * (10 * 0.1 + 1.0) / 1e3)
    alone = [{**level, "blocks": 1} for level in resident]
    found = predict(counters([{"level": 0, "memory": "global"}], alone, waits=1), DEVICE)
    assert found.latency_ms == pytest.approx(4 * 10 * 0.1 / 1e3)


def test_trust_of_times_whose_ratios_are_known() -> None:
    """On the first graph everything takes twice, on the second half of what is predicted."""
    table = pd.DataFrame(
        {
            "graph": ["a", "a", "b", "b"],
            "variant": ["pull", "luo", "pull", "luo"],
            "measured_ms": [2.0, 8.0, 4.0, 8.0],
            "predicted_ms": [1.0, 4.0, 8.0, 16.0],
        }
    )
    found = trust(table)
    assert (found.searches, found.bias, found.factor) == (4, pytest.approx(1.0), pytest.approx(2.0))
    assert found.rank_by_graph == {"a": pytest.approx(1.0), "b": pytest.approx(1.0)} and found.rank < 1
    assert found.factor_by_graph == pytest.approx({"a": 4.0, "b": 4.0}), "the other graph's bias is taken out"
    assert found.share_near == 1.0
    usual = baseline(table)  # each variant by its time on the other graph
    assert usual.bias == pytest.approx(1.0) and usual.factor_by_graph["a"] == pytest.approx(2.0)
    assert usual.rank_by_graph == {"a": pytest.approx(1.0), "b": pytest.approx(1.0)}


def test_the_table_of_predictions_names_what_was_counted_and_what_was_measured() -> None:
    table = pd.read_csv(RESULTS / "predictions.csv", dtype=str)
    for name in ("commit", "measured_commit"):
        assert table[name].str.fullmatch("[0-9a-f]{12,40}").all(), "without uncommitted changes"
    for name in ("code", "measured_code"):
        assert table[name].str.fullmatch("[0-9a-f]{16}").all()
    assert (table.groupby("variant")["code"].nunique() == 1).all()


def test_the_line_below_predictions_says_what_the_table_of_results_says() -> None:
    table = pd.read_csv(RESULTS / "predictions.csv")
    found, launches = trust(table), trust(table[table["bound"] == "launches"])
    ranks = found.rank_by_graph.values()
    for said in (
        f"of {found.searches} searches",
        f"of {found.factor:.2f}, and",
        f"mean is {found.bias:.2f} of",
        f"{min(ranks):.2f} to {max(ranks):.2f} within a graph, and {found.rank:.2f} over all",
        f"bound by launches are low: their geometric mean is {launches.bias:.2f} of",
    ):
        assert said in TRUST


def test_the_page_names_each_search_whose_prediction_is_far_off() -> None:
    """The page states the factor 1.9."""
    table = pd.read_csv(RESULTS / "predictions.csv")
    factor = table["measured_ms"] / table["predicted_ms"]
    far = {*table["variant"][(factor > 1.9) | (factor < 1 / 1.9)]}
    page = (CUDA_SRC.parent / "docs" / "emulator.md").read_text()
    listed = page.partition("a factor of 1.9 on one of the graphs:")[2].partition("\n\n#")[0]
    assert far and not [name for name in far if f"`{name}`" not in listed]
