"""Leaves out calls at basic blocks that counting has no use for, from the compiler's assembly for x86-64.

The runtime has to know when a lane jumps backwards, and from where to where. A call at a basic block tells it
how far the lane has come; so do calls at accesses to memory. As long as a lane goes forward, only the last
call counts. So a block needs its own only where

- it is the first of a function, or a backward jump leads to it;
- its call is the last one before a backward jump, before the leaving of a loop (``PART``), which asks where
  the lane is, or before the end of a function that another watched one calls.

With the others left out, the runtime learns of the same jumps, with the same ends. A function keeps all of
its calls where that is not plain to see: where it calls another one that is watched or jumps to a computed
place, and where calls do not stand next to backward jumps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

BLOCK = "__sanitizer_cov_trace_pc"
ACCESS = "__tsan_"
PART = "_ZN3emu4partEv"

_FUNCTION = re.compile(r"^\s*\.type\s+([^,\s]+),\s*@function")
_SIZE = re.compile(r"^\s*\.size\s")
_LABEL = re.compile(r"^([.\w$]+):")
_CALL = re.compile(r"^\s*call[ql]?\s+\*?([\w.$]+)")
_JUMP = re.compile(r"^\s*(?:notrack\s+)?j\w+\s+(\S+)")
_RETURN = re.compile(r"^\s*(?:rep[z ]*\s*)?ret\b")
_LEAVES = re.compile(r"^\s*(?:jmp|(?:rep[z ]*\s*)?ret|ud2)\b")
"""What is behind is not reached from here."""


def without_idle_blocks(assembly: str) -> str:
    """The assembly without calls that tell nothing; other machines' is returned as it is."""
    lines = assembly.splitlines(keepends=True)
    bodies = dict(_functions(lines))
    calls = {name: {called for i in body if (called := _calls(lines[i]))} for name, body in bodies.items()}
    watched = {name for name in bodies if calls[name] & {BLOCK, ACCESS}}
    inner = {called for name in watched for called in calls[name]}
    dropped: set[int] = set()
    for name in watched:
        if watched.isdisjoint(calls[name]):
            dropped |= _idle(lines, bodies[name], returns=name in inner)
    return "".join(line for i, line in enumerate(lines) if i not in dropped)


def _functions(lines: Sequence[str]) -> Iterator[tuple[str, range]]:
    """Each function's name and the lines from its type to its size."""
    name, begin = "", 0
    for i, line in enumerate(lines):
        if found := _FUNCTION.match(line):
            name, begin = found.group(1), i
        elif name and _SIZE.match(line):
            yield name, range(begin, i)
            name = ""


def _calls(line: str) -> str:
    """What is called: BLOCK, ACCESS for each kind of access, another function's name; empty if nothing is."""
    found = _CALL.match(line)
    if not found:
        return ""
    return ACCESS if found.group(1).startswith(ACCESS) else found.group(1)


def _idle(lines: Sequence[str], body: range, returns: bool) -> set[int]:
    """The lines of a function's calls at blocks that can be left out; ``returns``: its end counts."""
    labels = {found.group(1): i for i in body if (found := _LABEL.match(lines[i]))}
    jumps = {i: found.group(1) for i in body if (found := _JUMP.match(lines[i]))}
    if not labels.keys() >= set(jumps.values()):  # a computed place, or another function
        return set()
    blocks = [i for i in body if _calls(lines[i]) == BLOCK]
    joins = {labels[target] for target in jumps.values()}
    back = {i: labels[target] for i, target in jumps.items() if labels[target] < i}
    asks = [i for i in body if _calls(lines[i]) == PART or (returns and _RETURN.match(lines[i]))]
    needed = [_last_before(lines, i, body.start, joins) for i in (*back, *asks)]
    needed += [_first_behind(lines, target, body.stop) for target in back.values()]
    return set() if None in needed else set(blocks[1:]).difference(needed)


def _tells(line: str) -> bool:
    return _calls(line) in (BLOCK, ACCESS)


def _last_before(lines: Sequence[str], end: int, begin: int, joins: set[int]) -> int | None:
    """The last call before a line that tells where the lane is; None if that depends on the way there."""
    for i in range(end - 1, begin, -1):
        if _tells(lines[i]):
            return i
        if i in joins or _LEAVES.match(lines[i]):
            return None
    return None


def _first_behind(lines: Sequence[str], begin: int, end: int) -> int | None:
    """The first call behind a line that tells where the lane is; None if that depends on the way on."""
    for i in range(begin, end):
        if _tells(lines[i]):
            return i
        if _JUMP.match(lines[i]) or _RETURN.match(lines[i]):
            return None
    return None
