"""Name the columns of result files and of level profiles, including the columns of each family.

A profile has one row for each step of one run, with the cost of the step.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from bfsbench.programs.families import families_here
from bfsbench.programs.families.base import Column
from bfsbench.variants import all_families

AXES = ("graph", "source", "variant", "backend", "grid", "block", "knobs")
"""Columns that identify a point, as ``Point.axes`` returns them."""

OUTCOME = (
    "family",  # of the variant
    "status",  # "ok", or why there is no time: wrong, cannot launch, out of memory, timeout, crash, error
    "reason",  # one line, empty when ok
    "search_ms",  # minimum of the samples
    "search_ms_median",
    "search_ms_max",
    "search_ms_samples",  # all of them, separated by ';', in the order taken
    "wall_ms",  # minimum of the host's clock around the same
    "wall_ms_samples",
    "reset_ms",  # share of search_ms spent on per-search initialisation; minimum of as many samples
    "prepare_ms",  # preparation, see Variant.prepared_ms; of rows without compile_ms with compilation
    "compile_ms",  # compiling kernels, in this process; 0 where another point has done it
    "preprocess_ms",  # preprocessing the graph, such as reordering it, done once a graph; 0 for most variants
    "parents_ms",  # finding parents, or next hops, after search_ms; empty unless asked for
    "samples_discarded",  # taken while the device throttled, and taken again
    "energy_j",  # joules of one run, of the whole board; empty unless asked for
    "power_w",  # mean power while its energy was measured
    "method",  # how it was measured where not as usual: cold, warmup=3, interleaved; then sources=RULE
    "warnings",  # warnings about the samples, separated by '; '
    "program",  # of an entry: whose program ran, its version or commit, and its licence
    "clock",  # who held the watch of search_ms: events of the device, the program itself (theirs), ours
    "covers",  # what that clock covers beside the search, of an entry: initialisation=yes transfers=no ...
    "host_mib",  # peak memory of an entry's process on the host, the graph's files included
    "device_mib",  # memory on the GPUs that an entry was seen to hold
)

GRAPH = (
    "num_vertices",
    "num_edges",  # arcs stored
    "source_id",  # what the graph's file calls the source, where vertices have names
    "graph_checksum",  # SHA-256 over the CSR arrays
    "source_checksum",  # SHA-256 of the file, or of the generator's declaration
)

PROVENANCE = (
    "gpu",
    "gpu_bus_id",  # its PCI address on the host; empty for emulated ones
    "compute_capability",
    "driver",
    "cuda",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "throttle",
    "host",
    "host_cpu",
    "python",
    "version",
    "commit",  # with "+dirty" when the tree had changes
    "code",  # digits of a hash of what ran: kernels, host loop, macros, compiler (see bench/code.py)
    "schema",
    "taken_at",  # UTC, ISO 8601
)

FIRST = ("bfs", "apsp")
"""Families whose columns every file has. The columns of other families are appended to files that have their
rows."""

_HERE = [families_here()[name] for name in FIRST]

COLUMNS = (
    *AXES,
    *OUTCOME,
    *(column.name for family in _HERE for column in family.columns),
    *GRAPH,
    *PROVENANCE,
)
"""The columns of every result file, in this order."""

PROFILE_COLUMNS = (
    *AXES,
    *(column.name for family in _HERE for column in family.profile),
    *("gpu", "commit", "taken_at"),
)
"""The columns of every file of profiles, in this order."""

ADDED = {
    "compile_ms": "",
    **{"family": "bfs", "parents_ms": "", "gops": "", "counts": "", "gpu_bus_id": "", "code": ""},
    **{"samples_discarded": "", "energy_j": "", "power_w": "", "method": "", "warnings": ""},
    **{"program": "", "clock": "", "covers": "", "host_mib": "", "device_mib": ""},
    "source_id": "",
}
"""Columns that older files lack, and the values that the rows of these files get."""

AMOUNTS = (
    *("search_ms", "search_ms_median", "search_ms_max", "wall_ms", "reset_ms", "prepare_ms", "compile_ms"),
    *("preprocess_ms", "parents_ms", "energy_j", "power_w", "host_mib", "device_mib"),
)
"""Columns of NUMERIC that hold times, energy, power or memory, which are never negative."""

NUMERIC = (
    *("source", *AMOUNTS, "samples_discarded"),
    *(column.name for family in _HERE for column in family.columns if column.numeric),
    *("num_vertices", "num_edges", "block", "sm_clock_mhz", "memory_clock_mhz"),
)
"""Columns of COLUMNS that hold a number."""

COUNTS = (
    *(
        "source",
        "samples_discarded",
        "num_vertices",
        "num_edges",
        "block",
        "sm_clock_mhz",
        "memory_clock_mhz",
    ),
    *(column.name for family in _HERE for column in family.columns if column.kind == "count"),
)
"""Columns of NUMERIC that hold whole numbers."""

SAMPLES = ("search_ms_samples", "wall_ms_samples")
"""Columns of COLUMNS that hold several numbers."""

PROFILE_NUMERIC = (
    *("source", "block"),
    *(column.name for family in _HERE for column in family.profile if column.numeric),
)
"""Columns of PROFILE_COLUMNS that hold a number."""


@cache
def appended_columns(columns: tuple[str, ...]) -> dict[str, Column]:
    """Return the columns that families outside FIRST append to files with ``columns``, by their names.

    Only files with COLUMNS or PROFILE_COLUMNS get any.
    """
    others = [family for name, family in all_families().items() if name not in FIRST]
    if columns == COLUMNS:
        found = [column for family in others for column in family.columns]
    elif columns == PROFILE_COLUMNS:
        found = [column for family in others for column in family.profile]
    else:
        found = []
    return {column.name: column for column in found if column.name not in columns}


def profile_rows(steps: Sequence[Mapping[str, str]], row: Mapping[str, str]) -> list[dict[str, str]]:
    """Return a row for each step that a family's ``Problem.profile`` returned.

    ``row`` is the point's result row.
    """
    shared = {name: row.get(name, "") for name in PROFILE_COLUMNS}
    return [{**shared, **step} for step in steps]
