"""Tests atomic files, links, modes of files, and locks."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.support import storage
from bfsbench.support.errors import UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, path: Path) -> None:
    storage.write(path, b"old")
    with pytest.raises(ZeroDivisionError), storage.replacing(path) as file:
        file.write(b"half")
        file.flush()
        assert path.read_bytes() == b"old"
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    storage.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_modes_stay(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path, link, other = tmp_path / "real" / "file", tmp_path / "link", tmp_path / "link to link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to("real/file")
    other.symlink_to(link)
    with storage.output(other) as file:
        file.write("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o7777 == 0o640
    assert link.is_symlink() and other.is_symlink()


def test_a_new_file_has_the_mode_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    storage.write(tmp_path / "file", b"")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        with storage.output(pipe) as file:
            file.write("text")
        assert reader.communicate(timeout=10)[0] == b"text"
    assert pipe.is_fifo()


def test_what_cannot_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path, tmp_path / "absent" / "file"):
        with pytest.raises(UsageError, match=f"cannot write {path}: "), storage.output(path):
            pytest.fail("it was opened")
    (tmp_path / "file").write_text("kept")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write what is read-only
    with pytest.raises(UsageError, match="Permission denied"), storage.output(tmp_path / "file"):
        pytest.fail("it was opened")
    assert (tmp_path / "file").read_text() == "kept"


def test_folders_take_the_place_of_folders(tmp_path: Path) -> None:
    made, final = tmp_path / "made", tmp_path / "final"
    for content in ("first", "second"):
        made.mkdir()
        (made / content).touch()
        storage.publish(made, final)
        assert [path.name for path in final.iterdir()] == [content]


def test_a_second_name_is_a_link_or_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("content")
    storage.link(tmp_path / "file", tmp_path / "link")
    assert (tmp_path / "link").samefile(tmp_path / "file")

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    storage.link(tmp_path / "file", tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "content"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_lock_leaves_the_content_and_keeps_others_off(path: Path) -> None:
    path.write_text("content")
    with storage.locked(path):
        with pytest.raises(BlockingIOError):
            storage.open_alone(path)
        assert path.read_text() == "content"
    os.close(storage.open_alone(path))


def test_a_lock_is_of_what_has_the_name_when_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, the file is first replaced and then removed."""
    import filelock

    path, other = tmp_path / "file", tmp_path / "other"
    path.write_text("old")
    other.write_text("new")
    changes = [lambda: other.replace(path), path.unlink]
    take = filelock.lock_descriptor

    def change_and_take(file: int, *, blocking: bool = True) -> bool:
        if changes:
            changes.pop(0)()
        return take(file, blocking=blocking)

    monkeypatch.setattr(filelock, "lock_descriptor", change_and_take)
    file = storage.open_alone(path)
    assert not changes
    os.write(file, b"row")
    assert path.read_text() == "row"
    os.close(file)


HOLDER = """
import sys, time
from pathlib import Path
from bfsbench.support import storage
with storage.locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_lock_of_a_killed_process_is_free(path: Path) -> None:
    waited = []
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()

        def waiting() -> None:
            waited.append(True)
            holder.send_signal(signal.SIGKILL)

        with storage.locked(path, waiting=waiting):
            assert waited == [True]
