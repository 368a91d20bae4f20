"""Litmus tests: does the device ever show what PTX's memory model forbids, and can a test see it at all?

    python -m tests.benchmarks.litmus [--rounds N] [--backend cuda|cpu] [--out FILE]

Each hand-over of ``adaptive`` runs in small groups of blocks, ``--rounds`` rounds in total, and in groups as
a search has them until as many values have been looked at. Controls, with a rule left out, run a tenth of
that. A row each is printed and written; the exit code is 1 if a forbidden outcome was seen.
"""

import csv
import sys
from pathlib import Path

import click

from bfsbench.backends import open_device
from bfsbench.rows import provenance
from tests.benchmarks.litmus.patterns import AS_USED, Result, Trial, trials

_CONTROL_SHARE = 10
_HEADINGS = ("pattern", "order", "shape", "rounds", "looks", "forbidden", "outdated", "s")


def _shown(result: Result) -> tuple[str, ...]:
    trial, seen = result.trial, result.seen
    counts = (f"{result.rounds:,}", f"{seen['looks']:,}", f"{result.forbidden:,}", f"{seen['outdated']:,}")
    return (trial.pattern.name, trial.order, trial.shape.label, *counts, f"{result.seconds:.1f}")


def _row(result: Result, described: dict[str, str]) -> dict[str, object]:
    trial = result.trial
    return {
        "pattern": trial.pattern.name,
        "order": trial.order,
        "block": trial.shape.block,
        "group_blocks": trial.shape.group_blocks,
        "groups": trial.shape.groups,
        "rounds": result.rounds,
        **result.seen,
        "forbidden": result.forbidden,
        "seconds": f"{result.seconds:.3f}",
        **described,
    }


def _goal(trial: Trial, rounds: int) -> int:
    return rounds if trial.order == AS_USED else max(1, rounds // _CONTROL_SHARE)


@click.command(help=__doc__)
@click.option("--rounds", type=click.IntRange(1), default=10**9, show_default=True, help="Of each test.")
@click.option("--seconds", type=float, default=10.0, show_default=True, help="At most for each test.")
@click.option("--backend", type=click.Choice(["auto", "cuda", "cpu"]), default="auto", show_default=True)
@click.option("--seed", default=0, help="Of the schedule on the CPU.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="A CSV file of all counts.")
def main(rounds: int, seconds: float, backend: str, seed: int, out: Path | None) -> None:
    device = open_device(backend, seed)
    described = {**device.describe(), **provenance.host_columns(), "time": provenance.now()}
    rows, forbidden = [], 0
    print("  ".join(_HEADINGS))
    for trial in trials(device):
        result = trial.run(_goal(trial, rounds), seconds)
        rows.append(_row(result, described))
        print("  ".join(_shown(result)), flush=True)
        if trial.order == AS_USED:
            forbidden += result.forbidden
        elif result.forbidden == 0:
            print("    this control has seen nothing")
        if out:  # what there is, whatever happens to the rest
            with out.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
    print(f"forbidden outcomes, with all rules kept: {forbidden}")
    sys.exit(forbidden > 0)


main()
