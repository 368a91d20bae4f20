"""The progress of a sweep on terminals of several widths."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from bfsbench.bench.runner import Measured
from bfsbench.cli.progress import SweepDisplay


@pytest.mark.parametrize(("width", "whole"), [(60, False), (80, False), (240, True)])
def test_the_count_is_never_cut_off_and_wide_terminals_are_used(width: int, whole: bool) -> None:
    file = io.StringIO()
    knobs = "W_FRONTIERS=8 B_FRONTIER_SIZE=0 BLOCK_LIMIT=0 RESIDENT_LIMIT=0"
    row = {"graph": "lattice(rows=60,columns=60,seed=1):symmetrised", "variant": "luo", "grid": "auto"}
    row |= {"block": "256", "knobs": knobs, "status": "ok", "reason": "", "search_ms": "1.5"}
    with SweepDisplay(None, Console(file=file, width=width, force_terminal=True)) as display:
        display.begin(None, 1228)
        for _ in range(3):
            display.done(Measured(row))
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    (line,) = {line for line in re.split(r"[\r\n]", shown) if " 3/1228 " in line}
    assert len(line) == width
    assert "1.500 ms" in line or width == 60
    assert (knobs in line) == whole
