"""Encode the messages between a sweep and its worker process, and send them through a pipe with a time limit.

A faulty kernel may overwrite the worker's memory, fork the process, or end it in the middle of a message. So
the sweep checks everything that a worker sends. Each message is sent in a frame. The frame's header contains
the length of the message, its checksum, and the number of its request. A message is an object of one of the
classes below, encoded as MessagePack. Decoding returns an object of one of these classes, or raises an error.
Unlike unpickling, decoding executes nothing.
"""

from __future__ import annotations

import math
import os
import select
import struct
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import msgspec

from bfsbench.backends.base import KernelTimes, Limits
from bfsbench.bench.options import Method
from bfsbench.rows.columns import AXES
from bfsbench.rows.point import Point
from bfsbench.support import errors
from bfsbench.support.errors import BfsbenchError

HEADER = struct.Struct("!4sQQI")
"""The header of a frame: magic bytes, request number, payload length in bytes, and CRC-32 of number and
payload."""
MAGIC = b"bfs\x01"
_CHUNK = 1 << 20


class DamagedError(Exception):
    """Raised if the received bytes are not a message, or not the expected message. The error's text says
    which case it is.
    """


def frame(number: int, payload: bytes) -> bytes:
    """Return the bytes to send for one message: the frame's header and the payload."""
    return HEADER.pack(MAGIC, number, len(payload), _checksum(number, payload)) + payload


def _checksum(number: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(number.to_bytes(8)))


class Pipe:
    """One end of the pipe between a sweep and its worker process. Each end notices if the other end is
    closed.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        os.set_blocking(connection.fileno(), False)

    def send(self, number: int, payload: bytes, limit_s: float = math.inf) -> None:
        """Send a message within ``limit_s`` seconds.

        Raises TimeoutError if the other end does not read the message in time, and ConnectionError if the
        other end is closed.
        """
        data, deadline = memoryview(frame(number, payload)), time.monotonic() + limit_s
        while data:
            self._wait(select.POLLOUT, deadline)
            try:
                data = data[os.write(self.fileno(), data[:_CHUNK]) :]
            except BlockingIOError:
                continue

    def receive(self, number: int | None, limit_s: float = math.inf) -> tuple[int, bytes]:
        """Return the number and the payload of the next message. If ``number`` is None, any number is
        accepted.

        Raises TimeoutError if the message does not arrive within ``limit_s`` seconds, and EOFError if the
        pipe is closed before a message begins. Raises DamagedError if the bytes are not a whole message with
        this number.
        """
        deadline = time.monotonic() + limit_s
        magic, found, length, checksum = HEADER.unpack(self._read(HEADER.size, deadline, begun=False))
        if magic != MAGIC:
            raise DamagedError("the worker process sent something that is not a message")
        payload = self._read(length, deadline, begun=True)
        if _checksum(found, payload) != checksum:
            raise DamagedError("the worker process sent a damaged message")
        if number is not None and found != number:
            raise DamagedError(f"the worker process answered request {found} instead of {number}")
        return found, payload

    def _read(self, size: int, deadline: float, *, begun: bool) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait(select.POLLIN, deadline)
            try:
                chunk = os.read(self.fileno(), min(size - len(data), _CHUNK))
            except BlockingIOError:
                continue
            if not chunk and (data or begun):
                raise DamagedError("the worker process ended within a message")
            if not chunk:
                raise EOFError
            data += chunk
        return bytes(data)

    def _wait(self, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(self.fileno(), event)
        left = None if deadline == math.inf else max(0.0, deadline - time.monotonic()) * 1e3
        if not poll.poll(left):
            raise TimeoutError

    def fileno(self) -> int:
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True)
class DeviceInfo:
    """The description of a worker's device, which the worker sends when it is ready."""

    backend: str
    description: dict[str, str]
    limits: Limits


class Failure(msgspec.Struct, frozen=True, tag=True):
    """An answer which says that a request failed, and why. If ``fatal`` is true, the worker process ends
    after it has sent this answer.
    """

    status: str
    reason: str
    fatal: bool = False


class Measure(msgspec.Struct, frozen=True, tag=True):
    """A request to measure configurations (points) and return their result rows. The worker passes it to
    ``Session.measure``.
    """

    points: list[Point]
    method: Method


class Profile(msgspec.Struct, frozen=True, tag=True):
    """A request for the level profile of a configuration that has been measured. The worker passes it to
    ``Session.profile``.
    """

    point: Point
    row: dict[str, str]


class Trace(msgspec.Struct, frozen=True, tag=True):
    """A request for the times of the kernels of a configuration that has been measured. The worker passes it
    to ``Session.trace``.
    """

    point: Point


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The first message of a worker. ``device`` is None if the worker runs host programs only."""

    device: DeviceInfo | None


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The only message of a worker that cannot open its device: the name of the error's class, and its
    text.
    """

    kind: str
    reason: str

    @classmethod
    def of(cls, error: BfsbenchError) -> Refused:
        """Return the message for an error.

        ``kind`` is the name of the error's class, or of its nearest base class in
        :mod:`bfsbench.support.errors`.
        """
        kinds = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        return cls(next(kinds), str(error))

    def error(self) -> BfsbenchError:
        """Return the error that this message describes. The receiver raises it."""
        found = getattr(errors, self.kind, BfsbenchError)
        if not (isinstance(found, type) and issubclass(found, BfsbenchError)):
            found = BfsbenchError
        return found(self.reason)


class Step(msgspec.Struct, frozen=True, tag=True):
    """A progress message, sent before the answer. It says that the worker begins with the point
    (configuration) at index ``place`` of the request.
    """

    place: int
    on_clock: bool = False
    """True if the worker first compares a program's own clock with the host's clock."""


class Waiting(msgspec.Struct, frozen=True, tag=True):
    """A progress message, sent before the answer, while the worker waits for the program of an entry.
    ``text`` says what the program should print, and what it has printed so far. An empty ``text`` means that
    the wait is over."""

    text: str


class Rows(msgspec.Struct, frozen=True, tag=True):
    """The answer to a ``Measure`` request: the rows of all its points. If a point failed, the answer contains
    only the row of that point."""

    rows: list[dict[str, str]]

    def of(self, points: Sequence[Point]) -> dict[Point, dict[str, str]]:
        """Return a dictionary that maps points (configurations) to their rows.

        Raises DamagedError if a row belongs to a point that is not in ``points``, or lacks a status. Also
        raises DamagedError if rows are missing although no point failed.
        """
        named: dict[tuple[str | None, ...], Point] = {(*point.axes().values(),): point for point in points}
        found = {named.get(tuple(row.get(name) for name in AXES)): row for row in self.rows}
        whole = len(found) == len(points) or any(row.get("status") != "ok" for row in self.rows)
        if not found or None in found or not whole or not all("status" in row for row in self.rows):
            raise DamagedError("the worker process gave the answer to another question")
        return {point: row for point, row in found.items() if point is not None}


class Levels(msgspec.Struct, frozen=True, tag=True):
    """The answer to a ``Profile`` request: the rows of a level profile."""

    rows: list[dict[str, str]]


class Traced(msgspec.Struct, frozen=True, tag=True):
    """The answer to a ``Trace`` request: the times of the kernels."""

    times: KernelTimes


WorkerRequest = Measure | Profile | Trace
Answer = Ready | Refused | Step | Waiting | Rows | Levels | Traced | Failure

encode = msgspec.msgpack.Encoder().encode
decode_request: Callable[[bytes], WorkerRequest] = msgspec.msgpack.Decoder(WorkerRequest).decode
_decode_answer: Callable[[bytes], Answer] = msgspec.msgpack.Decoder(Answer).decode


def decode_answer(payload: bytes) -> Answer:
    """Return the answer that these bytes encode. Raises DamagedError if they do not encode an answer."""
    try:
        return _decode_answer(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DamagedError("the worker process sent an answer that cannot be read") from None
