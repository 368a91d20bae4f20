"""Provides a local file server with configurable failures, and a small graph for it."""

import gzip
import hashlib
import http.server
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from bfsbench.graphs.fetch import Patience

SNAP = b"# a comment\n# Nodes: 5 Edges: 6\n0\t1\n0\t2\n1\t3\n2\t3\n3\t4\n4\t0\n"
"""A graph of 5 vertices and 6 arcs, as SNAP writes it."""

MATRIX = b"%%MatrixMarket matrix coordinate pattern general\n5 5 6\n1 2\n1 3\n2 4\n3 4\n4 5\n5 1\n"
"""The graph of SNAP as a matrix."""


QUICK = Patience(connect_timeout=2, read_timeout=0.3, attempts=3, first_pause=0.01, longest_pause=0.05)

Headers = Mapping[str, str | None]
NO_HEADERS: Headers = {}


def entry(*sources: str, name: str = "tiny", more: str = "num_vertices = 5\nnum_edges = 6") -> str:
    listed = ",\n".join(f"{{ {source} }}" for source in sources)
    return (
        f'[{name}]\nfamily = "mine"\ndescription = "five vertices"\ndirected = true\n{more}\n'
        f"sources = [{listed}]\n"
    )


def snap(url: str, **more: object) -> str:
    return ", ".join([f'url = "{url}"', 'format = "snap"', *(f'{k} = "{v}"' for k, v in more.items())])


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


@dataclass
class Served:
    """A file, and what goes wrong when it is requested."""

    body: bytes
    etag: str | None = None
    last_modified: str | None = None
    encoding: str | None = None
    """The Content-Encoding that the server claims."""
    ranges: bool = True
    length: int | None = None
    """The Content-Length that the server claims instead of the true length. The value -1 leaves it out."""
    statuses: list[int] = field(default_factory=list)
    """Errors with which the server answers the first requests, one per request."""
    cuts: list[int] = field(default_factory=list)
    """Bytes after which the connection is cut, one number per request."""
    stalls: list[int] = field(default_factory=list)
    """Bytes after which the server stops sending, one number per request."""
    retry_after: str | None = None
    location: str | None = None
    pace: float = 0.0
    """Seconds to wait after each 16 KiB."""
    before: Callable[[int], None] | None = None
    """A function called before each answer, with the number of the request, counted from 0."""


@dataclass
class Server:
    """A server: its files by path, and its requests as (path, Range header or None, status, bytes sent)."""

    url: str
    files: dict[str, Served]
    requests: list[tuple[str, str | None, int, int]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def add(self, path: str, body: bytes, **behaviour: object) -> Served:
        """Serve ``body`` under ``path``. The ETag depends on the body unless ``behaviour`` has another."""
        served = Served(body)
        served.etag = etag_of(body)
        for name, value in behaviour.items():
            assert hasattr(served, name)
            setattr(served, name, value)
        self.files[path] = served
        return served

    def sent(self, path: str) -> int:
        """Returns the number of bytes of a file that were sent, over all requests."""
        return sum(count for where, _, _, count in self.requests if where == path)


def etag_of(body: bytes) -> str:
    return f'"{hashlib.md5(body).hexdigest()}"'


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: Server

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing, so that the tests' output stays clean."""

    def do_GET(self) -> None:
        state, path = self.server_state, self.path.lstrip("/")
        served = state.files.get(path)
        wanted = self.headers.get("Range")
        if served is None:
            self._refuse(path, wanted, 404)
            return
        number = sum(where == path for where, _, _, _ in state.requests)
        if served.before is not None:
            served.before(number)
        if served.statuses:
            headers = {"Retry-After": served.retry_after, "Location": served.location}
            self._refuse(path, wanted, served.statuses.pop(0), headers)
            return
        start = self._start(served, wanted)
        if start is not None and start >= len(served.body):
            self._refuse(path, wanted, 416)
            return
        self._send(path, served, wanted, start)

    def _start(self, served: Served, wanted: str | None) -> int | None:
        condition = self.headers.get("If-Range")
        if not wanted or not served.ranges:
            return None
        if condition is not None and condition not in (served.etag, served.last_modified):
            return None
        matched = re.fullmatch(r"bytes=(\d+)-", wanted)
        return int(matched[1]) if matched else None

    def _send(self, path: str, served: Served, wanted: str | None, start: int | None) -> None:
        whole = len(served.body)
        body = served.body[start or 0 :]
        status = 200 if start is None else 206
        self.send_response(status)
        length = len(body) if served.length is None else served.length
        if length >= 0:
            self.send_header("Content-Length", str(length))
        else:
            self.send_header("Connection", "close")
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        claims = {"ETag": served.etag, "Last-Modified": served.last_modified}
        self._send_known({**claims, "Content-Encoding": served.encoding})
        self.end_headers()
        cut = served.cuts.pop(0) if served.cuts else None
        stall = served.stalls.pop(0) if served.stalls else None
        until = min(x for x in (cut, stall, len(body)) if x is not None)
        position = len(self.server_state.requests)
        self.server_state.requests.append((path, wanted, status, 0))
        for at in range(0, until, 1 << 14):
            piece = body[at : min(at + (1 << 14), until)]
            # First, since the client may be done with the last piece before this thread goes on.
            self.server_state.requests[position] = (path, wanted, status, at + len(piece))
            self.wfile.write(piece)
            self.wfile.flush()
            if served.pace:
                self.server_state.closing.wait(served.pace)
        if stall is not None:
            self.server_state.closing.wait()
        if cut is not None or stall is not None or length < 0:
            self.close_connection = True

    def _refuse(self, path: str, wanted: str | None, status: int, headers: Headers = NO_HEADERS) -> None:
        self.server_state.requests.append((path, wanted, status, 0))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self._send_known(headers)
        self.end_headers()

    def _send_known(self, headers: Headers) -> None:
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)


class _Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors, because tests disconnect during answers."""


@contextmanager
def serving() -> Iterator[Server]:
    """Provide a server on a free port of the loopback interface."""

    class Handler(_Handler):
        pass

    listener = _Quiet(("127.0.0.1", 0), Handler)
    state = Handler.server_state = Server(f"http://127.0.0.1:{listener.server_address[1]}", {})
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        listener.shutdown()
        listener.server_close()
        thread.join()
