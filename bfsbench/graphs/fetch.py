"""Fetches graphs: downloads or copies their files, verifies and converts them. A failed graph does not stop
the rest."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

from bfsbench.graphs import files, load
from bfsbench.graphs.catalogue import Dataset, Source
from bfsbench.graphs.download import StoppedError, Transfer
from bfsbench.graphs.files import Held, UnavailableError, storage_errors
from bfsbench.support import storage
from bfsbench.support.errors import BfsbenchError, FetchError, InputError

Stage = Literal["waiting", "downloading", "copying", "converting", "generating"]


class Display(Protocol):
    """A protocol for progress displays. Several threads call its methods."""

    def stage(self, name: str, stage: Stage, detail: str = "") -> None:
        """Show that the graph ``name`` begins a stage."""

    def progress(self, name: str, done: int, total: int | None) -> None:
        """Show how many bytes of the stage are done, of ``total`` bytes if that number is known."""

    def note(self, name: str, text: str) -> None:
        """Show a problem that does not end the stage."""

    def finish(self, name: str, outcome: str, failed: bool) -> None:
        """Show that the work on the graph has ended, with its outcome."""


@dataclass(frozen=True)
class Fetcher:
    """Fetches graphs. The fields are options that hold for all of them."""

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
        """Fetch every dataset. Returns the datasets that failed, whose errors have been displayed."""
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            outcomes = [pool.submit(self._fetch_displayed, dataset) for dataset in datasets]
            try:
                fetched = [outcome.result() for outcome in outcomes]
            except BaseException:
                self.transfer.stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        return [dataset for dataset, success in zip(datasets, fetched, strict=True) if not success]

    def fetch(self, dataset: Dataset) -> str:
        """Fetch one dataset. Returns a line that says what was done. Raises BfsbenchError."""
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
        if failures and self.folder is None:
            failures.append(f"try again, or put {_files(dataset)} into a folder and use --from FOLDER")
        raise FetchError("; ".join(failures) or self._nothing_offered(dataset))

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
        """Returns the sources to try, in this order: a source whose file is here, then others in the
        catalogue's order."""
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
            found = files.take(dataset, source, original, self._progress(dataset))
            how = f"copied from {self.folder}"
        else:
            found, how = self._download(dataset, source), f"downloaded from {source.origin}"
        if not self.convert:
            return how
        try:
            size = self._convert(dataset, found, "converting")
        except InputError:
            # Without a checksum the file itself may be wrong. The next fetch then downloads it again.
            if not source.vouched_for:
                files.forget(found)
                if source.url is not None:
                    files.remember_download(source.url, None)
            raise
        self._remember(source, found)
        return f"{how}; {size}"

    def _convert(self, dataset: Dataset, found: Held | None, stage: Stage) -> str:
        """Make the graph of a dataset, unless it is in the cache. Returns the graph's size in words."""
        self.display.stage(dataset.name, "waiting", "for another conversion")
        with self._converting:
            self.display.stage(dataset.name, stage)
            graph = load.prepare(load.request_for(dataset), found, self._progress(dataset))
        return f"{graph.num_vertices:,} vertices, {graph.num_edges:,} arcs"

    def _remember(self, source: Source, found: Held) -> None:
        """Record the checksum of a download that became a graph, if no checksum is published for it."""
        if source.vouched_for or source.url is None or found.taken_from != source.url:
            return
        first = files.first_download(source.url)
        if first is None or first.sha256 != found.checksum:
            files.remember_download(source.url, found.checksum)

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
            progress=self._progress(dataset),
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

    def _progress(self, dataset: Dataset) -> Callable[[int, int | None], None]:
        return partial(self.display.progress, dataset.name)

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

    def _nothing_offered(self, dataset: Dataset) -> str:
        names = _files(dataset)
        if self.folder is not None:
            return f"{self.folder} does not hold {names}, nor another packing of it"
        return f"no server offers it: get {names} and run 'bfsbench fetch {dataset.name} --from FOLDER'"


def _files(dataset: Dataset) -> str:
    return " or ".join(dict.fromkeys(source.filename for source in dataset.sources))
