"""Reads thousands of malformed graph files, each of which must be read correctly or refused with one line.

    python -m tests.benchmarks.malformed_files [--files 10000] [--seed 1] [--keep DIR]

Small valid files of every format, in every packing, are changed at random: bytes, numbers, lines, line ends
and sizes, in the text or in the packed file. Each is then read within 3 GiB of address space and 20 seconds.
An edge list that comes back must equal what a slow reader, written line by line after the formats'
descriptions, finds in the same text; an error must be a BfsbenchError of one line that names the file.
Prints the counts, and the files that break a rule; the exit code is 1 then.

Of 100,000 files drawn by seed 43, and 100,000 drawn by seed 2026, none broke a rule.
"""

import argparse
import contextlib
import io
import random
import re
import resource
import signal
import tempfile
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import networkx
import numpy as np
import pandas as pd
import scipy.sparse

from bfsbench.graphs.archives import open_text
from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.formats import read_edges
from bfsbench.graphs.graph import EdgeList
from bfsbench.support.errors import BfsbenchError, NotEnoughMemoryError
from tests.benchmarks.plain_readers import READERS, RefusedError
from tests.graphs.texts import PACKINGS, dimacs9, metis, mtx, pairs, snap

EDGES = [(0, 1), (3, 1), (1, 2), (2, 0), (0, 3), (4, 11), (11, 7)]
UNDIRECTED = [(0, 1), (1, 3), (0, 3), (2, 3), (4, 5)]
SEEDS: dict[str, list[tuple[str, str]]] = {
    "snap": [
        ("g.txt", snap(EDGES)),
        ("g.txt", "# Nodes: 7 Edges: 7\n" + "".join(f"{u} {v} {u + v}\n" for u, v in EDGES)),
    ],
    "dimacs9": [("g.gr", dimacs9(EDGES, 12)), ("g", dimacs9(EDGES, 12))],
    "mtx": [
        ("g.mtx", mtx(EDGES, 12)),
        (
            "g.mtx",
            mtx([(v, u) for u, v in EDGES], 12, "symmetric")
            .replace("pattern", "real")
            .replace("2\n", "2 1e3\n"),
        ),
        ("g.mtx", "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 7\n3 1 -2\n"),
    ],
    "metis": [("g.graph", metis(UNDIRECTED, 6)), ("g.graph", "3 2 011 2\n5 5 2 7\n5 5 1 7 3 8\n5 5 2 8\n")],
}
SEEDS["csv"] = [
    ("g.csv", "source,target,weight\n" + "".join(f"{u},{v},{u + 2}\n" for u, v in EDGES)),
    ("g.csv", "id;from;to\n" + "".join(f"e{u};{u};{v}\n" for u, v in EDGES)),
    ("g.tsv", "".join(f"Node {u}\tNode {v}\t1\n" for u, v in EDGES)),
    ("g.csv", "// names\n" + "".join(f'"n,{u}",n{v}\n' for u, v in EDGES)),
]
LARGE_NUMBERS = ["2147483647", "2147483648", "9223372036854775807", "9" * 30]
NUMBERS = ["0", "-1", "1", *LARGE_NUMBERS, "1e5", "0x1", "", "\0", "é"]
ENDS = ["\r", "\r\n", "\n\n", " \n", "\v\n", "\n\x0c", "\n%\n", "\n#\n", "\nc\n"]
SECONDS = 20
ADDRESS_SPACE = 3 << 30


def change_text(text: str, dice: random.Random) -> bytes:
    """Returns the text with one to three plausible changes."""
    for _ in range(dice.randint(1, 3)):
        lines = text.split("\n")
        row = dice.randrange(len(lines))
        words = lines[row].split(" ")
        match dice.randrange(9):
            case 0:
                words[dice.randrange(len(words))] = dice.choice(NUMBERS)
                lines[row] = " ".join(words)
            case 1:
                words.insert(dice.randrange(len(words) + 1), dice.choice(NUMBERS))
                lines[row] = " ".join(words)
            case 2:
                lines.insert(row, lines[dice.randrange(len(lines))])
            case 3:
                del lines[row]
            case 4:
                lines[row] = lines[row][: dice.randrange(len(lines[row]) + 1)]
            case 5:
                lines[row] = lines[row].replace(dice.choice(" \t123"), dice.choice(" ,;\t\r\v0-"), 1)
            case 6:
                lines[row] = dice.choice(["# ", "% ", "c ", "a ", "//", "\ufeff", " ", "\t"]) + lines[row]
            case 7:
                lines[row] = lines[row] + " " + " ".join(["7"] * dice.choice([1, 2, 5000]))
            case 8:
                end = dice.choice(ENDS)
                lines = [end.join(lines)]
        text = "\n".join(lines)
    return text.encode()


def change_bytes(content: bytes, dice: random.Random) -> bytes:
    """Returns the content with bytes changed, cut out, repeated or cut off."""
    changed = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        if not changed:
            break
        at = dice.randrange(len(changed))
        match dice.randrange(4):
            case 0:
                changed[at] = dice.randrange(256)
            case 1:
                del changed[at : at + dice.randint(1, 40)]
            case 2:
                changed[at:at] = changed[max(0, at - dice.randint(1, 600)) : at]
            case 3:
                del changed[max(1, at) :]
    return bytes(changed)


def binary_seeds() -> dict[str, tuple[str, bytes]]:
    """Returns the names and contents of files that libraries write, by their formats."""
    frame = pd.DataFrame(EDGES, columns=["source", "target"])
    parquet, arrow, npy, npz, graphml, gml = (io.BytesIO() for _ in range(6))
    frame.to_parquet(parquet)
    frame.to_feather(arrow)
    np.save(npy, frame.to_numpy())
    ends = frame.to_numpy().T
    scipy.sparse.save_npz(
        npz, scipy.sparse.coo_array((np.ones(len(EDGES)), (ends[0], ends[1])), shape=(12, 12))
    )
    nodes = networkx.MultiDiGraph([(f"n{u}", f"n{v}") for u, v in EDGES])
    networkx.write_graphml(nodes, graphml)
    networkx.write_gml(nodes, gml)
    files = {"parquet": parquet, "arrow": arrow, "npy": npy, "npz": npz, "graphml": graphml, "gml": gml}
    return {form: (f"g.{form}", file.getvalue()) for form, file in files.items()}


@dataclass(frozen=True)
class Case:
    form: str
    name: str
    content: bytes


def cases(count: int, dice: random.Random) -> Iterator[Case]:
    """Yields files of any format in any packing, changed before or after they are packed."""
    binary = binary_seeds()
    forms, packings = [*SEEDS, *binary], list(PACKINGS)
    for _ in range(count):
        form, packing = dice.choice(forms), dice.choice(["", "", *packings])
        if form in binary:
            name, whole = binary[form]
            yield Case(form, name, change_bytes(whole, dice))
            continue
        name, text = dice.choice(SEEDS[form])
        if packing and dice.random() < 0.5:
            content = change_bytes(PACKINGS[packing](text.encode(), name), dice)
        else:
            changed = change_bytes(text.encode(), dice) if dice.random() < 0.3 else change_text(text, dice)
            content = PACKINGS[packing](changed, name)
        yield Case(form, name + packing, content)


def judge(case: Case, path: Path) -> str:
    """Returns the outcome for a file: ``read``, ``refused``, or a broken rule."""
    path.write_bytes(case.content)
    try:
        edges = read_edges(path, Recipe(format=case.form))
    except NotEnoughMemoryError as error:
        return "refused: memory" if one_line(error, path) else f"BROKEN: said {error}"
    except BfsbenchError as error:
        if not one_line(error, path):
            return f"BROKEN: said {error}"
        if case.form not in SEEDS or refused_plainly(case.form, path):
            return "refused"
        return f"BROKEN: refused a valid file: {error}"
    except BaseException:
        return f"BROKEN: {traceback.format_exc()}"
    found = called(edges)
    try:
        expected = READERS[case.form](text_of(case.form, path))
    except RefusedError as error:
        return f"BROKEN: read {found}, although {error}"
    if case.form not in SEEDS:  # libraries may keep edges in another order
        found, expected = sorted(found), sorted(expected)
    return "read" if found == expected else f"BROKEN: read {found}, not {expected}"


def called(edges: EdgeList) -> list[tuple[int, int]] | list[tuple[str, str]]:
    """Returns the edges by the ids or names of the file."""
    if edges.names is None:
        return pairs(edges)
    names = list(edges.names)
    return [(names[u], names[v]) for u, v in zip(edges.sources, edges.targets, strict=True)]


def one_line(error: BfsbenchError, path: Path) -> bool:
    text = str(error)
    return str(path) in text and "\n" not in text and text.isprintable() and len(text) < 1000


def refused_plainly(form: str, path: Path) -> bool:
    """Returns whether the slow reader refuses the file too."""
    try:
        READERS[form](text_of(form, path))
    except (RefusedError, BfsbenchError):
        return True
    return False


def text_of(form: str, path: Path) -> bytes:
    if form not in SEEDS:
        return path.read_bytes()
    with open_text(path) as source:
        return b"".join(iter(lambda: source.read(1 << 16), b""))


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """Meanwhile too much memory is a MemoryError, and too much time a TimeoutError."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {SECONDS} s")

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.signal(signal.SIGALRM, before)


def attack(files: int, seed: int, folder: Path, keep: Path | None, say: Callable[[str], None]) -> int:
    """Read the files and print the outcomes. Returns the number of files that broke a rule."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    broken = 0
    with limits():
        for number, case in enumerate(cases(files, random.Random(seed))):
            signal.alarm(SECONDS)
            outcome = judge(case, folder / case.name)
            signal.alarm(0)
            (folder / case.name).unlink()
            counts[case.form][re.split("[:,]", outcome)[0] if "BROKEN" in outcome else outcome] += 1
            if outcome.startswith("BROKEN"):
                broken += 1
                say(f"{number}: {case.form} {case.name}: {case.content[:300]!r}\n  {outcome}")
                if keep:
                    (keep / f"{number}-{case.name}").write_bytes(case.content)
    for form, found in sorted(counts.items()):
        say(f"{form:10}" + "".join(f"  {count:6,} {outcome}" for outcome, count in sorted(found.items())))
    say(f"{files:,} files, {broken} broke a rule")
    return broken


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the files that break a rule")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broken = attack(options.files, options.seed, Path(folder), options.keep, print)
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
