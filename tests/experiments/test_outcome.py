"""Tables and verdicts follow from the rows."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bfsbench.experiments.claims import findings, verdict_of
from bfsbench.experiments.declaration import Claim, Experiment, read_experiment
from bfsbench.experiments.drawings import crossing
from bfsbench.experiments.outcome import Outcome, read_outcome
from bfsbench.experiments.series import every_series, rivals, series_called
from bfsbench.experiments.tables import ours_for, significant, tables
from bfsbench.reports.table import render
from tests.report.result_rows import emulated_row, host_row, row as result_row, write

TEXT = """
title = "t"
paper = "p"
printed = ["numbers"]

[[graphs]]
name = "path(n=4)"
label = "line"

[[graphs]]
name = "soc-Slashdot0811"
label = "Slashdot"

[[sweeps]]
variants = ["push", "cpu_queue"]

[[sweeps]]
variants = ["virtual_warp"]
knobs = { W_SZ = "4,16" }

[[drawings]]
kind = "knobs"
series = ["virtual_warp W_SZ=4", "virtual_warp"]

[[claims]]
text = "the claim"
graphs = ["line"]
series = "push"
versus = ["cpu_queue"]
"""
NUMBERS = """
paper = "A paper"
place = "Table 9"
machine = "an abacus"
quantity = "time"
unit = "us"
columns = ["frontier_numbers", "virtual_warp", "virtual_warp W_SZ", "cpu_queue / frontier_numbers"]

[rows]
line = [812.5, "out-of-time", 4, 3.0]
"""
LINE = "path(n=4):symmetrised"


def row(graph: str, variant: str, samples: str, knobs: str = "", backend: str = "cuda") -> dict[str, Any]:
    """Returns a row of ``variant`` with these samples. ``cpu_queue`` is a program of the host."""
    times = sorted(float(sample) for sample in samples.split(";"))
    spread = {"search_ms_median": times[len(times) // 2], "search_ms_max": times[-1]}
    made = host_row if variant == "cpu_queue" else emulated_row if backend == "cpu" else result_row
    return made(times[0], graph=graph, variant=variant, knobs=knobs, **spread)


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    (tmp_path / "mine.toml").write_text(TEXT)
    (tmp_path / "numbers.toml").write_text(NUMBERS)
    return read_experiment(tmp_path / "mine.toml")


def outcome_of(experiment: Experiment, folder: Path, *rows: dict[str, Any]) -> Outcome:
    return read_outcome(experiment, [write(folder / "rows.csv", rows)], {})


def measured_rows() -> list[dict[str, Any]]:
    """Returns rows of every series that NUMBERS names."""
    return [
        row(LINE, "frontier_numbers", "0.25;0.3"),
        row(LINE, "cpu_queue", "0.75;0.8"),
        row(LINE, "virtual_warp", "0.5", "W_SZ=4"),
        row(LINE, "virtual_warp", "0.4", "W_SZ=16"),
    ]


def test_rows_of_other_graphs_and_variants_are_left_out(experiment: Experiment, tmp_path: Path) -> None:
    rows = [row(LINE, "frontier_numbers", "1"), row(LINE, "pull", "1"), row("wave:symmetrised", "pull", "1")]
    outcome = outcome_of(experiment, tmp_path, *rows)
    assert list(outcome.rows["variant"]) == ["frontier_numbers"]
    assert outcome.graphs == [LINE]
    assert outcome.title(LINE) == "line"


def test_a_stand_in_is_called_by_what_it_stands_for(experiment: Experiment, tmp_path: Path) -> None:
    name = "kronecker(scale=4,seed=1):shrink=0.5:stands_for=soc-Slashdot0811:symmetrised"
    outcome = outcome_of(experiment, tmp_path, row(name, "frontier_numbers", "1"))
    assert outcome.title(name) == "Slashdot (stand-in kronecker, shrunk to 0.5)"
    assert outcome.uses[name].title == "Slashdot"


def test_numbers_beside_the_paper_s_come_from_the_rows(experiment: Experiment, tmp_path: Path) -> None:
    outcome = outcome_of(experiment, tmp_path, *measured_rows())
    assert ours_for(outcome, LINE, "push", 1e3)[0] == 250
    assert ours_for(outcome, LINE, "cpu_queue / push")[0] == 3
    assert ours_for(outcome, LINE, "virtual_warp W_SZ") == (16, "auto x 256, W_SZ=16")
    assert ours_for(outcome, "wave:symmetrised", "push") == (None, "")


def test_series_select_by_variant_and_knobs(experiment: Experiment) -> None:
    rows = pd.DataFrame(
        {"variant": ["virtual_warp", "virtual_warp", "pull"], "knobs": ["W_SZ=4", "W_SZ=16", ""]}
    )
    assert len(series_called(experiment, "hong").select(rows)) == 2
    four = series_called(experiment, "virtual_warp W_SZ=4")
    assert list(four.select(rows)["knobs"]) == ["W_SZ=4"]
    every = Claim(text="", series="", versus=["others"])
    (others,) = rivals(experiment, four, every)
    assert list(others.select(rows)["knobs"]) == ["W_SZ=16"]
    assert four.select(rows.iloc[:0]).empty
    names = [series.title for series in every_series(experiment)]
    assert names == ["frontier_numbers", "cpu_queue", "virtual_warp"]
    against = rivals(experiment, series_called(experiment, "push"), every)
    assert [series.title for series in against] == ["virtual_warp"], "host programs are named, not meant"


def test_a_labelled_sweep_is_told_from_others_of_its_variant(tmp_path: Path) -> None:
    label = '[[sweeps]]\nlabel = "K3"\nvariants = ["bfs4k"]\npreset = "paper"\nknobs = { K3 = "8,16" }\n'
    text = TEXT.replace('printed = ["numbers"]', "")
    (tmp_path / "mine.toml").write_text(text.replace("[[drawings]]", f"{label}\n[[drawings]]"))
    experiment = read_experiment(tmp_path / "mine.toml")
    series = series_called(experiment, "K3")
    assert series.knobs["K3"] == {"8", "16"}
    assert series.knobs["K1"] == {"4"}
    narrowed = series_called(experiment, "K3 K3=8 K1=2")
    assert narrowed.knobs == {**series.knobs, "K3": {"8"}, "K1": {"2"}}


@pytest.mark.parametrize(
    ("ours", "theirs", "change", "verdict"),
    [
        ("1;1.1", "2;2.1", "", "reproduced"),
        ("2;2.1", "1;1.1", "", "not reproduced"),
        ("1;1.2;1.2", "1.1;1.1;1.3", "", "undecided"),
        ("1;1.1", "2;2.1", "by = 3", "not reproduced"),
        ("1;1.01", "2;2.1", "at_most = 1.5", "not reproduced"),
        ("1;1.01", "2;2.1", "by = 0.5\nat_most = 3", "reproduced"),
        ("1;1.1", "2;2.1", 'relation = "slower"', "not reproduced"),
        ("1;1.001", "1.06;1.061", "", "reproduced"),
        ("1.06;1.061", "1;1.001", "", "not reproduced"),
    ],
)
def test_a_claim_about_times_is_held_against_the_samples(
    tmp_path: Path, ours: str, theirs: str, change: str, verdict: str
) -> None:
    (tmp_path / "mine.toml").write_text(f"{TEXT}{change}\n")
    rows = (row(LINE, "frontier_numbers", ours), row(LINE, "cpu_queue", theirs))
    outcome = outcome_of(read_experiment(tmp_path / "mine.toml"), tmp_path, *rows)
    found = findings(outcome)
    assert verdict_of(found) == verdict
    assert f"push {float(ours.split(';')[0]):g} ms" in found[0].evidence
    factor = found[0].evidence.split(" ms: ")[1].partition(" ")[0]
    assert float(factor) >= 1, "told in the direction in which it is more than once"


@pytest.mark.parametrize(
    ("ours", "theirs", "change", "evidence"),
    [
        ("1;1", "1.04;1.04", "", "1.04 times faster, within 5 % of the claim's limit of 1"),
        ("1.04;1.04", "1;1", "", "1.04 times slower, within 5 % of the claim's limit of 1"),
        (
            *("1;1", "1.45;1.45", "by = 1.5"),
            "1.45 times faster (claim: at least 1.5 times faster), within 5 % of the claim's limit of 1.5",
        ),
        (
            *("1;1", "2.1;2.1", "by = 0.5\nat_most = 2"),
            "2.1 times faster (claim: 0.5 to 2 times faster), within 5 % of the claim's limit of 2",
        ),
    ],
)
def test_a_claim_is_undecided_if_a_run_s_noise_could_change_the_verdict(
    tmp_path: Path, ours: str, theirs: str, change: str, evidence: str
) -> None:
    (tmp_path / "mine.toml").write_text(f"{TEXT}{change}\n")
    rows = (row(LINE, "frontier_numbers", ours), row(LINE, "cpu_queue", theirs))
    (found,) = findings(outcome_of(read_experiment(tmp_path / "mine.toml"), tmp_path, *rows))
    assert found.verdict == "undecided"
    assert found.evidence.split(" ms: ")[1].partition(";")[0] == evidence


def test_claims_without_rows_or_with_emulated_ones_are_undecided(
    experiment: Experiment, tmp_path: Path
) -> None:
    slow = row(LINE, "cpu_queue", "9")
    (found,) = findings(outcome_of(experiment, tmp_path, slow))
    assert (found.verdict, found.evidence) == ("undecided", "time of push was not measured")
    emulated = row(LINE, "frontier_numbers", "1", backend="cpu")
    (found,) = findings(outcome_of(experiment, tmp_path, slow, emulated))
    assert found.verdict == "undecided"
    (found,) = findings(outcome_of(experiment, tmp_path, row("pmpp:directed", "cpu_queue", "1")))
    assert found.evidence == "no rows"


def test_the_paper_s_numbers_stand_beside_measured_ones_with_their_machine(
    experiment: Experiment, tmp_path: Path
) -> None:
    rows = measured_rows()
    text = render(tables(outcome_of(experiment, tmp_path, *rows)), "text")
    assert "812.5 | 250" in text
    assert "out-of-time | 400" in text
    assert "4 | 16" in text
    assert "3.0 | 3" in text
    assert "of A paper, Table 9 (an abacus)" in text
    assert re.search(r"virtual_warp +W_SZ +16 +0\.400 +best", text)
    emulated = [{**one, "backend": "cpu"} for one in rows if one["backend"] == "cuda"]
    text = render(tables(outcome_of(experiment, tmp_path, *emulated)), "text")
    assert "812.5" not in text


@pytest.mark.parametrize(
    ("value", "text"), [(0.012345, "0.0123"), (1.5, "1.5"), (12.345, "12.3"), (1234.5, "1,230"), (100, "100")]
)
def test_numbers_have_three_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


def test_the_quadratic_curve_crosses_where_its_steps_exceed_n_log_n() -> None:
    n = crossing(1000.0)
    assert n == pytest.approx(13_747, rel=0.01)
    assert crossing(1.0) == 2
