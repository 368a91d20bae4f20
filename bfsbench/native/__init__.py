"""Compiled helpers of the host side: one ``.cpp`` file with a C interface each, built on first use.

``library("convert")`` compiles ``convert.cpp`` of this folder into the cache and loads it with ctypes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from bfsbench.machine import usable_cores
from bfsbench.toolchain import build_library, prepare_compiler

HERE = Path(__file__).resolve().parent
HELPERS = ("convert", "parse", "statistics", "renumber", "cpu_queue")
"""What loading a graph and checking a search take, the one that takes longest to compile first."""


@cache
def library(name: str) -> ctypes.CDLL:
    """Load the native library ``name``; its functions release the interpreter lock while they run."""
    return ctypes.CDLL(str(_built(name)))


@contextmanager
def building(names: Iterable[str]) -> Iterator[None]:
    """Build libraries on all cores beside the block, and wait for them at its end.

    Names without a source are passed over. A failure is reported when the library is used.
    """
    known = [name for name in dict.fromkeys(names) if (HERE / f"{name}.cpp").exists()]
    if known:
        prepare_compiler()
    with ThreadPoolExecutor(usable_cores()) as pool:
        for name in known:
            pool.submit(_built, name)
        try:
            yield
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _built(name: str) -> Path:
    return build_library(name, [HERE / f"{name}.cpp"])
