"""The messages between a sweep and its worker process, as MessagePack of declared types. Decoding gives these
types or raises; unlike unpickling it executes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from bfsbench import errors
from bfsbench.backends.base import Limits
from bfsbench.bench.frames import DamagedError
from bfsbench.bench.point import Point
from bfsbench.bench.runner import Method
from bfsbench.errors import BfsbenchError


@dataclass(frozen=True)
class DeviceInfo:
    """Description of a worker's device, sent when it is ready."""

    backend: str
    description: dict[str, str]
    limits: Limits


@dataclass(frozen=True)
class Failure:
    """Why a request has no answer. After a ``fatal`` one the worker ends."""

    status: str
    reason: str
    fatal: bool = False


class Measure(msgspec.Struct, frozen=True, tag=True):
    """Asks for the row of a point; see Session.measure."""

    point: Point
    method: Method


class Profile(msgspec.Struct, frozen=True, tag=True):
    """Asks for the level profile of a point whose row is known; see Session.profile."""

    point: Point
    row: dict[str, str]


class Ready(msgspec.Struct, frozen=True, tag=True):
    """A worker's first message: its device, None where it runs host programs only."""

    device: DeviceInfo | None


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The only message of a worker that cannot open its device: the class of the error, and its text."""

    kind: str
    reason: str

    @classmethod
    def of(cls, error: BfsbenchError) -> Refused:
        """The message for an error, with the nearest class of :mod:`bfsbench.errors`."""
        kinds = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        return cls(next(kinds), str(error))

    def error(self) -> BfsbenchError:
        """The error to be raised."""
        found = getattr(errors, self.kind, BfsbenchError)
        if not (isinstance(found, type) and issubclass(found, BfsbenchError)):
            found = BfsbenchError
        return found(self.reason)


class Row(msgspec.Struct, frozen=True, tag=True):
    """The row of a point."""

    columns: dict[str, str]

    def is_of(self, point: Point) -> bool:
        """Whether it is the row of this point, with a status."""
        return point.axes().items() <= self.columns.items() and "status" in self.columns


class Levels(msgspec.Struct, frozen=True, tag=True):
    """The rows of a level profile."""

    rows: list[dict[str, str]]


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The answer that a request failed, and why."""

    failure: Failure


Request = Measure | Profile
Answer = Ready | Refused | Row | Levels | Failed

encode = msgspec.msgpack.Encoder().encode
decode_request: Callable[[bytes], Request] = msgspec.msgpack.Decoder(Request).decode
_decode_answer: Callable[[bytes], Answer] = msgspec.msgpack.Decoder(Answer).decode


def decode_answer(payload: bytes) -> Answer:
    """The answer in these bytes. Raises DamagedError for anything else."""
    try:
        return _decode_answer(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DamagedError("the worker process sent an answer that cannot be read") from None
