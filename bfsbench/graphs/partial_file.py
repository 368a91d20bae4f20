"""Manages the part of a download that is on disk. The module ``download`` handles the network.

Bytes are written to ``NAME.part``. Beside it, ``NAME.part.json`` records the address and the server's version
of the file (ETag or date). The next attempt, also in a later process, therefore requests only the rest. The
server answers with the whole file if it has changed.
"""

import errno
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from bfsbench.support import storage
from bfsbench.support.errors import FetchError, UsageError

Progress = Callable[[int, int | None], None]
"""A function called with the bytes held so far and the bytes in all, or None if the server does not say."""


class UnavailableError(FetchError):
    """Raised when an address does not give the right file. Another address may."""


class _About(msgspec.Struct, frozen=True):
    """The address and version to which a ``.part`` file belongs."""

    url: str
    validator: str
    total: int | None


class PartialFile:
    """The bytes of the file ``target`` received so far from ``url``."""

    def __init__(self, target: Path, url: str) -> None:
        self._target = target
        self._url = url
        self._path = target.with_name(target.name + ".part")
        self._about = target.with_name(target.name + ".part.json")

    def size(self) -> int:
        """Returns the number of bytes held."""
        return self._path.stat().st_size if self._path.exists() else 0

    def resumable(self) -> tuple[int, str, int | None]:
        """Returns the number of bytes that can be kept, the server's version of the file, and the total size.
        Returns (0, "", None) if the download must begin again."""
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
        """Open a stream that appends at byte ``start``. The file's address and version are recorded first."""
        with storage_errors(self._target.parent):
            self._target.parent.mkdir(parents=True, exist_ok=True)
            if start == 0:
                # Bytes of an older version must be removed before the new version is recorded.
                self._path.unlink(missing_ok=True)
                self._about.write_bytes(msgspec.json.encode(_About(self._url, validator, total)))
            with self._path.open("ab") as stream:
                yield stream

    def finish(self, size: int | None, sha256: str | None) -> str:
        """Check the whole file and move it to its final name. Returns its SHA-256. Raises UnavailableError if
        size or checksum are wrong. The file is then deleted."""
        with storage_errors(self._target.parent):
            return self._finish(size, sha256)

    def _finish(self, size: int | None, sha256: str | None) -> str:
        found = sha256_of(self._path)
        if size is not None and self.size() != size:
            self.discard()
            raise UnavailableError(f"{self._url}: has not the {size:,} bytes the catalogue says; deleted")
        if sha256 is not None and found != sha256:
            self.discard()
            raise UnavailableError(f"{self._url}: SHA-256 is {found}, the catalogue says {sha256}; deleted")
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
    """Turn disk errors in the body of a ``with`` statement into one line that names the folder and a remedy.
    Raises FetchError if the disk is full, else UsageError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FetchError(f"no space left in {folder}: free some or move BFSBENCH_CACHE") from error
        raise UsageError(
            f"cannot write in {folder}: {error.strerror or error}; set BFSBENCH_CACHE to a folder of yours"
        ) from error
