"""Records checksums of downloads that have no published checksum. Later downloads must match the first.

The checksums are in the user's configuration folder, so that they survive the deletion of the cache.
"""

import os
from datetime import UTC
from pathlib import Path

import msgspec

from bfsbench.support import storage
from bfsbench.support.errors import InputError, UsageError


class First(msgspec.Struct, frozen=True):
    """The checksum and the date of the first download from an address."""

    sha256: str
    on: str
    """Date in ISO 8601."""


def record_file() -> Path:
    """Returns the path of the file of checksums: ``BFSBENCH_CHECKSUMS``, or a file in the configuration
    folder."""
    override = os.environ.get("BFSBENCH_CHECKSUMS")
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("bfsbench")) / "checksums.json"


def first(url: str) -> First | None:
    """Returns the record of an address, or None. Raises InputError if the file of checksums cannot be
    read."""
    return _read(record_file()).get(url)


def remember(url: str, sha256: str) -> None:
    """Record the checksum of a download from ``url``, which later downloads must match. Raises UsageError if
    the file of checksums cannot be written."""
    from datetime import datetime

    _change(url, First(sha256, datetime.now(UTC).date().isoformat()))


def forget(url: str) -> None:
    """Remove the record of an address, if there is one."""
    if first(url) is not None:
        _change(url, None)


def _change(url: str, known: First | None) -> None:
    path = record_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with storage.locked(path.with_name(f".{path.name}.lock")):
            others = {other: value for other, value in _read(path).items() if other != url}
            entries = {**others, url: known} if known else others
            storage.write(path, msgspec.json.format(msgspec.json.encode(entries)))
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}; BFSBENCH_CHECKSUMS names another place"
        ) from error


def _read(path: Path) -> dict[str, First]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, First])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}): repair or remove it") from error
