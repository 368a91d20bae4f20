"""Downloads one file over HTTP. Downloads are retried, resumed and checked, and get their final name when
complete."""

import random
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import requests
import urllib3.exceptions

from bfsbench.graphs.files import PartialFile, Progress, UnavailableError
from bfsbench.support.errors import FetchError

Notice = Callable[[str], None]
"""A function called with a line about a failed attempt."""

_BLOCK = 1 << 16
_COUNT = re.compile(r"[0-9]{1,18}")
_SPAN = re.compile(r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18}|\*)")
_TRANSIENT_STATUS = {408, 425, 429, 500, 502, 503, 504}


class StoppedError(FetchError):
    """Raised when the user interrupts the download. The bytes received are kept."""


class _InterruptedError(Exception):
    """Raised when the transfer breaks off. Another attempt may succeed."""

    def __init__(self, reason: str, wait: float = 0.0, *, nowhere: bool = False) -> None:
        """Store the reason. The server asks to wait ``wait`` seconds. ``nowhere`` says that the server's name
        is unknown."""
        super().__init__(reason)
        self.wait = wait
        self.nowhere = nowhere


@dataclass(frozen=True)
class Patience:
    """Limits on retries and waiting for a bad connection. Times are in seconds."""

    connect_timeout: float = 15.0
    read_timeout: float = 60.0
    """Longest time without data during a transfer."""
    slowest: float = 1024.0
    """Bytes per second that must arrive on average after ``read_timeout``. A file's size thereby limits the
    time of its transfer."""
    attempts: int = 6
    """The download from an address fails after this number of failures in a row without a new byte."""
    first_pause: float = 1.0
    """The pause doubles after each failure. It is randomised by up to half, so that clients do not retry at
    one time."""
    longest_pause: float = 60.0

    def pause(self, failures: int) -> float:
        """Returns the seconds to wait after the given number of failures in a row."""
        return min(self.longest_pause, self.first_pause * 2.0 ** (failures - 1)) * random.uniform(0.5, 1.0)


@dataclass(frozen=True)
class Transfer:
    """The limits and the stop event that all downloads of one command share."""

    patience: Patience = field(default_factory=Patience)
    stop: Event = field(default_factory=Event)
    """An event that stops every download when it is set. The bytes received are kept."""

    def download(
        self,
        url: str,
        target: Path,
        size: int | None,
        sha256: str | None,
        progress: Progress,
        notice: Notice = lambda line: None,
        *,
        secure: bool = False,
    ) -> str:
        """Download the file at ``url`` to ``target``. Returns its SHA-256.

        ``size`` (bytes) and ``sha256`` are the expected values, if known. With ``secure``, plain HTTP is
        refused, also after a redirect. ``notice`` is called with a line on every retry. If the server's name
        is unknown at the first attempt, there is no retry, because there is most likely no network. Raises
        UnavailableError if all attempts fail or the file is not the expected one. Raises StoppedError if
        ``stop`` is set, FetchError if the disk is full, and UsageError if the folder cannot be written.
        """
        if secure:
            _require_https(url)
        part = PartialFile(target, url)
        failures, start, began = 0, part.size(), time.monotonic()
        furthest = start
        while True:
            try:
                self._attempt(url, part, size, progress, secure)
                break
            except _InterruptedError as interruption:
                grown = part.size() > furthest
                furthest = max(furthest, part.size())
                failures = 1 if grown else failures + 1
                if grown:  # the limit holds over all attempts, for a server that cuts off each transfer
                    self._require_pace(url, furthest - start, time.monotonic() - began)
                if interruption.nowhere and furthest == start:
                    raise UnavailableError(f"{url}: {interruption}") from None
                if failures >= self.patience.attempts:
                    raise UnavailableError(f"{url}: {interruption}; gave up after {failures} tries") from None
                notice(f"retrying ({failures + 1} of {self.patience.attempts}): {interruption}")
                pause = min(interruption.wait, self.patience.longest_pause) or self.patience.pause(failures)
                if self.stop.wait(pause):
                    raise StoppedError("interrupted; run the command again to resume") from None
        return part.finish(size, sha256)

    def _attempt(
        self, url: str, part: PartialFile, size: int | None, progress: Progress, secure: bool
    ) -> None:
        """Make one request for the missing bytes of a file. Returns when ``part`` has the whole file."""
        held, validator, total = part.resumable()
        if held and held == total:
            return
        headers = {"User-Agent": "bfsbench", "Accept-Encoding": "identity"}
        if held:
            headers |= {"Range": f"bytes={held}-", "If-Range": validator}
        timeout = (self.patience.connect_timeout, self.patience.read_timeout)
        try:
            with requests.get(url, headers=headers, stream=True, timeout=timeout) as response:
                for answer in (*response.history, response) if secure else ():
                    _require_https(answer.url)
                start, total = _answer(url, response, held, part)
                if size is not None and total is not None and size != total:
                    raise UnavailableError(f"{url}: holds {total:,} bytes where the catalogue says {size:,}")
                self._receive(response, part, start, total, size, progress)
        except requests.exceptions.SSLError as error:
            raise UnavailableError(f"{url}: {_reason(error)}") from error
        except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError) as error:
            raise _InterruptedError(_reason(error), nowhere=_is_nowhere(error)) from error
        except (OSError, ValueError) as error:
            # All other errors of requests, of redirects to bad addresses, and of this machine's certificates.
            raise UnavailableError(f"{url}: {_reason(error)}") from error

    def _receive(
        self,
        response: requests.Response,
        part: PartialFile,
        start: int,
        total: int | None,
        size: int | None,
        progress: Progress,
    ) -> None:
        with part.open(start, total, _validator(response)) as stream:
            have = start
            # Bytes are not decoded, because some servers label a .gz file as compressed in transit. The
            # checksum is that of the file.
            started = time.monotonic()
            while block := response.raw.read1(_BLOCK, decode_content=False):
                stream.write(block)
                have += len(block)
                progress(have, total)
                if self.stop.is_set():
                    raise StoppedError("interrupted; run the command again to resume")
                self._require_pace(response.url, have - start, time.monotonic() - started)
                if size is not None and have > size:
                    break
        if size is not None and have > size:
            part.discard()
            raise UnavailableError(f"{response.url}: holds more than the {size:,} bytes of the catalogue")
        if total is not None and have != total:
            if have > total:
                part.discard()
            raise _InterruptedError(f"{have:,} of {total:,} bytes arrived")

    def _require_pace(self, url: str, received: int, seconds: float) -> None:
        """Check the speed of a transfer. Raises UnavailableError if it would take days. The bytes received
        are kept."""
        slowest = self.patience.slowest
        if seconds > self.patience.read_timeout and received < slowest * seconds:
            raise UnavailableError(f"{url}: less than {slowest:g} bytes a second arrive")


def _answer(url: str, response: requests.Response, held: int, part: PartialFile) -> tuple[int, int | None]:
    """Returns the position in the file at which the response begins, and the file's size or None. Raises
    UnavailableError, or _InterruptedError if another attempt may succeed."""
    status = response.status_code
    length = response.headers.get("Content-Length", "")
    if status == 200:
        return 0, int(length) if _COUNT.fullmatch(length) else None
    if status == 206:
        span = _SPAN.fullmatch(response.headers.get("Content-Range", ""))
        if span and int(span[1]) == held:
            return held, int(span[2]) if span[2] != "*" else None
    if status in (206, 416):
        part.discard()
        raise _InterruptedError("the server cannot resume; starting again")
    if status in _TRANSIENT_STATUS:
        wait = response.headers.get("Retry-After", "")
        raise _InterruptedError(f"{status} {response.reason}", float(wait) if _COUNT.fullmatch(wait) else 0.0)
    raise UnavailableError(f"{url}: {status} {response.reason}")


def _require_https(url: str) -> None:
    if not url.startswith("https://"):
        raise UnavailableError(
            f"{url}: plain HTTP without a known checksum: anyone in between could change it; "
            "--insecure accepts it"
        )


def _validator(response: requests.Response) -> str:
    """Returns the ETag or date by which the server recognises this version of the file. Weak ETags are not
    used, because they do not guarantee equal bytes."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified", "")


def _is_nowhere(error: BaseException | None) -> bool:
    """Returns whether a failed look-up of the server's name caused the error."""
    while error is not None and not isinstance(error, socket.gaierror):
        error = error.__cause__ or error.__context__
    return error is not None


def _reason(error: Exception) -> str:
    """Returns a short description of why a connection failed. The text of the HTTP libraries lists nested
    objects instead."""
    if _is_nowhere(error):
        return "the server's name is unknown (is there a network?)"
    text = str(error)
    for sign, reason in (
        ("Connection refused", "connection refused"),
        ("CERTIFICATE", "the server's certificate is not valid"),
        ("timed out", "no answer for too long"),
        ("IncompleteRead", "the connection broke off"),
        ("Connection aborted", "the connection broke off"),
        ("reset by peer", "the connection broke off"),
    ):
        if sign in text:
            return reason
    return text.partition("\n")[0]
