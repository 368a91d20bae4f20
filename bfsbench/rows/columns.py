"""Define the columns of result files and level profiles, including the columns that families of problems add.

A level profile contains one row for each step of one run, with the cost of the step.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from bfsbench.programs.families import families_here
from bfsbench.programs.families.base import Column
from bfsbench.variants import all_families

AXES = ("graph", "source", "variant", "backend", "grid", "block", "knobs")
"""Columns that identify a point (one configuration to measure), as ``Point.axes`` returns them."""

OUTCOME = (
    "family",  # the variant's family
    "status",  # "ok", or why there is no time: wrong, cannot launch, out of memory, timeout, crash, error
    "reason",  # one line that says why there is no time, no level profile or no kernel_ms; else empty
    "search_ms",  # minimum of the samples
    "search_ms_median",
    "search_ms_max",
    "search_ms_samples",  # all samples in ms, separated by ';', in the order taken
    "wall_ms",  # minimum of the run times by the host's clock
    "wall_ms_samples",
    "reset_ms",  # time for the initialisation of a search, a part of search_ms; minimum of its samples
    "prepare_ms",  # preparation time (Variant.prepared_ms); includes compilation if compile_ms is empty
    "compile_ms",  # time to compile the kernels; 0 if this process has compiled them before
    "preprocess_ms",  # time to preprocess the graph once, such as reordering it; 0 for most variants
    "parents_ms",  # time to find parents or next hops after the timed runs; empty unless requested
    "samples_discarded",  # number of samples that were taken again because the device throttled
    "energy_j",  # energy of one run in joules, of the whole board; empty unless requested
    "power_w",  # mean power in watts while the energy was measured
    "kernel_ms",  # time in which at least one kernel ran, in one traced run; empty unless requested
    "kernel_launches",  # number of kernels in the traced run; each kernel of a CUDA graph counts
    "method",  # measuring options that are not defaults, such as warmup=3; then sources=RULE
    "warnings",  # warnings about the samples, separated by '; '
    "program",  # for another project's program: its authors, its version or commit, and its licence
    "clock",  # the clock of search_ms: the device's events, the program's own clock, or the host's
    "covers",  # for a program of other authors: what search_ms includes (transfers=yes) or not (=no)
    "host_mib",  # peak host memory of another project's program, including the graph's files
    "device_mib",  # largest observed GPU memory of another project's program
)

GRAPH = (
    "num_vertices",
    "num_edges",  # number of stored arcs
    "source_id",  # the source's name in the graph's file, if vertices have names
    "graph_checksum",  # SHA-256 over the CSR arrays
    "source_checksum",  # SHA-256 of the file, or of the generator's declaration
)

PROVENANCE = (
    "gpu",
    "gpu_bus_id",  # PCI address of the GPU on the host; empty for the emulator
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
    "commit",  # the git commit, with "+dirty" if files had uncommitted changes
    "code",  # start of a hash of kernels, host loop, macros and compiler (see rows/provenance.py)
    "schema",
    "taken_at",  # UTC, ISO 8601
)

FIRST = ("bfs", "apsp")
"""Families of problems whose columns every file has. A file with rows of another family also has the columns
of that family, after all other columns."""

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

ADDED = {"family": "bfs"} | dict.fromkeys(
    (
        *("compile_ms", "parents_ms", "gops", "counts", "gpu_bus_id", "code", "samples_discarded"),
        *("energy_j", "power_w", "kernel_ms", "kernel_launches", "method", "warnings"),
        *("program", "clock", "covers", "host_mib", "device_mib", "source_id"),
    ),
    "",
)
"""Columns that older files may lack, and the values that rows of such files get in these columns."""

AMOUNTS = (
    *("search_ms", "search_ms_median", "search_ms_max", "wall_ms", "reset_ms", "prepare_ms", "compile_ms"),
    *("preprocess_ms", "parents_ms", "energy_j", "power_w", "kernel_ms", "host_mib", "device_mib"),
)
"""Columns that hold times, energy, power or memory, which are never negative."""

COUNTS = (
    *("source", "samples_discarded", "num_vertices", "num_edges", "block"),
    *("sm_clock_mhz", "memory_clock_mhz", "kernel_launches"),
)
"""Columns that hold whole numbers, besides the columns of families."""

NUMERIC = (
    *(*COUNTS, *AMOUNTS),
    *(column.name for family in _HERE for column in family.columns if column.numeric),
)
"""Columns of COLUMNS that hold a number."""

SAMPLES = ("search_ms_samples", "wall_ms_samples")
"""Columns of COLUMNS that hold several numbers."""


def columns_of_numbers() -> tuple[set[str], set[str]]:
    """Return two sets of column names of result rows and level profiles: all numeric columns, and the columns
    of counts, which are whole numbers.

    The sets include the columns of all families of problems that are loaded.
    """
    families = all_families().values()
    columns = [column for family in families for column in (*family.columns, *family.profile)]
    numbers = {*COUNTS, *AMOUNTS, *(column.name for column in columns if column.numeric)}
    return numbers, {*COUNTS, *(column.name for column in columns if column.kind == "count")}


@cache
def appended_columns(columns: tuple[str, ...]) -> dict[str, Column]:
    """Return the columns that families of problems add to result files or level profiles, as a dictionary
    from the name of a column to its declaration.

    ``columns`` is COLUMNS for result files, and PROFILE_COLUMNS for level profiles. For any other value the
    dictionary is empty. The families in FIRST add no columns, because COLUMNS and PROFILE_COLUMNS contain
    their columns already.
    """
    if columns not in (COLUMNS, PROFILE_COLUMNS):
        return {}
    others = [family for name, family in all_families().items() if name not in FIRST]
    lists = [family.columns if columns == COLUMNS else family.profile for family in others]
    return {column.name: column for own in lists for column in own if column.name not in columns}


def profile_rows(steps: Sequence[Mapping[str, str]], row: Mapping[str, str]) -> list[dict[str, str]]:
    """Return one row of a level profile for each of the ``steps`` that a family's ``Problem.profile``
    returned.

    ``row`` is the result row of the profiled configuration.
    """
    shared = {name: row.get(name, "") for name in PROFILE_COLUMNS}
    return [{**shared, **step} for step in steps]
