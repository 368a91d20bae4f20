"""Compiled helpers of the host side: one ``.cpp`` file with a C interface each, built on first use.

``library("convert")`` compiles ``convert.cpp`` of this folder into the cache and loads it with ctypes.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from bfsbench.toolchain import build_library

HERE = Path(__file__).resolve().parent


@cache
def library(name: str) -> ctypes.CDLL:
    """Load the native library ``name``; its functions release the interpreter lock while they run."""
    return ctypes.CDLL(str(build_library(name, [HERE / f"{name}.cpp"])))
