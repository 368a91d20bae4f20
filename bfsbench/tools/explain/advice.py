"""Says what bounds the predicted time of a search, and which source lines use memory or lanes badly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from bfsbench.rows.ceilings import Ceilings
from bfsbench.rows.counters import Counted, ProgramCounters
from bfsbench.support.errors import plural
from bfsbench.tools.explain import (
    MULTIPROCESSORS,
    SECTOR,
    WARM,
    Prediction,
    costs_by_file,
    kernels_us,
    predict,
)

_WASTEFUL, _FEW_LANES, _MANY_EXECUTIONS = 2, 8, 32
"""Limits for the remarks on a source line. There is a remark if it accesses more than ``_WASTEFUL`` times as
many sectors as it needs, or if an execution has more than ``_WASTEFUL`` collisions. There is also a remark if
fewer than ``_FEW_LANES`` lanes are active, and the line has at least ``_MANY_EXECUTIONS`` executions."""

_ADVICE = {
    "latency": (
        "the longest warp of each {level} waits for one access after the other.",
        "Share the work of this warp among more lanes, and avoid loads whose address comes from a load.",
    ),
    "throughput": ("memory is busy with sectors.", "Access fewer sectors."),
    "contention": (
        "atomic operations on one word wait for each other.",
        "Spread them over several words, or let one lane add for its warp.",
    ),
    "banks": (
        "shared memory is busy with passes, one per access of a warp and one per bank conflict.",
        "Let the lanes of a warp access different banks.",
    ),
}
"""What happens in each part of a kernel's predicted time, and what shortens this part. ``{level}`` stands for
the word for a level."""
_FEWER_LAUNCHES = "Run several levels in one launch, or use a CUDA graph."
_FEWER_WAITS = "Let the host wait less often."
_MORE_PER_LAUNCH = "Do more work per launch."
_LARGER_INPUT = "The input is small: with a larger input, the predicted time depends more on the kernels."

_COPIED_GB_PER_S = 25.0
"""Assumed rate of copies between the host and the GPU, in GB/s. PCIe of the fourth generation with 16 lanes
copies pinned memory at about this rate. No probe measures it."""
_DECIMAL_UNITS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1))
_OTHERS = "The next remarks do not concern the bound, so repairs of them shorten the time by little."
_MOST_ADVICE = 4
"""Largest number of lines of advice in a summary."""


def summary(counted: Counted, ceilings: Ceilings, level: int | None) -> tuple[list[str], list[str]]:
    """Returns two lists of lines. The first has the two to six lines that sum up a search or program: its
    predicted time, and the most important advice. The second has all other lines of advice. ``level`` chooses
    one level for the advice.
    """
    found = predict(counted, ceilings)
    size = plural(counted.launches["level"].nunique(), counted.level_name)
    lines = list(advice(counted, found, kernels_us(counted, ceilings), level))
    most = _MOST_ADVICE - (lines[_MOST_ADVICE - 1 :][:1] == [_OTHERS])
    predicted = f"predicted {found.search_ms:.3g} ms on one {ceilings.gpu} (not a measurement)"
    begin = f"{counted.title}: {size}, {predicted}"
    return [begin, *left_out(counted, found), *lines[:most]], lines[most:]


def bounds(counted: Sequence[Counted], ceilings: Ceilings, level: int | None) -> Iterator[str]:
    """Yields lines that say what bounds the predicted time of each search, or of each run of a program. For
    runs of a program, lines follow that say what the predicted time leaves out. ``level`` chooses one
    level."""
    for of in counted:
        found = predict(of, ceilings)
        if level is None or (of.lines["level"] == level).any():
            yield f"{of.title}: {next(advice(of, found, kernels_us(of, ceilings), level))}"
        yield from (f"{of.title}: {line}" for line in left_out(of, found))


def left_out(counted: Counted, found: Prediction) -> list[str]:
    """Returns a line that says which parts of a program's time are not in the predicted time. Returns no line
    for a search. If the host's copies would take longer than the predicted time, the line says so."""
    if not isinstance(counted, ProgramCounters):
        return []
    if not counted.copies:
        return ["The predicted time leaves out arithmetic."]
    number = "1 copy" if counted.copies == 1 else f"{counted.copies:,} copies"
    unit, factor = next((unit, of) for unit, of in _DECIMAL_UNITS if counted.copied_bytes >= of)
    size = f"{counted.copied_bytes / factor:.3g} {unit}"
    line = f"The predicted time leaves out arithmetic and the host's copies ({number}, {size})."
    if _copies_dominate(counted, found):
        line += (
            f" At an assumed {_COPIED_GB_PER_S:g} GB/s, the copies take {_copies_ms(counted):.3g} ms, longer "
            "than the predicted time: copy less, or keep data on the GPU."
        )
    return [line]


def _copies_ms(counted: ProgramCounters) -> float:
    return counted.copied_bytes / _COPIED_GB_PER_S / 1e6


def _copies_dominate(counted: Counted, found: Prediction) -> bool:
    """Returns whether a program's copies would take longer than its predicted time."""
    return isinstance(counted, ProgramCounters) and _copies_ms(counted) > found.search_ms


def advice(counted: Counted, found: Prediction, kernels: pd.DataFrame, level: int | None) -> Iterator[str]:
    """Yields lines of advice on how to shorten the predicted time.

    The first line names the largest part of the predicted time (the bound), and says how to shorten it.
    Remarks on source lines follow: first the remarks that concern the bound, then all others. ``found`` comes
    from ``predict``, and ``kernels`` from ``kernels_us``. ``level`` chooses one level. By default, all levels
    count.
    """
    parts = kernels / 1e3
    if level is None:
        bound, whole_ms = found.bound, found.search_ms
        part_ms = float(getattr(found, f"{bound}_ms"))
    else:
        parts = parts.loc[[level]]
        bound, whole_ms = str(parts.sum().idxmax()), float(parts.max(axis=1).sum())
        part_ms = float(parts[bound].sum())
    on = _on_launches(counted, found) if bound == "launches" else _on(bound, counted, parts)
    yield f"bound by {bound}, {part_ms:.3g} ms of the predicted {whole_ms:.3g} ms: {on}"
    every = [*remarks(counted, level)]
    yield from (text for part, text in every if part == bound)
    if others := [text for part, text in every if part != bound]:
        yield _OTHERS
        yield from others


def _on(bound: str, counted: Counted, parts: pd.DataFrame) -> str:
    """Returns the advice on how to shorten the part ``bound`` of the predicted time. ``parts`` are the times
    that ``kernels_us`` returns. ``bound`` is not "launches", which ``_on_launches`` advises on.

    For all parts except contention, the advice also names the costliest level if its launches leave
    multiprocessors without a block.
    """
    what, repair = _ADVICE[bound]
    what = what.format(level=counted.level_name)
    few = "" if bound == "contention" else _few_blocks(counted, *parts.index[int(parts[bound].argmax())])
    return f"{what} {few}{repair}"


def _on_launches(counted: Counted, found: Prediction) -> str:
    """Returns the advice on how to shorten the time that the host needs for launches and waits.

    For a search of several launches, the advice is to run its levels in fewer launches. For a program, the
    advice is to wait less often and to launch less often. A larger input is advised for a search of one
    launch, and for a program whose copies take less than the predicted time.
    """
    launches = counted.launches["launch"].nunique()
    what = f"the launches ({launches}) and the host's waits for their results ({counted.waits})."
    if counted.has_levels:
        return f"{what} {_FEWER_LAUNCHES if launches > 1 else _LARGER_INPUT}"
    repairs = {
        _FEWER_WAITS: counted.waits > 1,
        _MORE_PER_LAUNCH: launches > 1,
        _LARGER_INPUT: not _copies_dominate(counted, found),
    }
    return " ".join([what, *(text for text, helps in repairs.items() if helps)])


def _few_blocks(counted: Counted, level: int, kernel: str) -> str:
    """Returns a sentence of advice if the launches of ``kernel`` in ``level`` have fewer blocks than the GPU
    has multiprocessors. Otherwise returns an empty string."""
    launches = counted.launches[(counted.launches["level"] == level) & (counted.launches["kernel"] == kernel)]
    blocks = int(launches["blocks"].max())
    if blocks >= MULTIPROCESSORS:
        return ""
    have = "has" if blocks == 1 else "have"
    larger = ", or search a larger graph" if counted.has_levels else ""
    return (
        f"In {counted.level_name} {level}, only {blocks} of an H200's {MULTIPROCESSORS} multiprocessors "
        f"{have} a block: launch more blocks{larger}. "
    )


def remarks(counted: Counted, level: int | None) -> Iterator[tuple[str, str]]:
    """Yields remarks on source lines that cause a large share of the cost, and use memory or lanes badly.
    Each element is a pair: the part of the predicted time that the remark concerns, such as "latency", and
    the remark.

    Remarks on the costliest line come first. ``level`` chooses one level. By default, all levels count.
    """
    lines = counted.lines if level is None else counted.lines[counted.lines["level"] == level]
    costs = [
        (cost.share, file, number)
        for file, of in costs_by_file(counted, level).items()
        for number, cost in of.items()
    ]
    for share, file, number in sorted(costs, key=lambda cost: -cost[0]):
        if share >= WARM:
            here = lines[(lines["file"] == file) & (lines["line"] == number)]
            yield from ((part, f"{file}:{number}: {text}") for part, text in _remarks_on(here))


def _remarks_on(line: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yields remarks on the accesses of one source line. Each element is a pair: the part of the predicted
    time that the remark concerns, such as "latency", and the remark. ``line`` holds the rows of counters of
    this line.
    """
    on_global = line[line["memory"] == "global"]
    executions, sectors = int(on_global["executions"].sum()), int(on_global["sectors"].sum())
    needed = int(on_global["bytes"].sum()) / SECTOR
    if sectors > _WASTEFUL * max(needed, executions):
        yield (
            "throughput",
            f"a warp accesses {sectors / executions:.1f} sectors at a time, and its lanes use "
            f"{needed / sectors:.0%} of the bytes. Let neighbouring lanes access neighbouring words.",
        )
    conflicts, on_shared = int(line["conflicts"].sum()), line[line["memory"] == "shared"]
    if conflicts > on_shared["executions"].sum():
        yield (
            "banks",
            f"{conflicts:,} bank conflicts in {on_shared['executions'].sum():,} accesses of warps to shared "
            f"memory. {_ADVICE['banks'][1]}",
        )
    all_executions = int(line["executions"].sum())
    lanes = int(line["lanes"].sum()) / max(1, all_executions)
    if lanes < _FEW_LANES and all_executions >= _MANY_EXECUTIONS:
        yield "latency", f"on average {lanes:.1f} of 32 lanes are active. The others wait."
    collisions = int(line["collisions"].sum())
    if collisions > _WASTEFUL * all_executions:
        text = f"{collisions:,} lanes of atomic operations meet another lane of their warp on one word."
        yield "contention", text
