"""The part of a download that is on disk. The network is in ``download``.

Bytes are written to ``NAME.part``. Beside it ``NAME.part.json`` records the file and its version (address,
and the server's ETag or date). So the next attempt, in this process or a later one, requests only the rest,
and the server can answer with the whole file if it has changed.
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
"""Called with bytes held so far and bytes in all (None where the server does not say)."""


class UnavailableError(FetchError):
    """This address does not give the right file; another one may."""


class _About(msgspec.Struct, frozen=True):
    """The file and version that a ``.part`` file belongs to."""

    url: str
    validator: str
    total: int | None


class PartialFile:
    """The bytes of ``target`` received so far from ``url``."""

    def __init__(self, target: Path, url: str) -> None:
        self._target = target
        self._url = url
        self._path = target.with_name(target.name + ".part")
        self._about = target.with_name(target.name + ".part.json")

    def size(self) -> int:
        """Bytes held."""
        return self._path.stat().st_size if self._path.exists() else 0

    def resumable(self) -> tuple[int, str, int | None]:
        """Bytes that can be kept, their version, and the total size; (0, "", None) to begin again."""
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
        """A stream that appends from byte ``start`` on; its file and version are recorded first."""
        with storage_errors(self._target.parent):
            self._target.parent.mkdir(parents=True, exist_ok=True)
            if start == 0:
                # Bytes of an older version must be removed before the new version is recorded.
                self._path.unlink(missing_ok=True)
                self._about.write_bytes(msgspec.json.encode(_About(self._url, validator, total)))
            with self._path.open("ab") as stream:
                yield stream

    def finish(self, size: int | None, sha256: str | None) -> str:
        """Check the whole file, move it to its final name, and return its SHA-256."""
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
        """Remove everything received."""
        self._path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn disk errors into one line that names the folder and a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FetchError(f"no space left in {folder}: free some or move BFSBENCH_CACHE") from error
        raise UsageError(
            f"cannot write in {folder}: {error.strerror or error}; set BFSBENCH_CACHE to a folder of yours"
        ) from error
