"""Pictures of experiments: which there are, and that they are made from the rows."""

from itertools import product
from pathlib import Path

import pytest

from bfsbench.experiments.declaration import read_experiment
from bfsbench.experiments.outcome import Outcome, read_outcome
from bfsbench.experiments.tables import pictures, write_pictures
from bfsbench.graphs.load import load
from tests.experiments.test_outcome import LINE, outcome_of, row
from tests.parameters import some

HEAD = """
title = "t"
paper = "p"

[[graphs]]
name = "path(n=4)"
label = "line"
x = 3

[[graphs]]
name = "path(n=5)"
label = "line 5"
x = 4

[[sweeps]]
variants = ["push", "pull", "cpu_queue"]
grid = "8,16"
block = "32,64"

[[drawings]]
"""


def drawn(folder: Path, drawing: str, *, measured: bool = True) -> Outcome:
    (folder / "mine.toml").write_text(HEAD + drawing)
    if not measured:
        return read_outcome(read_experiment(folder / "mine.toml"), [], {})
    rows = [
        row(graph, variant, time) | {"grid": grid, "block": block, "source": "0"}
        for graph, time in ((LINE, "1;1.2"), ("path(n=5):symmetrised", "2;2.1"))
        for variant in ("frontier_numbers", "pull", "cpu_queue")
        for grid, block in ([*product(("8", "16"), ("32", "64"))] if variant != "cpu_queue" else [("", "")])
    ]
    return outcome_of(read_experiment(folder / "mine.toml"), folder, *rows)


@pytest.mark.parametrize(
    "drawing",
    some(
        [
            'kind = "bars"',
            'kind = "heatmap"',
            'kind = "spread"',
            'kind = "speedup"\nseries = ["push"]',
            'kind = "ablation"\nseries = ["push"]\nreferences = ["pull"]',
            'kind = "curve"\nx = "given"\nx_label = "length"',
            'kind = "growth"',
        ],
        'kind = "bars"',
        'kind = "heatmap"',
        'kind = "growth"',
    ),
)
def test_a_drawing_becomes_a_picture(tmp_path: Path, drawing: str) -> None:
    paths = write_pictures(drawn(tmp_path, drawing), tmp_path / "out")
    kinds = {path.suffix for path in paths}
    assert kinds == {".png", ".svg"}
    assert all(path.name.startswith("mine-") and path.stat().st_size > 1000 for path in paths)


@pytest.mark.parametrize("kind", ["bars", "profile", "growth"])
def test_no_rows_no_picture(tmp_path: Path, kind: str) -> None:
    assert list(pictures(drawn(tmp_path, f'kind = "{kind}"', measured=False))) == []


def test_no_rows_of_the_drawn_series_no_picture(tmp_path: Path) -> None:
    assert list(pictures(drawn(tmp_path, 'kind = "curve"\nx = "given"\nseries = ["luo"]'))) == []


def test_drawings_of_one_kind_do_not_overwrite_each_other(tmp_path: Path) -> None:
    twice = 'kind = "bars"\n\n[[drawings]]\nkind = "bars"\nseries = ["pull"]\ntitle = "other"'
    paths = write_pictures(drawn(tmp_path, twice), tmp_path)
    assert len(paths) == len(set(paths)) == 4


def test_the_maze_is_drawn_from_its_graph(tmp_path: Path) -> None:
    name = "maze(rows=12,columns=9,seed=4)"
    text = f'title = "t"\npaper = "p"\n\n[[graphs]]\nname = "{name}"\n\n[[drawings]]\nkind = "maze"\n'
    (tmp_path / "mine.toml").write_text(text)
    graph = load(name)
    outcome = read_outcome(read_experiment(tmp_path / "mine.toml"), [], {graph.full_name: graph})
    (picture,) = pictures(outcome)
    assert "steps" in picture.title or "no route" in picture.title
