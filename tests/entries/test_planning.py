"""Entries in sweeps and in tuning: one point a source, on the device that they declare."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfsbench.bench.plan import Axes, plan
from bfsbench.bench.tune import Space
from bfsbench.entries.declaration import read
from bfsbench.entries.variant import EntryVariant, variant_of
from bfsbench.report import tables
from bfsbench.report.footnotes import footnotes
from tests.entries.toy_entries import HEAD
from tests.report.result_rows import frame, row


def entry(folder: Path, device: str) -> type[EntryVariant]:
    file = folder / "mine.toml"
    call = f'[call]\ncommand = ["mine", "{{graph}}"]\ndevice = "{device}"\n[clock]\nheld_by = "theirs"\n'
    file.write_text(HEAD.format(name="mine") + call)
    found = read(file)
    assert found is not None
    return variant_of(found)


@pytest.mark.parametrize(("device", "backend"), [("cpu", "host"), ("gpu", "cuda")])
def test_one_point_a_source_without_grid_and_block(tmp_path: Path, device: str, backend: str) -> None:
    variant = entry(tmp_path, device)
    axes = Axes([variant], [None, 64], [128, 256])
    points = plan(axes, {"path(n=4)": [0, 3]}, {}, "cuda")
    assert [point.source for point in points] == [0, 3]
    told = points[0].axes()
    assert (told["backend"], told["grid"], told["block"], told["knobs"]) == (backend, "", "", "")
    space = Space.of(Axes([variant], [None], [None]), "path(n=4)", {}, "cuda")
    assert (space.size, space.backend, space.axes) == (1, backend, ())


def test_notes_on_entries_stand_below_tables_that_name_them(tmp_path: Path) -> None:
    facts = {
        "program": "mine commit 0123456789ab (MIT)",
        "clock": "theirs",
        "covers": "initialisation=no transfers=no conversion=no",
        "host_mib": 80.5,
        "device_mib": 1200.0,
    }
    mine = [
        row(variant="mine", grid="", block="", source=source, preprocess_ms=ms, **facts)
        for source, ms in ((0, 3.25), (1, 1500.0))
    ]
    made = frame(tmp_path, [*mine, row(variant="push", source=0)])
    (note,) = footnotes(made[made["variant"] == "mine"].to_dict("records"))
    assert note == (
        "mine, another's program: mine commit 0123456789ab (MIT), timed by its own clock, nothing beside the "
        "search included, initialisation and transfers and conversion not; preparation 3.25 to 1,500 ms; "
        "memory on the host up to 80.5 MiB; on the GPU up to 1,200 MiB."
    )
    notes = {table.name: table.notes for table in tables(made)}
    assert note in notes["best"] and note not in notes["provenance"]
