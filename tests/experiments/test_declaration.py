"""Experiment files: what is accepted, and the messages about mistakes."""

from decimal import Decimal
from pathlib import Path

import pytest

from bfsbench.bench.plan import check_axes
from bfsbench.experiments import bundled, find
from bfsbench.experiments.declaration import read_experiment
from bfsbench.experiments.drawings import Curve
from bfsbench.experiments.printed import Printed, number, printed_tables, read_printed
from bfsbench.experiments.series import rivals, series_called
from bfsbench.experiments.sweeps import axes_of
from bfsbench.graphs.load import load, resolve
from bfsbench.graphs.statistics import describe
from bfsbench.support.errors import UsageError

GOOD = """
title = "t"
paper = "p"

[[graphs]]
name = "path(n=4)"
label = "line"

[[sweeps]]
variants = ["push"]

[[drawings]]
kind = "curve"
x = "given"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_a_file_of_the_user_s_is_read(tmp_path: Path) -> None:
    experiment = read_experiment(written(tmp_path, GOOD))
    assert experiment.name == "mine"
    assert experiment.graph("line").name == "path(n=4)"
    (drawing,) = experiment.drawings
    assert isinstance(drawing, Curve)
    assert drawing.x == "given"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "t"', 'titel = "t"', "unknown field `titel`"),
        ('paper = "p"', "", "missing required field `paper`"),
        ('paper = "p"', 'paper = "p"\nfamily = "sort"', "`family` 'sort' is not one of bfs, apsp"),
        ('kind = "curve"', 'kind = "cake"', "Invalid value 'cake' - at `drawings[0].kind`"),
        ('kind = "curve"', 'kind = ""', "Invalid value '' - at `drawings[0].kind`"),
        ('title = "t"', "title = 3", "Expected `str`, got `int` - at `title`"),
        ('title = "t"', 'title = "t"\nname = "x"', "unknown key `name`"),
        ('label = "line"', 'lable = "line"', "unknown field `lable`"),
        ('variants = ["push"]', 'variants = ["push"]\ngrids = "1"', "unknown field `grids`"),
        ('variants = ["push"]', 'variants = ["push"]\ngraphs = ["road"]', "graph 'road', which is not in"),
        ('variants = ["push"]', 'variants = ["push"]\npreset = "best"', "preset 'best' is not one of"),
        ('variants = ["push"]', 'variants = ["push", "pull"]\nlabel = "l"', "'l' has a label and not one"),
        ('kind = "curve"', 'kind = "pie"', "Invalid value 'pie'"),
        ('x = "given"', "knobs = []", "unknown field `knobs`"),
        ('kind = "curve"', "kind = curve", "Invalid value (at line"),
    ],
)
def test_mistakes_are_named_with_file_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(UsageError) as caught:
        read_experiment(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        ('[[sweeps]]\nvariants = ["pusj"]', "unknown variant 'pusj'"),
        ('[[claims]]\ntext = "c"\nseries = "hong W=4"\nversus = ["push"]', "virtual_warp has no knob W"),
        ('[[drawings]]\nkind = "bars"\nseries = ["push pull"]', "'push pull' is not a series"),
        ('[[claims]]\ntext = "c"\nseries = ""\nversus = ["push"]', "'' is not a series"),
        ('[[drawings]]\nkind = "bars"\nseries = [" "]', "' ' is not a series"),
    ],
)
def test_what_a_file_names_is_looked_up_before_anything_is_measured(
    tmp_path: Path, addition: str, message: str
) -> None:
    path = written(tmp_path, f"{GOOD}\n{addition}\n")
    with pytest.raises(UsageError) as caught:
        find(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_printed_tables_are_looked_for_beside_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace('paper = "p"', 'paper = "p"\nprinted = ["numbers"]'))
    with pytest.raises(UsageError, match=r"mine\.toml: `printed` names 'numbers': there is no"):
        find(str(path))
    text = 'paper = "p"\nplace = "1"\nmachine = "m"\nquantity = "time"\nunit = "ms"\n'
    (tmp_path / "numbers.toml").write_text(f'{text}columns = ["push"]\n[rows]\nline = [1.50]\n')
    (printed,) = printed_tables(find(str(path)))
    assert printed.value("line", "push") == "1.50"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none\.toml"):
        find(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_experiment_names_only_what_exists(name: str) -> None:
    experiment = find(name)
    assert experiment.title and experiment.paper and experiment.figure
    for use in experiment.graphs:
        for text in (use.name, *use.stand_ins):
            assert resolve(text).full_name
    for sweep in experiment.sweeps:
        check_axes(axes_of(experiment, sweep), None)
    for claim in experiment.claims:
        assert rivals(experiment, series_called(experiment, claim.series), claim)


@pytest.mark.parametrize("name", bundled())
def test_printed_numbers_belong_to_the_graphs_and_series_of_the_experiment(name: str) -> None:
    experiment = find(name)
    for printed in printed_tables(experiment):
        if printed.quantity == "time":
            series = {part for column in printed.columns for part in column.split(" / ")}
            for text in series:
                assert series_called(experiment, text.removesuffix(" W_SZ"))
        if printed.quantity in ("time", "statistics"):
            assert set(printed.rows) <= {use.title for use in experiment.graphs}
        if printed.quantity == "statistics":
            assert set(printed.columns) <= set(describe(load("pmpp")))


def printed_in(name: str) -> Printed:
    (printed,) = printed_tables(find(name))
    return printed


SPOT = [
    ("luo-table1", "10M", "frontier", "11019.8"),
    ("luo-table1", "9M", "cpu_queue / luo", "9.8"),
    ("luo-table2", "USA-West", "luo", "236.6"),
    ("luo-table3", "1M", "luo", "100.7"),
    ("bfs4k-table1", "kron_g500-lon20", "degree_max", "413378"),
    ("bfs4k-table1", "Gen-ForestFire", "degree_std", "38.3"),
    ("bfs4k-table2", "europa.osm", "edge_frontier_numbers", "78422.0"),
    ("bfs4k-table2", "kron_g500-lon20", "virtual_warp W_SZ", "32"),
    ("bfs4k-table2", "nlpkt160", "merrill", "80.4"),
    ("bfs4k-table2", "rmat.2Mv.128Me", "bfs4k", "43.4"),
    ("bfs4k-fig13", "missed", "hash64", "21432"),
    ("springer-fig6", "WikiTalk", "degree_std", "99.915"),
    ("cse6230-bfs-size", "40960", "linear_work", "574792"),
    ("cse6230-bfs-density", "60", "edge_frontier_numbers", "195936"),
    ("cse6230-bfs-degree", "100", "cpu_queue", "213684"),
]


@pytest.mark.parametrize(("table", "row", "column", "value"), SPOT)
def test_printed_numbers_are_the_paper_s(table: str, row: str, column: str, value: str) -> None:
    assert str(printed_in(table).value(row, column)) == value


def test_the_printed_speed_ups_follow_from_the_printed_times() -> None:
    for name in ("luo-table1", "luo-table2"):
        printed = printed_in(name)
        for row in printed.rows:
            slow, fast = (Decimal(str(printed.value(row, column))) for column in ("cpu_queue", "luo"))
            assert abs(slow / fast - Decimal(str(printed.value(row, "cpu_queue / luo")))) <= Decimal("0.06")


def test_bfs4k_is_the_fastest_of_its_table_as_the_paper_says() -> None:
    printed = printed_in("bfs4k-table2")
    for row in printed.rows:
        others = [c for c in printed.columns if c not in ("bfs4k", "virtual_warp W_SZ")]
        times = [time for column in others if (time := number(printed.value(row, column))) is not None]
        best = number(printed.value(row, "bfs4k"))
        assert best is not None
        assert best < min(times), row


def test_printed_tables_of_wrong_shape_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    head = 'paper = "p"\nplace = "1"\nmachine = "m"\nquantity = "time"\nunit = "ms"\ncolumns = ["push"]\n'
    path.write_text(f"{head}[rows]\na = [1.0, 2.0]\n")
    with pytest.raises(UsageError, match="row 'a' has 2 values for 1 columns"):
        read_printed(path)
    path.write_text(f"{head}units = 3\n[rows]\na = [1.0]\n")
    with pytest.raises(UsageError, match="unknown field `units`"):
        read_printed(path)
