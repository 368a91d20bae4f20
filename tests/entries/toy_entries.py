"""Entries for tests: programs that answer well, and programs that cheat."""

import os
import shlex
import subprocess
from contextlib import suppress
from pathlib import Path

from bfsbench.bench.measure import Machine, Timing, time_runs
from bfsbench.bench.options import Method
from bfsbench.entries.build import c_compiler
from bfsbench.entries.declaration import Entry, read
from bfsbench.entries.variant import EntryVariant, variant_of
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.search import Search
from bfsbench.support.descendants import MARK

TOYS = Path(__file__).parent / "toys"
NUM_VERTICES = 40
LINE = f"path(n={NUM_VERTICES})"
ALL = '"initialisation", "transfers", "conversion"'
"""All work that a clock may cover besides the search."""
HEAD = 'name = "{name}"\nsummary = "a toy"\nauthors = "us"\nlicence = "MIT"\nsource = "here"\n'


def entry_in(file: Path) -> Entry:
    """Returns the entry that a TOML file declares."""
    entry = read(file)
    assert entry is not None
    return entry


def write_entry(folder: Path, name: str, call: str, held_by: str = "ours", covers: str = ALL) -> Path:
    """Write the TOML file of an entry with the lines ``call`` of its table ``call``. Returns its path."""
    file = folder / f"{name}.toml"
    clock = f'[clock]\nheld_by = "{held_by}"\ncovers = [{covers}]\n'
    file.write_text(f"{HEAD.format(name=name)}[call]\n{call}\n{clock}", encoding="utf-8")
    return file


def made(file: Path, graph: Graph) -> EntryVariant:
    """Returns the variant of an entry for a graph."""
    return variant_of(entry_in(file))(graph, {})


def timed(file: Path, graph: Graph, source: int = 3) -> Timing:
    """Measure an entry as a sweep does. Returns its times."""
    variant = made(file, graph)
    return time_runs(variant, [Search(graph, source).run(variant)], Method(3), Machine(None))[0]


def compile_toys(folder: Path) -> None:
    """Make ``cheat``, ``libcheat.so`` and the module ``cheats`` in a folder."""
    compiler = shlex.split(c_compiler())
    shared = ["-shared", "-fPIC", "-o", str(folder / "libcheat.so"), str(TOYS / "cheat_library.c")]
    for words in (["-o", str(folder / "cheat"), str(TOYS / "cheat.c")], shared):
        subprocess.run([*compiler, "-w", *words], check=True)
    (folder / "cheats.py").write_bytes((TOYS / "cheats.py").read_bytes())


def declare(folder: Path, kind: str, how: str, more: str = "") -> Path:
    """Declare a toy beside the files that ``compile_toys`` made. ``more`` is added to its table ``call``.
    Returns the TOML file."""
    call = {
        "command": f'command = ["{{here}}/cheat", "{{graph}}", "{{answer}}", "{NUM_VERTICES}", "{how}"]',
        "library": f'library = "{{here}}/libcheat.so"\nfunction = "{how}"',
        "python": f'python = "cheats:{how}"',
    }[kind]
    held_by = "theirs" if kind == "command" else "ours"
    return write_entry(folder, f"toy_{kind}_{how}", f"{call}\n{more}", held_by)


def marked_processes() -> set[int]:
    """Returns the running processes of entries, except processes that other workers of pytest started."""
    worker = f"PYTEST_XDIST_WORKER={os.environ.get('PYTEST_XDIST_WORKER', '')}".encode()
    found = set()
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            environment = place.read_bytes()
            own = worker in environment or "PYTEST_XDIST_WORKER" not in os.environ
            if MARK.encode() in environment and own:
                found.add(int(place.parent.name))
    return found - {os.getpid()}
