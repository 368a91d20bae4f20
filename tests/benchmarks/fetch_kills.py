"""Kills 'bfsbench fetch' at random moments, and checks that no later command trusts unfinished files.

    nice python -m tests.benchmarks.fetch_kills --kills 200 --seed 1

A graph is fetched from a server on this machine into an empty cache. The fetch is killed with SIGKILL some
times, while it downloads or converts, and then left to finish. After each kill

* a file that counts as fetched has the checksum of the file on the server,
* a file that counts as converted is the graph, every byte of it.

In the end the graph is there, and the cache holds no unfinished file. The server has sent again only bytes
that were in transit at a kill.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bfsbench.graphs import files, load
from bfsbench.graphs.catalogue import Catalogue
from tests.benchmarks.shared import asked
from tests.fetch.fetch_server import Server, entry, serving, sha256, snap

NUM_EDGES = 400_000
PACE_S = 0.002
"""Seconds between pieces of 16 KiB, with which a download takes about as long as the conversion."""
MOST_KILLS = 6
"""The most kills of one fetch."""


def a_graph() -> bytes:
    ends = np.random.default_rng(1).integers(0, 50_000, (NUM_EDGES, 2))
    return b"# drawn at random\n" + "".join(f"{a}\t{b}\n" for a, b in ends.tolist()).encode()


def check(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"{os.environ['BFSBENCH_CACHE']}: {what}")


def look(body: bytes, expected: str, counts: Counter[str]) -> None:
    """Check the files that a later command would trust."""
    dataset = Catalogue.load().get("tiny")
    found = files.held(dataset)
    if found is not None:
        check(files.sha256_of(found.path) == found.checksum == sha256(body), "a wrong file is trusted")
        counts["found fetched"] += 1
        if load.stored(load.request_for(dataset), found) is not None:
            graph = load.load("tiny")
            check(graph.checksum == expected, "a wrong graph is trusted")
            counts["found converted"] += 1


def fetch() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bfsbench", "fetch", "tiny", "--insecure"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def begin(folder: Path) -> None:
    """Begin with an empty cache, which shares nothing but compiled code."""
    (folder / "cache").mkdir(parents=True)
    (folder / "cache" / "native").symlink_to(folder.parent / "native")
    os.environ["BFSBENCH_CACHE"] = str(folder / "cache")
    os.environ["BFSBENCH_CHECKSUMS"] = str(folder / "checksums.json")


def unkilled(folder: Path) -> tuple[str, float]:
    """Returns the checksum of the graph, and the seconds that a fetch of it takes."""
    begin(folder)
    began = time.monotonic()
    with fetch() as process:
        check(process.wait() == 0, "a fetch failed that was not killed")
    return load.load("tiny").checksum, time.monotonic() - began


def trial(server: Server, body: bytes, expected: str, moments: Sequence[float]) -> Counter[str]:
    """Fetch into an empty cache, and kill the fetch after each of ``moments`` in s. Returns what happened."""
    counts: Counter[str] = Counter(fetches=1)
    sent = server.sent("tiny.txt")
    for moment in moments:
        with fetch() as process:
            try:
                process.wait(moment)
                counts["fetches that were faster"] += 1
                break
            except subprocess.TimeoutExpired:
                process.kill()
                counts["kills"] += 1
        look(body, expected, counts)
    with fetch() as process:
        check(process.wait() == 0, "the last fetch failed")
    look(body, expected, counts)
    cache = Path(os.environ["BFSBENCH_CACHE"])
    left = [path for path in cache.rglob("*") if ".part" in path.name or "building" in path.name]
    check(left == [], f"unfinished files are left: {left}")
    pieces = len(moments) * (1 << 20)
    check(server.sent("tiny.txt") - sent <= len(body) + pieces, "more was sent again than was lost by kills")
    return counts


def main() -> None:
    given = asked(__doc__, kills=200, seed=1)
    draw, body, counts = random.Random(given.seed), a_graph(), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="fetch-kills-") as place, serving() as server:
        folder = Path(place)
        (folder / "native").mkdir()
        server.add("tiny.txt", body, pace=PACE_S)
        catalogue = folder / "mine.toml"
        catalogue.write_text(entry(snap(f"{server.url}/tiny.txt"), more=""))
        os.environ["BFSBENCH_DATASETS"] = str(catalogue)
        unkilled(folder / "compiling")
        expected, took_s = unkilled(folder / "timed")
        began = time.monotonic()
        while counts["kills"] < given.kills:
            begin(folder / f"trial-{counts['fetches']}")
            kills = min(draw.randint(1, MOST_KILLS), given.kills - counts["kills"])
            moments = [draw.uniform(0.2, 1.1) * took_s for _ in range(kills)]
            found = trial(server, body, expected, moments)
            took_s *= 0.8 if found["fetches that were faster"] else 1.02  # as other work comes and goes
            counts += found
            told = ", ".join(f"{count} {what}" for what, count in counts.items())
            print(f"{time.monotonic() - began:.0f} s: {told}; nothing unfinished was trusted", flush=True)


if __name__ == "__main__":
    main()
