"""Finds and verifies the source files of datasets on disk.

A downloaded file is in ``downloads/NAME/`` of the cache. A record beside it has its checksum, and its size
and modification time at the time of the check. While the size and the time are unchanged, the file is trusted
without reading it again.
"""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bfsbench.graphs.catalogue import Dataset, Source
from bfsbench.graphs.partial_file import PartialFile, Progress, UnavailableError, sha256_of, storage_errors
from bfsbench.support import paths, storage
from bfsbench.support.errors import InputError

_RECORD = "verified.json"
_ARCHIVES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tar", ".zip")
_PACKINGS = (*_ARCHIVES, ".gz", ".bz2", ".xz", "")
_SUFFIXES = {"snap": ".txt", "dimacs9": ".gr", "metis": ".graph", "mtx": ".mtx"}
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Held:
    """A source file that is on disk and has been verified against the catalogue."""

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
    """Returns the dataset's bundled or fetched file, or None if there is no verified file."""
    return next((found for source in dataset.sources if (found := _held_source(dataset, source))), None)


def _held_source(dataset: Dataset, source: Source) -> Held | None:
    if source.bundled:
        path = paths.BUNDLED / source.bundled
        return Held(path, source, source.sha256 or sha256_of(path)) if path.exists() else None
    record = _read_record(folder_of(dataset) / _RECORD)
    if record is None or _place(record.origin) != _place(source.origin):
        return None
    path = folder_of(dataset) / record.file
    return Held(path, source, record.sha256, record.taken_from) if _unchanged(path, record) else None


def _place(origin: str) -> str:
    """Returns an address without its protocol, because the catalogue's addresses have moved from HTTP to
    HTTPS."""
    return origin.removeprefix("https://").removeprefix("http://")


def keep(dataset: Dataset, source: Source, path: Path, sha256: str, taken_from: str) -> Held:
    """Record that ``path``, a file in the dataset's folder, has been verified. Returns it as a Held. All
    other files of the dataset are removed."""
    folder = folder_of(dataset)
    with storage_errors(folder):
        for other in folder.iterdir():
            if other != path and other.name != ".lock":
                other.unlink(missing_ok=True)
        record = _stamp(path, sha256, source.origin, taken_from)
        storage.write(folder / _RECORD, msgspec.json.encode(record))
    return Held(path, source, sha256, taken_from)


def forget(found: Held) -> None:
    """Delete a fetched file that proved to be wrong. A file of this package is kept."""
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
    """Check the graph inside ``path`` against its published checksum, if there is one. Raises
    UnavailableError if the checksums differ, and InputError if the file cannot be read."""
    if source.content_sha256 is None:
        return
    found = _content_sha256(path)
    if found != source.content_sha256:
        raise UnavailableError(
            f"{path.name}: SHA-256 of the graph inside is {found}, the catalogue says {source.content_sha256}"
        )


def find_in(folder: Path, source: Source) -> Path | None:
    """Returns the path of a source's file in the user's ``folder``, or None. The file may have another
    packing than at the source, such as ``.xz`` instead of ``.gz``."""
    return next((folder / name for name in _acceptable(source) if (folder / name).is_file()), None)


def take(dataset: Dataset, source: Source, found: Path, progress: Progress) -> Held:
    """Copy the user's file ``found`` into the cache and verify it like a download. Returns the copy as a
    Held.

    Raises UnavailableError if the file is another graph, and InputError if it cannot be read.
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
            # Another packing of the graph has a checksum of its own. Its content was verified above.
            if found.name == source.filename and source.sha256 not in (None, sha256):
                raise UnavailableError(f"{found}: SHA-256 is {sha256}, the catalogue says {source.sha256}")
    return keep(dataset, source, target, sha256, str(found.resolve()))


def checksum_of(path: Path) -> str:
    """Returns the SHA-256 of a user's file. Raises InputError if the file cannot be read. The checksum is
    cached while the file's size and modification time stay unchanged."""
    try:
        path = path.resolve(strict=True)
        memory = paths.cache_dir() / "checksums" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.json"
        record = _read_record(memory)
        if record is not None and _unchanged(path, record):
            return record.sha256
        stamp = _stamp(path, sha256_of(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    with storage_errors(memory.parent):
        memory.parent.mkdir(parents=True, exist_ok=True)
        storage.write(memory, msgspec.json.encode(stamp))
    return stamp.sha256


def graph_suffixes() -> list[str]:
    """Returns the suffixes of graph files. They decide which member of an archive is the graph."""
    from bfsbench.graphs.formats import FORMATS

    return [suffix for form in FORMATS.values() for suffix in form.suffixes]


def _acceptable(source: Source) -> Iterable[str]:
    yield source.filename
    packing = next(packing for packing in _PACKINGS if source.filename.endswith(packing))
    stem = source.filename.removesuffix(packing)
    yield from (stem + other for other in _PACKINGS)
    if packing in _ARCHIVES:
        yield from (stem + _SUFFIXES[source.format] + other for other in _PACKINGS)


def _content_sha256(path: Path) -> str:
    from bfsbench.graphs.archives import open_source

    digest = hashlib.sha256()
    with open_source(path, graph_suffixes()) as source:
        while block := source.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _stamp(path: Path, sha256: str, origin: str = "", taken_from: str = "") -> _Record:
    status = path.stat()
    return _Record(path.name, status.st_size, status.st_mtime_ns, sha256, origin, taken_from)


def _unchanged(path: Path, record: _Record) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (record.size, record.mtime_ns)


def _read_record(path: Path) -> _Record | None:
    """Returns the record of a verified file, or None if the record cannot be read. The file is then not
    trusted."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Record)
    except (OSError, msgspec.MsgspecError):
        return None
