"""The TOML files of entries, their points in sweeps and in tuning, and the searches of shipped entries."""

from pathlib import Path

import pytest

from bfsbench.bench.plan import Axes, plan
from bfsbench.bench.tune import Space
from bfsbench.entries.declaration import read
from bfsbench.entries.find import SHIPPED, declarations_in, entry_variants
from bfsbench.entries.variant import variant_of
from bfsbench.graphs.load import load
from bfsbench.reports import tables
from bfsbench.reports.provenance import footnotes_of
from bfsbench.support.errors import InputError
from tests.entries.toy_entries import HEAD, entry_in, timed, write_entry
from tests.report.result_rows import failed_row, frame, row

GOOD = HEAD.format(name="mine") + '[call]\npython = "a:b"\n[clock]\nheld_by = "ours"\n'
KNOB = '[[knobs]]\nname = "K"\nmeaning = "m"\ndefault = 1\nchoices = [1, 2]'
LONGEST = 30


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "mine"', 'name = "My"', "`name`"),
        ('licence = "MIT"\n', "", "missing required field `licence`"),
        ('licence = "MIT"', 'licence = "MIT"\ncolour = "red"', "unknown field `colour`"),
        ('licence = "MIT"', 'licence = "MIT"\nwhere = "x"', "unknown field `where`"),
        ('python = "a:b"', "", "give one of command, library, python, not none"),
        ('python = "a:b"', 'python = "a:b"\ncommand = ["c"]', "not command and python"),
        ('python = "a:b"', 'library = "x.so"', "library and function go together"),
        ('python = "a:b"', 'python = "a"', "'module:function', not 'a'"),
        ('python = "a:b"', 'command = ["{grpah}"]', "no place {grpah}"),
        ('python = "a:b"', 'command = ["x"]\ntime = "("', "not a regular expression with one group: '('"),
        ('python = "a:b"', 'command = ["x", "{source}"]', "'theirs' for a command with {source}"),
        ('"ours"', '"theirs"', "bfsbench times functions"),
        ('python = "a:b"', 'python = "a:b"\nunit = "us"', "time and unit need a command"),
        ('python = "a:b"', 'python = "a:b"\ntime = "T ([0-9]+)"', "time and unit need a command"),
        ('"ours"', '"events"', "only Python functions over CuPy arrays"),
        ('"ours"', '"ours"\ncovers = ["all"]', "`clock.covers[0]`: choose from initialisation, transfers,"),
        ('"ours"', '"mine"', "`clock.held_by`: choose from events, theirs, ours"),
        ("[clock]", '[build]\nrepository = "r"\nmakes = ["m"]\n[clock]', "repository and commit go together"),
        ("[clock]", "[clock", "mine.toml"),
        ("[call]", f"{KNOB}\n[call]", "K is not used: write {K} in call.command or call.environment"),
        (
            "[clock]",
            '[call.environment]\nA = "{k}"\n[clock]',
            "environment has no place {k}: there are built,",
        ),
        ("[clock]", "[call.environment]\nA = 8\n[clock]", "Expected `str`, got `int` - at `call.environment"),
        ("[call]", f"{KNOB}\n[call]".replace('"K"', '"tile"'), "knobs[0].name"),
        ("[call]", f"{KNOB}\nchoises = [1]\n[call]", "unknown field `choises` - at `knobs[0]`"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        read(file)
    said = str(caught.value)
    assert message in said and str(file) in said and "\n" not in said


def test_other_files_and_broken_ones_hide_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BFSBENCH_ENTRIES", str(tmp_path / "none"))
    written(tmp_path, GOOD)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "broken.toml").write_text("[call")
    (tmp_path / "deep" / "other").mkdir(parents=True)
    (tmp_path / "deep" / "deep.toml").write_text(GOOD.replace("mine", "deep"))
    (tmp_path / "deep" / "other.toml").write_text(GOOD.replace("mine", "unseen"))
    problems: list[str] = []
    names = [one.name for one in entry_variants([tmp_path], problems)]
    assert names[-2:] == ["mine", "deep"] and "unseen" not in names
    assert len(problems) == 1 and "broken.toml" in problems[0]


def test_what_is_missing_is_said_with_the_command_that_gets_it(tmp_path: Path) -> None:
    def missing(text: str) -> str:
        return variant_of(entry_in(written(tmp_path, text))).missing()

    assert missing(GOOD) == ""
    packages = 'python = "a:b"\npackages = ["no-such-thing", "python-graphblas(no_such_module)", "numpy"]'
    said = missing(GOOD.replace('python = "a:b"', packages))
    assert "no-such-thing, python-graphblas are not installed: run '" in said
    assert said.endswith("-m pip install no-such-thing python-graphblas'")
    built = '[build]\nrun = ["true"]\nmakes = ["m"]\n[clock]'
    assert missing(GOOD.replace("[clock]", built)).endswith("run 'bfsbench entry build mine'")
    command = missing(GOOD.replace('python = "a:b"', 'command = ["{here}/gone"]'))
    assert command == f"entry mine: there is no {tmp_path}/gone"


@pytest.mark.parametrize("file", declarations_in(SHIPPED), ids=lambda file: file.stem)
def test_what_is_shipped(file: Path) -> None:
    assert entry_in(file).name == file.stem
    assert len(file.read_text().splitlines()) <= LONGEST


@pytest.mark.parametrize(("device", "backend"), [("cpu", "host"), ("gpu", "cuda")])
def test_one_point_a_source_without_grid_and_block(tmp_path: Path, device: str, backend: str) -> None:
    call = f'command = ["mine", "{{graph}}"]\ndevice = "{device}"'
    variant = variant_of(entry_in(write_entry(tmp_path, "mine", call, "theirs")))
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
    (note,) = footnotes_of(made[made["variant"] == "mine"])
    assert note == (
        "mine is a program by other authors (mine commit 0123456789ab, licence MIT). The times of mine "
        "come from the program's own clock, and include only the search, without initialisation, transfers "
        "and conversion. The preparation of mine was not measured. mine used up to 80.5 MiB on the host and "
        "up to 1,200 MiB on the GPU."
    )
    notes = {table.name: table.notes for table in tables(made)}
    assert note in notes["best"] and note not in notes["provenance"]
    keeps = failed_row("wrong", "it keeps answers: a search took 1 ms", variant="mine", graph="path:directed")
    slips = failed_row("wrong", "1 of 40 levels differ", variant="mine", graph="path:directed")
    assert footnotes_of(frame(tmp_path, [*mine, slips])) == [note]
    warned = frame(tmp_path, [*mine, keeps])
    doubt = (
        "Warning: the times of mine are doubtful. bfsbench refused its times on 1 of 2 graphs, such as "
        "path:directed: it keeps answers: a search took 1 ms."
    )
    assert footnotes_of(warned) == [doubt, note]
    assert doubt in {table.name: table.notes for table in tables(warned)}["best"]


GRAPH = "uniform(n=300,m=700,directed=1)"
"""This graph has loops, duplicate arcs, and vertices without arcs."""


@pytest.mark.parametrize("file", declarations_in(SHIPPED), ids=lambda file: file.stem)
def test_searches(file: Path) -> None:
    if reason := variant_of(entry_in(file)).missing():
        assert "is not installed: run" in reason or "are not installed: run" in reason
        pytest.skip(reason)
    graph = load(GRAPH)
    for source in (0, 150, 299):
        assert min(timed(file, graph, source).search_ms) > 0
