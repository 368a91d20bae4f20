"""Opens graph files as streams of bytes. Packed files are recognised by their content, not by their name."""

import bz2
import gzip
import lzma
import struct
import tarfile
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from bfsbench.graphs.catalogue import FORMATS_BY_SUFFIX
from bfsbench.support.errors import InputError

_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile)
_MALFORMED = (ValueError, OverflowError, IndexError, KeyError, RecursionError, struct.error)
"""Exceptions that tarfile and zipfile raise for some malformed members."""
_LARGEST_READ = 64 << 20
"""Limit in bytes of a tar header, including long names and attributes."""
_PACKING_SUFFIXES = (".gz", ".bz2", ".xz", ".zip", ".tar", ".tgz", ".tbz2", ".txz")

_PACKINGS: dict[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda raw: cast(IO[bytes], gzip.GzipFile(fileobj=raw)),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""First bytes of packed files, with the function that unpacks each."""
_UNREAD = {
    b"\x28\xb5\x2f\xfd": "is packed by zstd: unpack it first",
    b"\x04\x22\x4d\x18": "is packed by lz4: unpack it first",
    b"7z\xbc\xaf": "is packed by 7z: unpack it first",
    b"\xff\xfe": "is in UTF-16: save it in UTF-8",
    b"\xfe\xff": "is in UTF-16: save it in UTF-8",
}
"""First bytes of known file types that cannot be read, with the message for each."""


@dataclass(frozen=True)
class Source:
    """An open graph file: a stream of its unpacked bytes, and the position in the file on disk."""

    path: Path
    stream: IO[bytes]
    label: str
    """Name for messages: the path. For a member of an archive, a colon and the member follow."""
    name: str
    """Name of the file or member without suffixes of packing."""
    size: int
    """Size in bytes of the file on disk."""
    raw: IO[bytes]

    def read(self, size: int, /) -> bytes:
        """Returns at most ``size`` unpacked bytes, or ``b""`` at the end of the file. Raises InputError if
        the file is damaged or truncated, or if it cannot be read.
        """
        with _reading(self.path):
            return self.stream.read(size)

    def position(self) -> int:
        """Returns how many bytes of the file on disk have been read."""
        return min(self.raw.tell(), self.size)


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a graph file for reading: plain, gz, bz2, xz, zip, or a tar with any of these compressions.

    The names of an archive's members decide which member is read. Raises InputError if the file cannot be
    read, is damaged or truncated, or has an unsupported compression or encoding. Also raises InputError if it
    is not clear which member of an archive is the graph.
    """
    with ExitStack() as stack:
        with _reading(path):
            source = _unpack(path, stack.enter_context(path.open("rb")), stack)
        yield source


@contextmanager
def open_text(path: Path) -> Iterator[Source]:
    """Open a graph file for reading, like ``open_source``, and skip a UTF-8 byte order mark at its beginning.

    Some editors write this mark. Raises InputError in the same cases as ``open_source``.
    """
    with open_source(path) as source:
        if source.read(len(BOM_UTF8)) != BOM_UTF8:
            source.stream.seek(0)
        yield source


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors in the body of a ``with`` statement into InputErrors. The body must do nothing but read the
    file."""
    try:
        yield
    except NotImplementedError as error:
        raise InputError(f"{path}: {error}; unpack it first") from error
    except (*_DAMAGE, *_MALFORMED) as error:
        raise InputError(f"{path}: damaged or truncated archive ({error}); fetch it again") from error
    except OSError as error:
        # bz2 reports damage as an OSError without an error number.
        reason = error.strerror or f"damaged archive ({error})"
        raise InputError(f"cannot read {path}: {reason}") from error


def _unpack(path: Path, raw: IO[bytes], stack: ExitStack) -> Source:
    size = path.stat().st_size
    magic = raw.read(6)
    raw.seek(0)
    for first, what in _UNREAD.items():
        if magic.startswith(first):
            raise InputError(f"{path}: it {what}")
    if magic.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        member, stream = _zip_member(path, stack.enter_context(zipfile.ZipFile(raw)))
    else:
        unpack = next((unpack for first, unpack in _PACKINGS.items() if magic.startswith(first)), None)
        stream = raw if unpack is None else stack.enter_context(unpack(raw))
        head = stream.read(262)
        stream.seek(0)
        if head[257:] != b"ustar":
            return Source(path, stream, str(path), _without_packing(path.name), size, raw)
        archive = stack.enter_context(tarfile.TarFile(fileobj=cast(IO[bytes], _TarStream(stream))))
        member, stream = _tar_member(path, archive)
    stack.enter_context(stream)
    return Source(path, stream, f"{path}:{member}", PurePosixPath(member).name, size, raw)


def _zip_member(path: Path, archive: zipfile.ZipFile) -> tuple[str, IO[bytes]]:
    infos = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    member = _choose(path, list(infos))
    if infos[member].flag_bits & 1:
        raise InputError(f"{path}: member {member} is encrypted; unpack it first")
    return member, archive.open(member)


def _tar_member(path: Path, archive: tarfile.TarFile) -> tuple[str, IO[bytes]]:
    """Returns the name of the graph in a tar file, and a stream of its content. Raises InputError if the
    archive is malformed, or if it is not clear which member is the graph.

    The search ends at a member that is named like the archive and has the suffix of a graph file. The rest of
    the archive is then not unpacked.
    """
    members: dict[str, tarfile.TarInfo] = {}  # without links, because tarfile looks up their targets by name
    for info in archive:
        if info.size < 0:
            raise InputError(f"{path}: member {info.name} has a negative size; fetch the archive again")
        if info.isfile():
            members[info.name] = info
            if _is_called(path, info.name) and _is_graph(info.name):
                break
    member = _choose(path, list(members))
    if members[member].issparse():
        raise InputError(f"{path}: member {member} is a sparse file; unpack it first")
    stream = archive.extractfile(members[member])
    assert stream is not None  # extractfile returns a stream for every member but links
    return member, stream


class _TarStream:
    """A stream of an archive for tarfile. It limits read sizes and positions, because tarfile trusts the
    sizes in the archive's headers. A wrong size could make tarfile read too much at once or seek to a
    negative position.

    Raises tarfile.ReadError for an implausible size or position, and EOFError if the archive ends within a
    header.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._ended = False

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        found = self._stream.read(size)
        if size and not found and self._ended:
            raise EOFError("the archive ends in the middle of a header")
        self._ended = bool(size) and not found
        return found

    def seek(self, place: int) -> int:
        if place < 0:
            raise tarfile.ReadError(f"a member at place {place:,}")
        self._ended = False
        return self._stream.seek(place)

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._stream.tell()


def _choose(path: Path, members: list[str]) -> str:
    """Returns the name of the one member of an archive that is the graph.

    A file is well named if, apart from suffixes, it has the name of the archive or of the folder that
    contains it. Four groups of members are examined in this order: well-named graph files, all well-named
    files, all graph files, and all files. The first group that has exactly one member decides. Raises
    InputError if no group has exactly one member.
    """
    graphs = [name for name in members if _is_graph(name)]
    fitting = [
        name
        for name in members
        if _is_called(path, name) or PurePosixPath(name).stem == PurePosixPath(name).parent.name
    ]
    for candidates in ([name for name in fitting if name in graphs], fitting, graphs, members):
        if len(candidates) == 1:
            return candidates[0]
    if not members:
        raise InputError(f"{path}: the archive holds no file")
    listed = ", ".join(members[:8]) + (", ..." if len(members) > 8 else "")
    raise InputError(f"{path}: which member is the graph? Unpack one of {listed}")


def _is_called(path: Path, member: str) -> bool:
    archive = PurePosixPath(_without_packing(path.name))
    return PurePosixPath(member).stem in {archive.name, archive.stem}


def _is_graph(member: str) -> bool:
    return PurePosixPath(member).suffix in FORMATS_BY_SUFFIX


def _without_packing(name: str) -> str:
    while name.lower().endswith(_PACKING_SUFFIXES):
        name = name[: name.rindex(".")]
    return name
