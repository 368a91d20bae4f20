"""Keeps the source files of datasets on disk: unfinished downloads, verified files, and checksums.

A downloaded file is in ``downloads/NAME/`` of the cache. A record beside it contains its checksum, and its
size and modification time when it was checked. While the size and the time are unchanged, the file is trusted
without reading it again.

The bytes of an unfinished download are in ``FILE.part``. Beside it, ``FILE.part.json`` records the address
and the server's version of the file (ETag or date). The next attempt, also in a later process, therefore
requests only the missing bytes. The server answers with the whole file if it has changed.

If no checksum of a file is published, later downloads must match the first. The checksum of the first
download is in the user's configuration folder, so that it survives the deletion of the cache.
"""

import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

from bfsbench.graphs.archives import open_source
from bfsbench.graphs.catalogue import Dataset, Source, user_file
from bfsbench.support import paths, storage
from bfsbench.support.errors import FetchError, InputError, UsageError

Progress = Callable[[int, int | None], None]
"""A function called with the number of bytes held so far, and the total number of bytes. The total is None if
the server does not tell it."""

_RECORD = "verified.json"
_ARCHIVES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tar", ".zip")
_PACKINGS = (*_ARCHIVES, ".gz", ".bz2", ".xz", "")
_SUFFIXES = {"snap": ".txt", "dimacs9": ".gr", "metis": ".graph", "mtx": ".mtx"}
_BLOCK = 1 << 20


class UnavailableError(FetchError):
    """Raised when an address does not give the right file. The caller should then try another address."""


class _About(msgspec.Struct, frozen=True):
    """Facts about an unfinished download (a ``.part`` file): the address that it comes from, the server's
    version of the file, and the size of the whole file."""

    url: str
    validator: str
    total: int | None


class PartialFile:
    """An unfinished download: the bytes of the file ``target`` that have been received from ``url``."""

    def __init__(self, target: Path, url: str) -> None:
        self._target = target
        self._url = url
        self._path = target.with_name(target.name + ".part")
        self._about = target.with_name(target.name + ".part.json")

    def size(self) -> int:
        """Returns the number of bytes received so far."""
        return self._path.stat().st_size if self._path.exists() else 0

    def resumable(self) -> tuple[int, str, int | None]:
        """Returns how the unfinished download can be continued: the number of bytes received so far, the
        server's version of the file, and the total size. Returns (0, "", None) if the download must begin
        again."""
        try:
            with storage_errors(self._target.parent):
                text = self._about.read_bytes() if self._about.exists() else b""
            about = msgspec.json.decode(text, type=_About)
        except msgspec.MsgspecError:
            return 0, "", None
        if about.url != self._url or not about.validator:
            return 0, "", None
        return self.size(), about.validator, about.total

    @contextmanager
    def open(self, start: int, total: int | None, validator: str) -> Iterator[IO[bytes]]:
        """Open a stream that appends at byte ``start``. If ``start`` is 0, earlier bytes are deleted, and the
        file's address and version are recorded first."""
        with storage_errors(self._target.parent):
            self._target.parent.mkdir(parents=True, exist_ok=True)
            if start == 0:
                # Bytes of an older version must be removed before the new version is recorded.
                self._path.unlink(missing_ok=True)
                self._about.write_bytes(msgspec.json.encode(_About(self._url, validator, total)))
            with self._path.open("ab") as stream:
                yield stream

    def finish(self, size: int | None, sha256: str | None) -> str:
        """Check the whole file and move it to its final name. Returns its SHA-256. If the size or the
        checksum is wrong, deletes the file and raises UnavailableError.
        """
        with storage_errors(self._target.parent):
            found = sha256_of(self._path)
            wrong = ""
            if size is not None and self.size() != size:
                wrong = f"has not the {size:,} bytes the catalogue says"
            elif sha256 is not None and found != sha256:
                wrong = f"SHA-256 is {found}, the catalogue says {sha256}"
            if wrong:
                self.discard()
                raise UnavailableError(f"{self._url}: {wrong}; deleted")
            storage.publish(self._path, self._target)
            self._about.unlink(missing_ok=True)
        return found

    def discard(self) -> None:
        """Delete the bytes received so far."""
        self._path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Replace disk errors in the body of a ``with`` statement by errors that name the folder and a remedy.
    Raises FetchError if the disk is full, and UsageError for any other disk error."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FetchError(f"no space left in {folder}: free some or move BFSBENCH_CACHE") from error
        raise UsageError(
            f"cannot write in {folder}: {error.strerror or error}; set BFSBENCH_CACHE to a folder of yours"
        ) from error


@dataclass(frozen=True)
class Held:
    """A dataset's file on disk. A fetched file has been verified against the catalogue. A bundled file is
    part of this package."""

    path: Path
    source: Source
    checksum: str
    """SHA-256 of the file at ``path``."""
    taken_from: str = ""
    """The address or path from which the file came."""


class _Record(msgspec.Struct, frozen=True):
    file: str
    size: int
    mtime_ns: int
    sha256: str
    origin: str = ""
    """The URL or file name of the dataset's source, as the catalogue has it."""
    taken_from: str = ""
    """The address or path from which the file was actually taken."""


def folder_of(dataset: Dataset) -> Path:
    """Returns the folder in the cache for the dataset's downloads."""
    return paths.cache_dir() / "downloads" / dataset.name


def held(dataset: Dataset) -> Held | None:
    """Returns the dataset's bundled or fetched file. Returns None if there is neither, or if the fetched file
    has changed since it was verified."""
    return next((found for source in dataset.sources if (found := _held_source(dataset, source))), None)


def _held_source(dataset: Dataset, source: Source) -> Held | None:
    if source.bundled:
        path = paths.BUNDLED / source.bundled
        return Held(path, source, source.sha256 or sha256_of(path)) if path.exists() else None
    folder = folder_of(dataset)
    record = _read_record(folder / _RECORD, folder)
    if record is None or _place(record.origin) != _place(source.origin):
        return None
    return Held(folder / record.file, source, record.sha256, record.taken_from)


def _place(origin: str) -> str:
    """Returns an address without its protocol, so that two addresses compare equal if they differ only in the
    protocol (HTTP or HTTPS). This is needed because older records contain HTTP addresses of files that the
    catalogue now gets by HTTPS."""
    return origin.removeprefix("https://").removeprefix("http://")


def keep(dataset: Dataset, source: Source, path: Path, sha256: str, taken_from: str) -> Held:
    """Record that ``path``, a file in the dataset's folder, has been verified. Returns the file as a Held.
    All other files of the dataset are removed."""
    folder = folder_of(dataset)
    with storage_errors(folder):
        for other in folder.iterdir():
            if other != path and other.name != ".lock":
                other.unlink(missing_ok=True)
        record = _stamp(path, sha256, source.origin, taken_from)
        storage.write(folder / _RECORD, msgspec.json.encode(record))
    return Held(path, source, sha256, taken_from)


def forget(found: Held) -> None:
    """Delete a downloaded file that proved to be wrong. A file that belongs to this package is kept."""
    if not found.source.bundled:
        with storage_errors(found.path.parent):
            (found.path.parent / _RECORD).unlink(missing_ok=True)
            found.path.unlink(missing_ok=True)


def partial_bytes(dataset: Dataset) -> int:
    """Returns the size in bytes of the largest unfinished download of a dataset, which the next fetch can
    continue."""
    return max(
        (PartialFile(folder_of(dataset) / source.filename, "").size() for source in dataset.sources),
        default=0,
    )


def verify(path: Path, source: Source) -> None:
    """Check the unpacked content of the file ``path`` against its published checksum, if there is one. Raises
    UnavailableError if the checksums differ, and InputError if the file cannot be read.
    """
    if source.content_sha256 is None:
        return
    digest = hashlib.sha256()
    with open_source(path) as graph:
        while block := graph.read(_BLOCK):
            digest.update(block)
    found = digest.hexdigest()
    if found != source.content_sha256:
        raise UnavailableError(
            f"{path.name}: SHA-256 of the graph inside is {found}, the catalogue says {source.content_sha256}"
        )


def find_in(folder: Path, source: Source) -> Path | None:
    """Returns the path of a source's file in the user's ``folder``, or None. The user's file may be
    compressed in another way than the source's file, such as ``.xz`` instead of ``.gz``.
    """
    packing = next(packing for packing in _PACKINGS if source.filename.endswith(packing))
    stem = source.filename.removesuffix(packing)
    names = [source.filename, *(stem + other for other in _PACKINGS)]
    if packing in _ARCHIVES:
        names += [stem + _SUFFIXES[source.format] + other for other in _PACKINGS]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def take(dataset: Dataset, source: Source, found: Path, progress: Progress) -> Held:
    """Copy the user's file ``found`` into the cache and verify it like a download. Returns the copy as a
    Held.

    Raises UnavailableError if the file contains another graph, and InputError if it cannot be read.
    """
    verify(found, source)
    target = folder_of(dataset) / found.name
    try:
        original = found.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {found}: {error.strerror}") from error
    digest = hashlib.sha256()
    with original, storage_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        size = found.stat().st_size
        with storage.replacing(target) as copy:
            while block := original.read(_BLOCK):
                digest.update(block)
                copy.write(block)
                progress(copy.tell(), size)
            sha256 = digest.hexdigest()
            # A file that is compressed in another way has a checksum of its own. Its content was
            # verified above.
            if found.name == source.filename and source.sha256 not in (None, sha256):
                raise UnavailableError(f"{found}: SHA-256 is {sha256}, the catalogue says {source.sha256}")
    return keep(dataset, source, target, sha256, str(found.resolve()))


def checksum_of(path: Path) -> str:
    """Returns the SHA-256 of a user's file. Raises InputError if the file cannot be read. The checksum is
    cached while the file's size and modification time stay unchanged."""
    try:
        path = path.resolve(strict=True)
        memory = paths.cache_dir() / "checksums" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.json"
        record = _read_record(memory, path.parent)
        if record is not None:
            return record.sha256
        stamp = _stamp(path, sha256_of(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    with storage_errors(memory.parent):
        memory.parent.mkdir(parents=True, exist_ok=True)
        storage.write(memory, msgspec.json.encode(stamp))
    return stamp.sha256


def _stamp(path: Path, sha256: str, origin: str = "", taken_from: str = "") -> _Record:
    status = path.stat()
    return _Record(path.name, status.st_size, status.st_mtime_ns, sha256, origin, taken_from)


def _read_record(path: Path, folder: Path) -> _Record | None:
    """Returns the record at ``path`` of a verified file in ``folder``. Returns None if the record cannot be
    read, or if the file has changed since it was verified."""
    try:
        record = msgspec.json.decode(path.read_bytes(), type=_Record)
        status = (folder / record.file).stat()
    except (OSError, msgspec.MsgspecError):
        return None
    return record if (status.st_size, status.st_mtime_ns) == (record.size, record.mtime_ns) else None


class FirstDownload(msgspec.Struct, frozen=True):
    """The checksum and the date of the first download from an address."""

    sha256: str
    on: str
    """Date in ISO 8601."""


def first_downloads_file() -> Path:
    """Returns the path of the file with the checksums of first downloads. This is the path in the environment
    variable ``BFSBENCH_CHECKSUMS``, or else a file in the configuration folder."""
    return user_file("BFSBENCH_CHECKSUMS", "checksums.json")


def first_download(url: str) -> FirstDownload | None:
    """Returns the record of the first download from an address, or None if there is no record.

    Raises InputError if the file with the checksums of first downloads cannot be read.
    """
    return _first_downloads(first_downloads_file()).get(url)


def remember_download(url: str, sha256: str | None) -> None:
    """Record the checksum of a download from ``url``. Later downloads from there must match it. If ``sha256``
    is None, the record of the address is removed. Raises UsageError if the file with the checksums of first
    downloads cannot be written."""
    if sha256 is None and first_download(url) is None:
        return
    path = first_downloads_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with storage.locked(path.with_name(f".{path.name}.lock")):
            records = _first_downloads(path)
            records.pop(url, None)
            if sha256 is not None:
                records[url] = FirstDownload(sha256, datetime.now(UTC).date().isoformat())
            storage.write(path, msgspec.json.format(msgspec.json.encode(records)))
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}; BFSBENCH_CHECKSUMS names another place"
        ) from error


def _first_downloads(path: Path) -> dict[str, FirstDownload]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, FirstDownload])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}): repair or remove it") from error
