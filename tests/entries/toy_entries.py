"""Entries for tests: programs that answer well, and programs that cheat."""

import os
import shlex
import subprocess
from pathlib import Path

from bfsbench.entries.build import c_compiler
from bfsbench.entries.declaration import Entry, read
from bfsbench.support.descendants import MARK

TOYS = Path(__file__).parent / "toys"
NUM_VERTICES = 40
LINE = f"path(n={NUM_VERTICES})"
HEAD = 'name = "{name}"\nsummary = "a toy"\nauthors = "us"\nlicence = "MIT"\nsource = "here"\n'


def entry_in(file: Path) -> Entry:
    """The entry that a TOML file declares."""
    entry = read(file)
    assert entry is not None
    return entry


def compile_toys(folder: Path) -> None:
    """Make ``cheat`` and ``libcheat.so``, and put the Python functions beside them."""
    compiler = shlex.split(c_compiler())
    shared = ["-shared", "-fPIC", "-o", str(folder / "libcheat.so"), str(TOYS / "cheat_library.c")]
    for words in (["-o", str(folder / "cheat"), str(TOYS / "cheat.c")], shared):
        subprocess.run([*compiler, "-w", *words], check=True)
    (folder / "cheats.py").write_bytes((TOYS / "cheats.py").read_bytes())


def declare(folder: Path, kind: str, how: str, more: str = "") -> Path:
    """The TOML file of a toy beside what ``compile_toys`` made; ``more`` belongs to its table ``call``."""
    call = {
        "command": f'command = ["{{here}}/cheat", "{{graph}}", "{{answer}}", "{NUM_VERTICES}", "{how}"]',
        "library": f'library = "{{here}}/libcheat.so"\nfunction = "{how}"',
        "python": f'python = "cheats:{how}"',
    }[kind]
    held = "theirs" if kind == "command" else "ours"
    clock = f'[clock]\nheld_by = "{held}"\ncovers = ["initialisation", "transfers", "conversion"]\n'
    name = f"toy_{kind}_{how}"
    file = folder / f"{name}.toml"
    file.write_text(f"{HEAD.format(name=name)}[call]\n{call}\n{more}\n{clock}", encoding="utf-8")
    return file


def marked_processes() -> set[int]:
    """The processes of entries that run now, without those that tests beside this one have started."""
    worker = f"PYTEST_XDIST_WORKER={os.environ.get('PYTEST_XDIST_WORKER', '')}".encode()
    found = set()
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = place.read_bytes()
            own = worker in environment or "PYTEST_XDIST_WORKER" not in os.environ
            if MARK.encode() in environment and own and int(place.parent.name) != os.getpid():
                found.add(int(place.parent.name))
        except OSError:
            pass
    return found
