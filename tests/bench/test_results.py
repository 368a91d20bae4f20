"""Test result files after a killed writer, when a sweep resumes, and when readers find errors."""

import os
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from bfsbench.rows.columns import ADDED, COLUMNS
from bfsbench.rows.results import ResultWriter, read_results, read_rows
from bfsbench.support.errors import InputError, UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "r.csv"


def make_row(**values: str) -> dict[str, str]:
    return dict.fromkeys(COLUMNS, "") | {
        **{"graph": "g:directed", "family": "bfs", "status": "ok", "search_ms": "1.5"},
        **values,
    }


def write(path: Path, *rows: dict[str, str], resume: bool = False) -> None:
    with closing(ResultWriter(path, resume=resume)) as writer:
        for row in rows:
            writer.append(row)


def test_rows_come_back_as_written(tmp_path: Path) -> None:
    row = make_row(reason='a "quoted", comma\tand umlaut ü')
    write(tmp_path / "new" / "r.csv", row)
    assert read_rows(tmp_path / "new" / "r.csv") == [row]


def test_an_existing_file_needs_resume(path: Path) -> None:
    write(path, make_row())
    with pytest.raises(UsageError, match="add resume"):
        ResultWriter(path, resume=False)
    write(path, make_row(graph="second"), resume=True)
    assert [row["graph"] for row in read_rows(path)] == ["g:directed", "second"]


def test_a_file_without_rows_is_as_good_as_none(path: Path) -> None:
    write(path)
    write(path, make_row())
    assert len(read_rows(path)) == 1


def test_an_interrupt_while_the_first_row_is_written_keeps_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_file: int) -> None:
        raise KeyboardInterrupt

    with closing(ResultWriter(path, resume=False)) as writer:
        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            writer.append(make_row())
    assert len(read_rows(path)) == 1


@given(cut=st.integers(min_value=1, max_value=400))
def test_resuming_after_a_kill_at_any_byte_keeps_only_whole_rows(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "r.csv"
    rows = [make_row(source=str(i), reason="x" * 50) for i in range(4)]
    write(path, *rows)
    data = path.read_bytes()
    path.write_bytes(data[: max(0, len(data) - cut)])
    write(path, make_row(source="new"), resume=True)
    kept = read_rows(path)
    assert kept[-1]["source"] == "new"
    assert kept[:-1] == rows[: len(kept) - 1]
    assert len(kept) - 1 == data[: len(data) - cut].count(b"\n") - 1


def test_two_runs_cannot_write_one_file(tmp_path: Path) -> None:
    another = pytest.raises(UsageError, match="another run")
    with closing(ResultWriter(tmp_path / "r.csv", resume=False)), another:
        ResultWriter(tmp_path / "r.csv", resume=True)


def drop_failed(path: Path) -> None:
    """Drop the failed rows of a file, as ``--retry-failed`` does before a sweep, and append a row."""
    with closing(ResultWriter(path, resume=True)) as writer:
        writer.keep_only(lambda row: row["status"] == "ok")
        writer.append(make_row(graph="again"))


def test_dropping_rows_keeps_links_and_modes(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path, link = tmp_path / "real" / "rows.csv", tmp_path / "r.csv"
    write(path, make_row(), make_row(graph="failed", status="crash"))
    path.chmod(0o640)
    link.symlink_to("real/rows.csv")
    drop_failed(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o7777 == 0o640
    assert [row["graph"] for row in read_rows(path)] == ["g:directed", "again"]
    assert sorted(file.name for file in tmp_path.rglob("*.*")) == ["r.csv", "rows.csv"]


def test_a_file_of_two_names_is_not_rewritten_under_one(tmp_path: Path) -> None:
    path, second = tmp_path / "r.csv", tmp_path / "second.csv"
    write(path, make_row(), make_row(graph="failed", status="crash"))
    second.hardlink_to(path)
    with pytest.raises(UsageError, match=r"cannot rewrite .*r\.csv: it has 2 names"):
        drop_failed(path)
    assert path.samefile(second) and len(read_rows(path)) == 2


def test_no_other_run_comes_between_while_rows_are_dropped(path: Path) -> None:
    write(path, make_row(), make_row(graph="failed", status="crash"))
    writer = ResultWriter(path, resume=True)
    replace = Path.replace
    attempts = []

    def replace_and_try(part: Path, target: Path) -> Path:
        done = replace(part, target)
        with pytest.raises(UsageError, match="being written by another run"):
            ResultWriter(path, resume=True)
        attempts.append(target)
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", replace_and_try)
        writer.keep_only(lambda row: row["status"] == "ok")
    assert attempts == [path]
    with pytest.raises(UsageError, match="being written by another run"):
        ResultWriter(path, resume=True)
    writer.append(make_row(graph="again"))
    writer.close()
    assert [row["graph"] for row in read_rows(path)] == ["g:directed", "again"]


def test_rows_go_where_the_name_is_when_another_run_replaces_the_file(path: Path) -> None:
    """Another run replaces the file between opening and locking. Rows in the old file would be lost."""
    import filelock

    write(path, make_row(), make_row(graph="failed", status="crash"))
    take = filelock.lock_descriptor
    others = [drop_failed]

    def drop_and_take(file: int, *, blocking: bool = True) -> bool:
        patch.undo()
        if others:
            others.pop()(path)
        return take(file, blocking=blocking)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filelock, "lock_descriptor", drop_and_take)
        write(path, make_row(graph="mine"), resume=True)
    assert [row["graph"] for row in read_rows(path)] == ["g:directed", "again", "mine"]


def test_what_a_killed_rewriting_left_is_removed(tmp_path: Path) -> None:
    write(tmp_path / "r.csv", make_row())
    (tmp_path / ".r.csv.0123abcd.part").write_text("half")
    (tmp_path / ".r.csv.mine").write_text("mine")
    write(tmp_path / "r.csv", make_row(), resume=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == [".r.csv.mine", "r.csv"]


def test_a_file_with_a_byte_order_mark_is_continued(path: Path) -> None:
    write(path, make_row(source="5"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + b"killed he")
    write(path, make_row(source="7"), resume=True)
    assert [row["source"] for row in read_rows(path)] == ["5", "7"]


@pytest.mark.parametrize("resume", [False, True])
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, resume: bool) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("a,b\n1,2\nno newline at the end")
    with pytest.raises(InputError, match="not a result file"):
        ResultWriter(path, resume=resume)
    assert path.read_text() == "a,b\n1,2\nno newline at the end"


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("first", [",".join(COLUMNS), "\n", "\ufeff", ",".join(COLUMNS) + "\r"])
def test_rows_are_appended_to_whole_headers_only(tmp_path: Path, first: str, resume: bool) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(first, newline="")
    with pytest.raises(InputError, match="its first line is not a complete header"):
        ResultWriter(path, resume=resume)
    assert path.read_bytes() == first.encode()


def test_unwritable_places_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        ResultWriter(tmp_path / "file" / "r.csv", resume=False)
    with pytest.raises(UsageError, match="cannot write"):
        ResultWriter(tmp_path, resume=False)


def test_a_full_disk_leaves_no_half_row(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(ResultWriter(path, resume=False)) as writer:
        writer.append(make_row())
        real = os.write
        monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:10]))
        with pytest.raises(UsageError, match=r"cannot write.*No space left.*free .* resume"):
            writer.append(make_row(source="lost"))
        monkeypatch.undo()
    assert read_rows(path) == [make_row()]


def test_reading_checks_columns_and_numbers(tmp_path: Path, path: Path) -> None:
    write(path, make_row(search_ms="fast"))
    with pytest.raises(InputError, match="search_ms is not numeric"):
        read_results([path])
    path.write_text(",".join(COLUMNS) + "\n1,2\n")
    with pytest.raises(InputError, match=r"r\.csv:2: expected"):
        read_rows(path)
    with pytest.raises(InputError, match="cannot read"):
        read_rows(tmp_path / "none.csv")


def test_level_profiles_are_told_from_results(tmp_path: Path) -> None:
    write(tmp_path / "r.csv", make_row())
    (tmp_path / "r.levels.csv").write_text("graph,level\n")
    assert len(read_results([tmp_path])) == 1
    with pytest.raises(InputError, match=r"r\.levels\.csv holds level profiles"):
        read_results([tmp_path / "r.csv", tmp_path / "r.levels.csv"])


def test_numbers_are_numbers_and_gaps_are_nan(tmp_path: Path) -> None:
    write(tmp_path / "r.csv", make_row(), make_row(status="timeout", search_ms=""))
    frame = read_results([tmp_path / "r.csv"])
    assert frame["search_ms"].tolist()[0] == 1.5
    assert frame["search_ms"].isna().tolist() == [False, True]
    assert frame["status"].tolist() == ["ok", "timeout"]


def write_old(path: Path, *rows: dict[str, str], unfinished: str = "") -> None:
    """Write a result file that lacks the columns in ADDED."""
    names = [name for name in COLUMNS if name not in ADDED]
    lines = [",".join(names), *(",".join(row[name] for name in names) for row in rows)]
    path.write_text("\n".join(lines) + "\n" + unfinished)


def test_files_from_before_a_column_was_added_are_read(tmp_path: Path) -> None:
    write_old(tmp_path / "old.csv", make_row())
    write(tmp_path / "new.csv", make_row(parents_ms="2"))
    assert read_rows(tmp_path / "old.csv") == [make_row()]
    frame = read_results([tmp_path])
    assert frame.set_index("search_ms")["parents_ms"].isna().tolist() == [False, True]


def test_files_from_before_a_column_was_added_are_continued(tmp_path: Path) -> None:
    write_old(tmp_path / "r.csv", make_row(), unfinished="half,a,ro")
    write(tmp_path / "r.csv", make_row(parents_ms="2"), resume=True)
    assert read_rows(tmp_path / "r.csv") == [make_row(), make_row(parents_ms="2")]
    assert (tmp_path / "r.csv").read_text().startswith(",".join(COLUMNS) + "\n")


def test_a_row_as_long_as_the_header_of_its_own_file(path: Path) -> None:
    write_old(path, unfinished=",".join("1" for _ in COLUMNS) + "\n")
    with pytest.raises(
        InputError,
        match=f"expected {len(COLUMNS) - len(set(ADDED) & set(COLUMNS))} columns, found {len(COLUMNS)}",
    ):
        read_rows(path)


def test_rows_that_are_there_are_read_when_they_are_asked_for(path: Path) -> None:
    rows = [make_row(source=str(i), reason=f'"{i}", ü', host=f"node{i}") for i in range(5)]
    write(path, *rows)
    with closing(ResultWriter(path, resume=True)) as writer:
        writer.append(make_row(source="new"))
        assert len(writer.rows) == 5
        assert [dict(row) for row in writer.rows] == rows
        writer.keep_only(lambda row: row["source"] in "135")
        assert [row["host"] for row in writer.rows] == ["node1", "node3"]


def test_rows_keep_their_bytes_when_others_are_dropped(path: Path) -> None:
    write(path, make_row(), make_row(status="crash"), make_row(graph="third"))
    lines = path.read_bytes().replace(b"g:directed", b'"g:directed"').splitlines(keepends=True)
    path.write_bytes(b"".join(lines))
    with closing(ResultWriter(path, resume=True)) as writer:
        writer.keep_only(lambda row: row["status"] == "ok")
    assert path.read_bytes() == b"".join([lines[0], lines[1], lines[3]])


def test_a_row_of_several_lines_is_not_torn(path: Path) -> None:
    write(path, make_row(reason="two\nlines"), make_row(status="crash"))
    before = path.read_bytes()
    refused = pytest.raises(InputError, match="rows of several lines")
    with closing(ResultWriter(path, resume=True)) as writer, refused:
        writer.keep_only(lambda row: row["status"] == "ok")
    assert path.read_bytes() == before


@pytest.mark.parametrize("complete", [True, False])
def test_the_parser_and_the_strict_reader_agree(path: Path, complete: bool) -> None:
    """The strict reader reads rows whose last column is empty. Its table equals the fast parser's table."""
    rows = [
        make_row(taken_at="now" if complete else "", block=block, grid="132", compute_capability="9.0")
        for block in ("32", "", "064")
    ]
    write(path, *rows)
    frame = read_results([path])
    assert frame["grid"].tolist() == ["132"] * 3
    assert frame["compute_capability"].tolist() == ["9.0"] * 3
    assert frame["block"].fillna(-1).tolist() == [32, -1, 64]
    assert [*frame.columns] == [*COLUMNS, "file"]


@pytest.mark.parametrize("ragged", ["too,long" + "," * len(COLUMNS), "too,short"])
@pytest.mark.parametrize("place", [1, 2])
def test_ragged_rows_are_named_wherever_they_stand(path: Path, ragged: str, place: int) -> None:
    write(path, make_row(taken_at="now"))
    lines = path.read_text().splitlines()
    lines.insert(place, ragged)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=rf"r\.csv:{place + 1}: expected {len(COLUMNS)} columns"):
        read_results([path])
    with pytest.raises(InputError, match=rf"r\.csv:{place + 1}: expected"):
        ResultWriter(path, resume=True)


def test_rows_that_were_appended_stay_when_others_are_dropped(path: Path) -> None:
    """Rows that were read before the file was rewritten stay readable."""
    write(path, *(make_row(source=str(i), host=f"node{i}") for i in range(4)))
    with closing(ResultWriter(path, resume=True)) as writer:
        known = list(writer.rows)
        writer.append(make_row(source="new"))
        writer.read_again()
        writer.keep_only(lambda row: row["source"] in ("0", "2", "new"))
        writer.append(make_row(source="newer"))
    assert [row["source"] for row in read_rows(path)] == ["0", "2", "new", "newer"]
    assert [row["host"] for row in known] == ["node0", "node1", "node2", "node3"]
