"""Writes files atomically, computes their digests, and locks them.

No other module renames or locks files. A file is written under a temporary name in its folder, flushed to the
storage device, and renamed. A lock belongs to an open file, and does not change the file's content. So the
lock ends with the process that holds it, even if that process is killed.
"""

import errno
import io
import mmap
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from bfsbench.support.errors import UsageError


@contextmanager
def output(path: Path) -> Iterator[TextIO]:
    """Open a text file in UTF-8 for the user's output. When the ``with`` block ends without an exception, the
    file replaces ``path``.

    The file is opened immediately. If this fails, the caller has not done any work yet. Raises UsageError if
    the file cannot be written, or if the disk is full. In both cases ``path`` stays unchanged.
    """
    try:
        with replacing(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8")
            yield text
            text.detach()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file. When the ``with`` block ends without an exception, the file replaces ``path``.

    Symbolic links are followed, and the mode and owner of an existing file are kept. Other hard links to an
    existing file keep the old content. If ``path`` is a device or a pipe, it is written to directly. If
    OSError is raised, a file at ``path`` stays unchanged. OSError is raised if ``path`` is a folder or cannot
    be written.
    """
    target = real(path)
    if target.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    with unfinished(part_of(target)) as part:
        with part.open("xb") as file:
            _imitate(target, file.fileno())
            yield file
        publish(part, target)


_unfinished: set[Path] = set()
"""The temporary files and folders that this process is writing."""


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file or folder. When the ``with`` block ends, the file or folder is
    removed unless it has been renamed."""
    _unfinished.add(path)
    try:
        yield path
    finally:
        _remove(path)
        if not path.exists():  # after an interrupt, threads and compilers may still write into a folder
            _unfinished.discard(path)


def remove_unfinished() -> None:
    """Remove the temporary files and folders that this process is writing. Call this only when the process
    ends, because its threads may still write them."""
    for _ in range(_ATTEMPTS):
        for path in [*_unfinished]:
            _remove(path)
        if not any(path.exists() for path in [*_unfinished]):
            return


_ATTEMPTS = 10
"""Number of attempts to remove files that other threads may still write."""


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _imitate(path: Path, file: int) -> None:
    """Give an open file the mode of the file at ``path`` and, if the system allows it, also the owner. If
    there is no file at ``path``, do nothing."""
    with suppress(FileNotFoundError):
        status = path.stat()
        with suppress(PermissionError):
            os.fchown(file, status.st_uid, status.st_gid)
        os.fchmod(file, stat.S_IMODE(status.st_mode))


def write(path: Path, data: bytes) -> None:
    """Replace the content of a file by ``data``, atomically. Raises OSError if the file cannot be written."""
    with replacing(path) as file:
        file.write(data)


def publish(made: Path, final: Path) -> None:
    """Rename a complete file or folder to its final name. This replaces any file or folder of that name.
    Raises OSError if renaming fails.

    A file is first flushed to the storage device. The files of a folder are not flushed, so their readers
    must verify them.
    """
    if made.is_dir():
        if final.exists():
            shutil.rmtree(final)
    else:
        with made.open("rb") as file:
            os.fsync(file.fileno())
    made.replace(final)


def link(file: Path, name: Path) -> None:
    """Give a finished file a second name, by a hard link. If the file system has no hard links, copy the
    file. Raises OSError if this fails."""
    with unfinished(part_of(name)) as part:
        try:
            part.hardlink_to(file)
        except OSError:
            shutil.copyfile(file, part)
        publish(part, name)


def digest(path: Path) -> str:
    """Returns the 128-bit XXH3 hash of a file, in hexadecimal. The hash detects damage, but not forgery.
    Raises OSError if the file cannot be read."""
    import xxhash

    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return xxhash.xxh3_128_hexdigest(b"")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return xxhash.xxh3_128_hexdigest(content)


def cache_remedy(error: OSError) -> str:
    """Returns a phrase that says what a user can do if the cache cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free some space there or set BFSBENCH_CACHE to another folder"
    return "set BFSBENCH_CACHE to a folder that can be written"


def require_writable(folder: Path) -> None:
    """Make a folder of the cache, unless it exists. Raises UsageError if files cannot be written in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b" ")
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"cannot write {folder}: {why}; {cache_remedy(error)}") from error


def real(path: Path) -> Path:
    """Returns the path of a file after all symbolic links in ``path`` are followed."""
    return Path(os.path.realpath(path))


def part_of(path: Path) -> Path:
    """Returns a temporary path beside ``path``, for a file that is later renamed to ``path``."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def remove_parts(path: Path) -> None:
    """Remove the temporary files of ``path`` that were left behind by killed processes. Call this only in a
    process that may write ``path``."""
    part = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.part")
    for left in path.parent.iterdir():
        if part.fullmatch(left.name):
            left.unlink(missing_ok=True)


def open_alone(path: Path, *, wait: bool = False, waiting: Callable[[], None] = lambda: None) -> int:
    """Open a file for reading and appending, and lock it until the descriptor is closed. Returns the
    descriptor.

    The file is created if it does not exist. If another process holds its lock, this function calls
    ``waiting`` and waits. If ``wait`` is false, it raises BlockingIOError instead. Another process may
    replace the file meanwhile. The function then starts again, so that ``path`` names the locked file. Raises
    OSError if the file cannot be opened.
    """
    from filelock import lock_descriptor

    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if not lock_descriptor(file, blocking=False):
                if not wait:
                    raise BlockingIOError(errno.EWOULDBLOCK, "another process has it open")
                waiting()
                lock_descriptor(file)
            if is_called(file, path):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def is_called(file: int, path: Path) -> bool:
    """Returns whether ``path`` still names the open file."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file), path.stat())
    return False


@contextmanager
def locked(path: Path, *, wait: bool = True, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of a file while the ``with`` block runs. The file is created if it does not exist.

    The parameters ``wait`` and ``waiting`` are passed to :func:`open_alone`.
    """
    file = open_alone(path, wait=wait, waiting=waiting)
    try:
        yield
    finally:
        os.close(file)
