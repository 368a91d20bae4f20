"""Start the program ``bfsbench``. The command ``python -m bfsbench`` starts it, too."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Never

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

    from bfsbench.support.interrupts import Ending

_AGAIN_S = 0.02
"""Seconds until a lost interrupt is sent again. The destructor or callback that lost it has then ended."""


def _end(_number: int, _frame: FrameType | None) -> Never:
    """Handle an interrupt that comes before the command line can handle it: print one line instead of a
    traceback, and exit with code 130.
    """
    os.write(2, b"bfsbench: interrupted\n")
    os._exit(130)


def keep_interrupts(ending: Ending) -> None:
    """Send an interrupt to the main thread again if Python has lost it.

    In a destructor and in some callbacks, Python prints a KeyboardInterrupt instead of raising it. Dask's
    futures have destructors, so an interrupt during a sweep on a cluster may be lost.
    """

    def hook(lost: UnraisableHookArgs) -> None:
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
            return
        ending.forget()
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
    from bfsbench import cli
    from bfsbench.support.descendants import become_parent_of_orphans
    from bfsbench.support.interrupts import INTERRUPTED, Ending, leave

    ending = Ending()
    if usual:
        keep_interrupts(ending)
    become_parent_of_orphans()  # `leave` can then end the processes that a killed compiler has started
    try:
        if usual:
            signal.signal(signal.SIGINT, ending)
        signal.signal(signal.SIGTERM, ending)  # batch systems end a job by this signal
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # false under nohup, which ignores the signal
            signal.signal(signal.SIGHUP, ending)
        cli.main()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            leave()
        raise
    except KeyboardInterrupt:  # it came before the command line could handle interrupts
        _end(signal.SIGINT, None)


if __name__ == "__main__":
    main()
