"""Messages between a sweep and its worker process: framed, numbered, checked, and read with a time limit.

A kernel may write anywhere, fork, or stop its process in the middle of a message. So nothing that comes from
a worker is trusted: a frame has its length, the number of the request that it answers and the checksum of its
payload, which is data alone (see :mod:`bfsbench.bench.messages`), never code.
"""

from __future__ import annotations

import os
import select
import struct
import time
import zlib
from multiprocessing.connection import Connection

HEADER = struct.Struct("!4sQQI")
"""Magic, number of the request, length of the payload in bytes, CRC-32 of number and payload."""
MAGIC = b"bfs\x01"
_CHUNK = 1 << 20


class DamagedError(Exception):
    """The bytes received are not a message, or not the expected one; the error's text says which."""


def frame(number: int, payload: bytes) -> bytes:
    """The bytes to send for one message."""
    return HEADER.pack(MAGIC, number, len(payload), _checksum(number, payload)) + payload


def _checksum(number: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(number.to_bytes(8)))


class Pipe:
    """One end of the pipe. Closing it tells the other end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        os.set_blocking(connection.fileno(), False)

    def send(self, number: int, payload: bytes, limit_s: float | None = None) -> None:
        """Raises TimeoutError when the other end does not take it, ConnectionError when there is none."""
        data, deadline = memoryview(frame(number, payload)), _deadline(limit_s)
        while data:
            self._wait(select.POLLOUT, deadline)
            try:
                data = data[os.write(self.fileno(), data[:_CHUNK]) :]
            except BlockingIOError:
                continue

    def receive(self, number: int | None, limit_s: float | None = None) -> tuple[int, bytes]:
        """The next message's number and payload; None takes any number.

        Raises TimeoutError, EOFError when the pipe was closed before a message, and DamagedError for anything
        but a whole message of this number.
        """
        deadline = _deadline(limit_s)
        magic, found, length, checksum = HEADER.unpack(self._read(HEADER.size, deadline, begun=False))
        if magic != MAGIC:
            raise DamagedError("the worker process sent something that is not a message")
        payload = self._read(length, deadline, begun=True)
        if _checksum(found, payload) != checksum:
            raise DamagedError("the worker process sent a damaged message")
        if number is not None and found != number:
            raise DamagedError(f"the worker process answered request {found} instead of {number}")
        return found, payload

    def _read(self, size: int, deadline: float | None, *, begun: bool) -> bytes:
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

    def _wait(self, event: int, deadline: float | None) -> None:
        poll = select.poll()
        poll.register(self.fileno(), event)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1e3
        if not poll.poll(left):
            raise TimeoutError

    def fileno(self) -> int:
        """The descriptor, as select and os take it."""
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()


def _deadline(limit_s: float | None) -> float | None:
    return None if limit_s is None else time.monotonic() + limit_s
