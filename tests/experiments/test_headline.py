"""``bfsbench reproduce headline``: README's claims measured again, on graphs that need no download."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfsbench.experiments import find
from bfsbench.experiments.claims import findings
from bfsbench.experiments.outcome import read_outcome
from bfsbench.experiments.series import GROUPS, Series, every_series, series_called
from bfsbench.experiments.sweeps import choose, works_of
from bfsbench.rows.results import read_rows
from bfsbench.variants import all_variants, find as find_variant
from tests.commands import bfsbench
from tests.report.result_rows import row, write

WORDS = (
    *("reproduce", "headline", "--scale", "0.001", "--graph", "lattice-500"),
    *("--backend", "cpu", "--repeats", "1", "--out", "out"),
)


def test_the_headline_is_measured_on_the_cpu_and_ends_with_a_verdict_per_claim(tmp_path: Path) -> None:
    done = bfsbench(*WORDS, "--variant", "virtual_warp,cpu_parallel", "--tune", "1", cwd=tmp_path)
    rows = read_rows(tmp_path / "out" / "headline.csv")
    assert {row["status"] for row in rows} == {"ok"}
    for name in ("virtual_warp", "cpu_parallel"):
        assert len({row["source"] for row in rows if row["variant"] == name}) == 8
    settings = {(row["block"], row["knobs"]) for row in rows if row["variant"] == "virtual_warp"}
    assert len(settings) >= 2, "its defaults and the best block that tuning found"
    page = (tmp_path / "out" / "headline.md").read_text()
    verdicts = page.rpartition("## Verdicts")[2]
    claims = find("headline").claims
    assert all(verdicts.count(f"| {claim.text} ") == 1 for claim in claims) and len(claims) >= 4
    assert "Times of emulated kernels decide nothing." in verdicts and " | reproduced" not in verdicts
    assert "Verdicts" in done.stdout and "not measured" in page


@pytest.mark.exhaustive
def test_a_headline_that_runs_out_of_time_keeps_its_rows_and_is_resumed(tmp_path: Path) -> None:
    words = (*WORDS, "--tune", "0", "--variant", "cpu_parallel")
    stopped = bfsbench(*words, "--minutes", "0.000001", cwd=tmp_path, check=124)
    assert "the time is over with 8 points left: continue with --resume --out out\n" in stopped.stderr
    assert not (tmp_path / "out" / "headline.csv").exists() and "Verdicts" in stopped.stdout
    bfsbench(*words, "--minutes", "9", "--resume", cwd=tmp_path)
    assert len(read_rows(tmp_path / "out" / "headline.csv")) == 8


def test_an_unknown_search_is_told(tmp_path: Path) -> None:
    refused = bfsbench("reproduce", "headline", "--variant", "spmvv", cwd=tmp_path, check=2)
    assert "unknown variant 'spmvv'" in refused.stderr
    refused = bfsbench("reproduce", "headline", "--variant", "cpu_queue", cwd=tmp_path, check=2)
    assert "experiment headline has no search 'cpu_queue'" in refused.stderr


def test_the_headline_needs_no_download_and_has_every_search_at_its_defaults_and_tuned() -> None:
    experiment = find("headline")
    choices, missing = choose(experiment.graphs)
    assert not missing and experiment.sources == 8
    plain, *_, tuned = works_of(experiment, choices)
    papers = {"merrill", "bfs4k", "luo", "simple", "push", "direction_optimized", "linear_work"}
    names = {variant.name for variant in plain.variants}
    assert {"adaptive", "resident_parts", "cpu_parallel", "scipy"} <= names
    called = {series.variant for series in every_series(experiment)}
    assert {series_called(experiment, name).variant for name in papers} <= called
    assert {variant.name for variant in tuned.variants} >= {"adaptive", "resident_parts", "merrill", "bfs4k"}


@pytest.mark.parametrize(("slower", "verdict"), [(2.0, "reproduced"), (0.5, "not reproduced")])
def test_adaptive_at_its_defaults_is_held_against_programs_of_others(
    tmp_path: Path, slower: float, verdict: str
) -> None:
    experiment = find("headline")
    knobs = " ".join(f"{knob.name}={knob.default}" for knob in find_variant("adaptive").knobs)
    graph = {"graph": "kronecker(scale=16,seed=2):self_loops=drop:duplicates=drop:symmetrised"}
    made = [row(1.0, variant="adaptive", knobs=knobs, **graph)]
    made += [row(0.1, variant="adaptive", knobs=knobs.replace("TREE=0", "TREE=1"), **graph)]
    others = ["somebodys", *(one.variant for one in every_series(experiment) if is_entry(one))]
    made += [row(slower, variant=name, program=f"{name} 1.0", **graph) for name in others]
    found = findings(read_outcome(experiment, [write(tmp_path / "rows.csv", made)], {}))
    (of_others,) = (one for one in found if "of others" in one.claim.text and one.graph == "kronecker-16")
    assert of_others.verdict == verdict, of_others.evidence
    assert "adaptive 1 ms" in of_others.evidence, "not the time of another setting"


def is_entry(series: Series) -> bool:
    return GROUPS["entries"](all_variants()[series.variant])
