"""Fetches graphs: downloads or copies their files, verifies them and converts them. If a graph cannot be
fetched, all other graphs are still fetched.

A :class:`Transfer` downloads one file over HTTP. It retries, resumes and verifies the download. The file gets
its final name when it is complete. A :class:`Fetcher` uses transfers to fetch graphs of the catalogue.
"""

import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

import requests
import urllib3.exceptions

from bfsbench.graphs import files, load
from bfsbench.graphs.catalogue import Dataset, Source
from bfsbench.graphs.files import Held, PartialFile, Progress, UnavailableError, storage_errors
from bfsbench.support import storage
from bfsbench.support.errors import BfsbenchError, FetchError, InputError
from bfsbench.support.interrupts import interruptible_pool

_BLOCK = 1 << 16
_COUNT = re.compile(r"[0-9]{1,18}")
_SPAN = re.compile(r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18}|\*)")
_TRANSIENT_STATUS = {408, 425, 429, 500, 502, 503, 504}


class StoppedError(FetchError):
    """Raised when the user interrupts the download. The bytes received are kept."""


class _InterruptedError(Exception):
    """Raised when a transfer breaks off, and another attempt may succeed."""

    def __init__(self, reason: str, wait: float = 0.0, *, nowhere: bool = False) -> None:
        """Store the reason for the interruption. ``wait`` is the number of seconds that the server asks to
        wait. ``nowhere`` is true if no address was found for the server's name.
        """
        super().__init__(reason)
        self.wait = wait
        self.nowhere = nowhere


@dataclass(frozen=True)
class Patience:
    """Limits on retries and on waiting, for bad connections. Times are in seconds."""

    connect_timeout: float = 15.0
    read_timeout: float = 60.0
    """Longest time without data during a transfer."""
    slowest: float = 1024.0
    """Bytes per second that must arrive on average after ``read_timeout``. So the time of a transfer is
    limited by the file's size."""
    attempts: int = 6
    """The download from an address fails after this number of failures in a row without a new byte."""
    first_pause: float = 1.0
    """The pause doubles after each failure. It is randomised by up to half, so that clients do not retry
    simultaneously."""
    longest_pause: float = 60.0

    def pause(self, failures: int) -> float:
        """Returns the seconds to wait after the given number of failures in a row."""
        return min(self.longest_pause, self.first_pause * 2.0 ** (failures - 1)) * random.uniform(0.5, 1.0)


@dataclass(frozen=True)
class Transfer:
    """Downloads files. One command makes all its downloads with one Transfer, so they share its limits and
    its stop event."""

    patience: Patience = field(default_factory=Patience)
    stop: threading.Event = field(default_factory=threading.Event)
    """An event that stops every download when it is set. The bytes received are kept."""

    def download(
        self,
        url: str,
        target: Path,
        size: int | None,
        sha256: str | None,
        progress: Progress,
        notice: Callable[[str], None] = lambda line: None,
        *,
        secure: bool = False,
    ) -> str:
        """Download the file at ``url`` to ``target``. Returns its SHA-256.

        ``size`` (bytes) and ``sha256`` are the expected values, if known. With ``secure``, plain HTTP is
        refused, also after a redirect. ``notice`` is called with a line on every retry. If the server's name
        is unknown before any byte has arrived, there is no retry, because there is most likely no network.
        Raises UnavailableError if the server refuses the request or is too slow, if all attempts fail, or if
        the file is not the expected one. Raises StoppedError if ``stop`` is set, FetchError if the disk is
        full, and UsageError if the folder cannot be written.
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
                if grown:  # the limit holds over all attempts, because a server may cut off each transfer
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
        """Make one request for the missing bytes of a file. Returns when ``part`` contains the whole file."""
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
            # All other errors of the package requests, such as a redirect to a bad address, and errors of
            # this machine's certificates.
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
            # published checksum is of the compressed file.
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
        """Check the speed of a transfer. Raises UnavailableError if it has taken longer than
        ``read_timeout``, and fewer than ``slowest`` bytes per second have arrived on average. The bytes
        received are kept on disk.
        """
        slowest = self.patience.slowest
        if seconds > self.patience.read_timeout and received < slowest * seconds:
            raise UnavailableError(f"{url}: less than {slowest:g} bytes per second arrive")


def _answer(url: str, response: requests.Response, held: int, part: PartialFile) -> tuple[int, int | None]:
    """Returns the position in the file at which the response begins, and the file's size or None. Raises
    _InterruptedError if another attempt may succeed, and UnavailableError for any other failed response."""
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
    """Returns a short description of why a connection failed. The messages of the HTTP libraries are too
    long, because they show nested objects."""
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


Stage = Literal["waiting", "downloading", "copying", "converting", "generating"]


class Display(Protocol):
    """A protocol for objects that display the progress while graphs are fetched. Several threads call its
    methods."""

    def stage(self, name: str, stage: Stage, detail: str = "") -> None:
        """Show that a graph enters a stage of the work, such as the download or the conversion."""

    def progress(self, name: str, done: int, total: int | None) -> None:
        """Show how many bytes of the current stage are done. ``total`` is the number of all bytes, or None if
        it is unknown."""

    def note(self, name: str, text: str) -> None:
        """Show a warning about a problem. The work on the graph continues."""

    def finish(self, name: str, outcome: str, failed: bool) -> None:
        """Show that the work on the graph has ended, with its outcome."""


@dataclass(frozen=True)
class Fetcher:
    """Fetches graphs of the catalogue. The fields are options that hold for all graphs."""

    display: Display
    transfer: Transfer = field(default_factory=Transfer)
    folder: Path | None = None
    """If given, files are copied from this folder and nothing is downloaded."""
    convert: bool = True
    insecure: bool = False
    """True to accept files over plain HTTP even if no checksum is known."""
    accept_changed: bool = False
    """True to accept files that differ from the first download, and record their checksums."""
    jobs: int = 2
    """Number of graphs fetched in parallel. Conversions run one at a time, because they take much memory."""
    _converting: threading.Lock = field(default_factory=threading.Lock)

    def fetch_all(self, datasets: Sequence[Dataset]) -> list[Dataset]:
        """Fetch every dataset, and display the errors. Returns the datasets that failed."""
        with interruptible_pool(self.jobs) as pool:
            outcomes = [pool.submit(self._fetch_displayed, dataset) for dataset in datasets]
            try:
                fetched = [outcome.result() for outcome in outcomes]
            except BaseException:
                self.transfer.stop.set()
                raise
        return [dataset for dataset, success in zip(datasets, fetched, strict=True) if not success]

    def fetch(self, dataset: Dataset) -> str:
        """Fetch one dataset. Returns a line that says what was done. Raises FetchError if no source gives the
        right file, or if the user stops the download. Raises another BfsbenchError if the graph cannot be
        generated, converted or stored."""
        if dataset.generated:
            if not self.convert:
                return "generated when it is used"
            return f"generated; {self._convert(dataset, None, 'generating')}"
        with self._alone(dataset):
            failures = []
            for source in self._sources(dataset):
                try:
                    return self._fetch_from(dataset, source)
                except (UnavailableError, InputError) as error:
                    failures.append(str(error))
        names = " or ".join(dict.fromkeys(source.filename for source in dataset.sources))
        if self.folder is not None:
            failures = failures or [f"{self.folder} does not hold {names}, nor another packing of it"]
        elif failures:
            failures.append(f"try again, or put {names} into a folder and use --from FOLDER")
        else:
            way_out = f"get {names} and run 'bfsbench fetch {dataset.name} --from FOLDER'"
            failures = [f"no server offers it: {way_out}"]
        raise FetchError("; ".join(failures))

    def _fetch_displayed(self, dataset: Dataset) -> bool:
        try:
            if self.transfer.stop.is_set():
                raise StoppedError("interrupted")
            outcome = self.fetch(dataset)
        except BfsbenchError as error:
            self.display.finish(dataset.name, str(error), failed=True)
            return False
        self.display.finish(dataset.name, outcome, failed=False)
        return True

    def _sources(self, dataset: Dataset) -> list[Source]:
        """Returns the sources of a dataset in the order in which to try them. A source whose file is in the
        cache or in this package comes first. If ``folder`` is set, the sources whose files are in ``folder``
        follow, in the catalogue's order. Otherwise, the sources with a URL follow."""
        here = files.held(dataset)
        folder = self.folder
        others = [s for s in dataset.sources if (files.find_in(folder, s) if folder else s.url)]
        return [here.source, *(s for s in others if s != here.source)] if here else others

    def _fetch_from(self, dataset: Dataset, source: Source) -> str:
        here = files.held(dataset)
        if here is not None and here.source == source:
            found, how = here, "already here"
        elif self.folder is not None:
            original = files.find_in(self.folder, source)
            assert original is not None
            self.display.stage(dataset.name, "copying", str(original))
            found = files.take(dataset, source, original, partial(self.display.progress, dataset.name))
            how = f"copied from {self.folder}"
        else:
            found, how = self._download(dataset, source), f"downloaded from {source.origin}"
        if not self.convert:
            return how
        try:
            size = self._convert(dataset, found, "converting")
        except InputError:
            # Without a published checksum the file itself may be wrong. So the next fetch downloads it again.
            if not source.vouched_for:
                files.forget(found)
                if source.url is not None:
                    files.remember_download(source.url, None)
            raise
        if source.url is not None and source.url == found.taken_from and not source.vouched_for:
            first = files.first_download(source.url)
            if first is None or first.sha256 != found.checksum:
                files.remember_download(source.url, found.checksum)
        return f"{how}; {size}"

    def _convert(self, dataset: Dataset, found: Held | None, stage: Stage) -> str:
        """Convert the file of a dataset to a graph in the cache, unless the cache has the graph already.
        Returns a text with the numbers of vertices and arcs."""
        self.display.stage(dataset.name, "waiting", "for another conversion")
        with self._converting:
            self.display.stage(dataset.name, stage)
            graph = load.prepare(
                load.request_for(dataset), found, partial(self.display.progress, dataset.name)
            )
        return f"{graph.num_vertices:,} vertices, {graph.num_edges:,} arcs"

    def _download(self, dataset: Dataset, source: Source) -> Held:
        assert source.url is not None
        target = files.folder_of(dataset) / source.filename
        first = None if source.vouched_for else files.first_download(source.url)
        self.display.stage(dataset.name, "downloading", source.origin)
        sha256 = self.transfer.download(
            source.url,
            target,
            source.size,
            source.sha256,
            secure=not (self.insecure or source.vouched_for or first),
            progress=partial(self.display.progress, dataset.name),
            notice=partial(self.display.note, dataset.name),
        )
        try:
            files.verify(target, source)
            if first is not None and sha256 != first.sha256 and not self.accept_changed:
                raise UnavailableError(
                    f"SHA-256 is {sha256}, on {first.on} it was {first.sha256}: "
                    "if its publisher has changed the file, use --accept-changed"
                )
        except (UnavailableError, InputError) as error:
            target.unlink()
            raise UnavailableError(f"{source.url}: {error}; deleted") from error
        return files.keep(dataset, source, target, sha256, source.url)

    @contextmanager
    def _alone(self, dataset: Dataset) -> Iterator[None]:
        """Hold a lock that keeps other processes from fetching the dataset. A killed process releases its
        lock."""
        folder = files.folder_of(dataset)
        waiting = partial(self.display.stage, dataset.name, "waiting", "for another bfsbench fetch")
        with ExitStack() as held:
            with storage_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
                held.enter_context(storage.locked(folder / ".lock", waiting=waiting))
            yield
