"""Times the large graphs of the papers: ``python tests/benchmarks/generators.py [SPECIFICATION ...]``."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from bfsbench.graphs.generators import generate, parse_spec

LARGE = (
    "kronecker(scale=20,edge_factor=48)",
    "rmat(n=2000000,m=64000000)",
    "uniform(n=2000000,m=64000000)",
    "small_world(n=2000000)",
    "forest_fire(n=1000000)",
    "luo_grid(n=10000000)",
    "luo_scale_free(n=10000000)",
    "dense(nodes=10240,density=25,degree=50)",
    "dense(nodes=40960)",
    "lattice(rows=3000,columns=3000)",
    "maze(rows=2000,columns=2000)",
)


def report(spec: str) -> None:
    """Print seconds, edges and peak memory of one graph; the first edge pays no compilation."""
    generate("uniform", n=2, m=1)
    name, parameters = parse_spec(spec)
    started = time.perf_counter()
    edges = generate(name, **parameters)
    seconds = time.perf_counter() - started
    arrays = edges.sources.nbytes + edges.targets.nbytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{spec:42} {seconds:7.2f} s {len(edges.sources):13,} edges "
        f"{arrays / 2**30:6.2f} GiB of edges, peak {peak / 2**30:6.2f} GiB",
        flush=True,
    )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        report(sys.argv[1])
    else:
        for large in sys.argv[1:] or LARGE:
            subprocess.run([sys.executable, __file__, large], check=True)
