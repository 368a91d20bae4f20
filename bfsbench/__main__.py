"""Start the program ``bfsbench``, also as ``python -m bfsbench``."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Never

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN_S = 0.02
"""Seconds until a lost interrupt is sent again. By then, the code that could not raise it has ended."""


def _end(_number: int, _frame: FrameType | None) -> Never:
    """Exit at an interrupt, without Python's traceback of the imports that were running."""
    os.write(2, b"bfsbench: interrupted\n")
    os._exit(130)


def keep_interrupts() -> None:
    """Send an interrupt again if it comes while Python runs a destructor or a callback of its own.

    Python prints exceptions in these instead of raising them. Dask's futures have destructors of this kind.
    """

    def hook(lost: UnraisableHookArgs) -> None:
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
            return
        main = threading.main_thread().ident
        assert main is not None
        again = threading.Timer(_AGAIN_S, signal.pthread_kill, (main, signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook


def main() -> None:
    """Import the command line, and run it."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, _end)
        keep_interrupts()
    from bfsbench import cli

    try:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # batch systems end a job by this signal
        cli.main()
    except KeyboardInterrupt:  # it came before the command line could handle it
        _end(signal.SIGINT, None)


if __name__ == "__main__":
    main()
