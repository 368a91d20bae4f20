"""Litmus tests: whether a device ever shows what PTX's memory model forbids, and whether a test can see it.

    python -m tests.benchmarks.litmus [--rounds N] [--backend cuda|cpu] [--out FILE]

Each hand-over of ``adaptive`` runs in small groups of blocks for ``--rounds`` rounds in total. It also runs
in groups as large as a search has them, until it has looked at this number of values. Controls, which leave
out a rule, run a tenth of that. The script prints and writes a row for each of them. The exit code is 1 if a
test with all rules has seen a forbidden outcome.
"""

import csv
import sys
from dataclasses import asdict
from pathlib import Path

import click

from bfsbench.backends import open_device
from bfsbench.rows import provenance
from tests.benchmarks.litmus.patterns import AS_USED, Result, trials

_CONTROL_SHARE = 10


def _row(result: Result) -> dict[str, object]:
    trial = result.trial
    return {
        **{"pattern": trial.pattern.name, "order": trial.order, **asdict(trial.shape)},
        **{"rounds": result.rounds, **result.seen, "forbidden": result.forbidden},
        "seconds": f"{result.seconds:.3f}",
    }


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
    for trial in trials(device):
        goal = rounds if trial.order == AS_USED else max(1, rounds // _CONTROL_SHARE)
        result = trial.run(goal, seconds)
        rows.append(_row(result) | described)
        counts = f"{result.rounds:,} rounds, {result.seen['looks']:,} looks, {result.forbidden:,} forbidden"
        shown = f"{trial.pattern.name}  {trial.order}  {trial.shape.label}  {counts}"
        print(f"{shown}, {result.seen['outdated']:,} outdated, {result.seconds:.1f} s", flush=True)
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
