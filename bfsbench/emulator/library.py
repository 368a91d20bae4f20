"""Builds and loads the C++ parts of the emulator: the runtime, and the compiled kernels.

In a counting build, the compiler inserts a call of the runtime at each basic block and at each memory access.
Each call reports the position of a lane. The runtime must know every backward jump of a lane: where it begins
and where it ends. Calls at basic blocks that the runtime does not need for this purpose are removed. A call
at the beginning of a basic block is kept only in these cases:

- The block is the first block of a function, or a backward jump leads to it.
- The call is the last one before a backward jump, or before a lane leaves a loop early (a call of ``PART``).
- The call is the last one before the end of a function, and another function with calls of the runtime calls
  this function.

A function keeps all its calls if it calls another function with calls of the runtime, or if it jumps to
another function or to a computed address. It also keeps all calls if a needed call is not the same on all
execution paths. For example, different calls may be the last ones before one backward jump.
"""

import ctypes
import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bfsbench.emulator.translate import translate
from bfsbench.kernels.source import texts
from bfsbench.support import storage
from bfsbench.support.errors import ToolchainError
from bfsbench.support.paths import cache_dir
from bfsbench.support.toolchain import build_library, compiler, compiler_version, writing

BLOCK = "__sanitizer_cov_trace_pc"
ACCESS = "__tsan_"
PART = "_ZN3emu4partEv"

_FUNCTION = re.compile(r"^\s*\.type\s+([^,\s]+),\s*@function")
_END_OF_FUNCTION = re.compile(r"^\s*\.size\s")
_LABEL = re.compile(r"^([.\w$]+):")
_CALL = re.compile(r"^\s*call[ql]?\s+\*?([\w.$]+)")
_JUMP = re.compile(r"^\s*(?:notrack\s+)?j\w+\s+(\S+)")
_RETURN = re.compile(r"^\s*(?:rep[z ]*\s*)?ret\b")
_IDLE_LINES = re.compile(r"^((?:(?:[.\w$]+:|\s*\.\w[^\n]*)\n)++)(\s*jmp\s+([.\w$]+)\n)?", re.M)
"""Matches all successive lines without instructions (directives and labels), and a jump if it is next.

The jump is optional and the repetition keeps what it has matched, so that each line is read once. Debug
information has thousands of successive lines without instructions.
"""
_LEAVES = re.compile(r"^\s*(?:jmp|(?:rep[z ]*\s*)?ret|ud2)\b")
"""Matches instructions after which the processor does not continue with the next line."""


def without_idle_blocks(assembly: str) -> str:
    """Removes calls from the assembly code of kernels. The compiler has inserted a call of the runtime at
    each basic block, and the runtime does not need all of these calls (see the module's docstring). Returns
    the new code. Assembly code of processors other than x86-64 is returned unchanged."""
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


def with_calls_in_empty_loops(assembly: str) -> str:
    """Inserts a call of the runtime into each loop of the assembly code that consists only of a jump to
    itself. Returns the new code. g++ inserts no call there, so a thread in the loop would never end, and no
    other thread could run.

    No value is live in such a loop, so the call may change all registers. Assembly code of processors other
    than x86-64 is returned unchanged.
    """
    if not _IS_X86_64:
        return assembly

    def with_call(found: re.Match[str]) -> str:
        before, jump, label = found.groups()
        if not jump or f"\n{label}:\n" not in f"\n{before}":
            return found.group()
        return f"{before}\tandq\t$-16, %rsp\n\tcall\t{BLOCK}@PLT\n{jump}"

    return _IDLE_LINES.sub(with_call, assembly)


def _functions(lines: Sequence[str]) -> Iterator[tuple[str, range]]:
    """Yields the name of each function in assembly code, and its range of lines. The range begins at the
    directive ``.type`` and ends before the directive ``.size``."""
    name, begin = "", 0
    for i, line in enumerate(lines):
        if found := _FUNCTION.match(line):
            name, begin = found.group(1), i
        elif name and _END_OF_FUNCTION.match(line):
            yield name, range(begin, i)
            name = ""


def _calls(line: str) -> str:
    """Returns the name of the function that a line of assembly code calls. Returns ACCESS for every function
    that records a memory access. Returns an empty string if the line calls no function."""
    found = _CALL.match(line)
    if not found:
        return ""
    return ACCESS if found.group(1).startswith(ACCESS) else found.group(1)


def _idle(lines: Sequence[str], body: range, returns: bool) -> set[int]:
    """Finds the calls that the runtime does not need, among the calls at basic blocks of one function.
    Returns their line numbers. ``body`` is the range of the function's lines. If ``returns`` is true, the
    runtime needs the last call before each return."""
    labels = {found.group(1): i for i in body if (found := _LABEL.match(lines[i]))}
    jumps = {i: found.group(1) for i in body if (found := _JUMP.match(lines[i]))}
    # there is a jump to a computed address or to another function
    if not labels.keys() >= set(jumps.values()):
        return set()
    blocks = [i for i in body if _calls(lines[i]) == BLOCK]
    joins = {labels[target] for target in jumps.values()}
    back = {i: labels[target] for i, target in jumps.items() if labels[target] < i}
    asks = [i for i in body if _calls(lines[i]) == PART or (returns and _RETURN.match(lines[i]))]

    def begins_path(i: int) -> object:
        return i in joins or _LEAVES.match(lines[i])

    def ends_path(i: int) -> object:
        return _JUMP.match(lines[i]) or _RETURN.match(lines[i])

    needed = [_nearest(lines, range(i - 1, body.start, -1), begins_path) for i in (*back, *asks)]
    needed += [_nearest(lines, range(target, body.stop), ends_path) for target in back.values()]
    return set() if None in needed else set(blocks[1:]).difference(needed)


def _nearest(lines: Sequence[str], order: range, is_end: Callable[[int], object]) -> int | None:
    """Find the first line in ``order`` with a call that reports the position of a lane. Returns the number of
    the line, or None if no line has such a call.

    Returns None also if ``is_end`` holds for an earlier line. Other execution paths begin or end at the
    earlier line, so they may have another nearest call.
    """
    for i in order:
        if _calls(lines[i]) in (BLOCK, ACCESS):
            return i
        if is_end(i):
            return None
    return None


Define = int | str
"""The type of a macro's value."""

_HERE = Path(__file__).resolve().parent
INCLUDE = _HERE / "include"
_RUNTIME = _HERE / "runtime"

_IS_X86_64 = platform.machine() in {"x86_64", "AMD64"}
PROCESSOR_FLAGS = ["-mpopcnt"] if _IS_X86_64 else []
_COMMON_FLAGS = ["-w", "-fvisibility=hidden", f"-I{INCLUDE}", *PROCESSOR_FLAGS]
_SECOND_PART = {
    *("barriers", "callbacks", "collectives", "faults", "grid", "language", "lockstep", "position"),
    *("resident_block", "trace", "watch"),
}
"""Names, without suffix, of the runtime's source files that form the second of two compilation units. All
other files form the first unit.

Two units compile faster than single files, because reading the shared headers takes most of the time. Names
in unnamed namespaces must differ within a unit. The functions that the compiler calls (callbacks) are not in
the unit of the worker and the views. Otherwise the compiler would inline too much there.
"""
_KERNELS_LEVEL = "-O1"
"""Optimisation level for kernels. With -O3, compilation takes longer. Kernels do not run faster, because
threads switch very often."""

_UNDEFINED = re.compile(r"undefined symbol: (\w+)")
"""Finds the name of the undefined symbol in an error message of the dynamic loader."""

_POINTER, _UNSIGNED, _SIZE = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t

_FUNCTIONS: tuple[tuple[type | None, tuple[Any, ...], str], ...] = (
    (ctypes.c_char_p, (), "message"),
    (ctypes.c_char_p, (_POINTER,), "report"),
    (_SIZE, (), "guard_bytes"),
    (_POINTER, (_POINTER, ctypes.c_uint64, _UNSIGNED, ctypes.c_int), "create"),
    (None, (_POINTER,), "destroy close"),
    (_SIZE, (_POINTER,), "stacks_in_use"),
    (_UNSIGNED, (_POINTER,), "parameter_count"),
    (_SIZE, (_POINTER, _UNSIGNED), "parameter_size"),
    (None, (_POINTER, _POINTER), "remove_buffer"),
    (None, (_POINTER, _POINTER, _SIZE), "set_written"),
    (None, (_POINTER, _POINTER, _SIZE, _SIZE), "add_buffer adopt_buffer note_phases_at"),
    (_POINTER, (_POINTER, ctypes.c_char_p), "open kernel"),
    (_POINTER, (_POINTER, _POINTER), "module_of"),
    (_SIZE, (_POINTER, _POINTER), "sites records"),
    (None, (_POINTER, ctypes.c_int), "set_recording"),
    (None, (_POINTER, ctypes.c_uint64), "start_counting"),
    (_UNSIGNED, (_POINTER, _POINTER, _UNSIGNED, _SIZE), "resident_blocks"),
    (ctypes.c_int, (_POINTER, _POINTER, _UNSIGNED, _SIZE), "check"),
    (ctypes.c_int, (_POINTER, _POINTER, _UNSIGNED, _UNSIGNED, _SIZE, _POINTER), "launch"),
)
"""Signatures of the functions in runtime/api.cpp. Each row has the type of the result, the types of the
arguments, and the names of the functions. In C++ the names begin with ``emu_``."""


def build_runtime(*, portable_fibers: bool = False) -> Path:
    """Compile the C++ runtime of the emulator, unless it is in the cache. Returns the path of the library. If
    ``portable_fibers`` is true, the runtime uses POSIX functions to switch between fibers.

    The name of the library in its own file (soname) is an absolute path. Programs therefore find the library,
    even if they were linked without the emulator's options. The path has no symbolic links, so that caches
    share the library if their folders of compiled code lead to one folder.
    """
    sources = sorted(_RUNTIME.glob("*.cpp"))
    flags = [*_COMMON_FLAGS, "-fno-semantic-interposition", "-DEMU_RUNTIME"]
    if portable_fibers:
        flags.append("-DEMU_PORTABLE_FIBERS")
    content = hashlib.sha256("\n".join((*compiler(), compiler_version(), *flags)).encode())
    for file in sorted((*_RUNTIME.iterdir(), *(INCLUDE / "emu").iterdir())):
        content.update(file.read_bytes())
    name = (cache_dir() / "native").resolve() / f"cuda-on-cpu-program-{content.hexdigest()[:20]}.so"
    with tempfile.TemporaryDirectory() as work:
        parts = [Path(work) / f"part{number}.cpp" for number in range(2)]
        for number, part in enumerate(parts):
            chosen = [source for source in sources if (source.stem in _SECOND_PART) == bool(number)]
            part.write_bytes(os.fsencode("".join(f'#include "{source}"\n' for source in chosen)))
        # The runtime must use its own instances of the C++ library's templates. The instances of a program
        # would call the runtime before each access.
        own = ["-Wl,-Bsymbolic", f"-Wl,-soname,{name}"] if sys.platform == "linux" else []
        library = build_library("cuda-on-cpu", parts, flags, own)
    link(name, library)
    return library


def link(name: Path, target: Path) -> None:
    """Make the symbolic link ``name``, which leads to ``target``. If there is another link of that name,
    replace it. Raises ToolchainError if the folder of ``name`` cannot be written."""
    target = target.absolute()
    if name.is_symlink() and name.readlink() == target:
        return
    with writing(name.parent), storage.unfinished(storage.part_of(name)) as part:
        part.symlink_to(target)
        part.replace(name)


@cache
def load_runtime(path: Path) -> ctypes.CDLL:
    """Load the library of the C++ runtime, and declare the types of its functions. Returns the library."""
    runtime = ctypes.CDLL(str(path))
    for result, arguments, names in _FUNCTIONS:
        for name in names.split():
            function = getattr(runtime, f"emu_{name}")
            function.restype, function.argtypes = result, arguments
    return runtime


def build_kernels(
    source: Path,
    defines: Mapping[str, Define],
    include: Sequence[Path],
    runtime: Path,
    *,
    appended: str,
    child_kernels: bool,
    interruptible: bool,
    watched: bool,
    counted: bool,
) -> Path:
    """Translate a ``.cu`` file, and compile it against a runtime library. Returns the path of the compiled
    library.

    - ``include``: Folders of headers, besides the folder of the file.
    - ``appended``: C++ code that is compiled after the translated file.
    - ``child_kernels``: Kernels may launch kernels.
    - ``interruptible``: Threads may be interrupted at every basic block. This finds more races, and takes
      about twice the time. It is always on for files that contain ``volatile``, because their threads may
      poll memory.
    - ``watched`` and ``counted``: Kernels call the runtime before every memory access. With ``counted``,
      instructions stay in the order of the source.

    Raises ToolchainError if the file has an error, or if kernels launch kernels without ``child_kernels``. An
    error in the file names the file and the line.
    """
    translation = translate(source, include, appended, unrolls=counted)
    if translation.launches_kernels and not child_kernels:
        raise ToolchainError(
            f"{source} launches kernels from kernels: ask for the module with child_kernels=True"
        )
    flags = [
        *(*_COMMON_FLAGS, _KERNELS_LEVEL, "-fstack-clash-protection", "-UNDEBUG"),
        *(f"-I{folder}" for folder in (INCLUDE / "cuda", source.parent, *include)),
        *("-include", str(INCLUDE / "cuda_on_cpu.h")),
        *(f"-D{name}={value}" for name, value in sorted(defines.items())),
        *instrumentation(
            watched=watched, counted=counted, interruptible=interruptible or translation.volatile
        ),
    ]
    with tempfile.TemporaryDirectory() as work:
        text = Path(work) / f"{source.stem}.cpp"
        text.write_text(translation.text, encoding="utf-8", errors="surrogateescape")
        rewrite = without_idle_blocks if counted else with_calls_in_empty_loops if watched else None
        return build_library(f"cpu-{source.stem}", [text, runtime], flags, rewrite=rewrite)


def instrumentation(*, watched: bool, counted: bool, interruptible: bool) -> list[str]:
    """Returns compiler options that make kernels call the runtime.

    - ``watched`` or ``counted``: Kernels call the runtime before every memory access. The debug information
      has line numbers.
    - ``watched``: Kernels also call the runtime if an index is out of an array's bounds, or if an address is
      misaligned.
    - ``watched``, ``counted`` or ``interruptible``: Kernels also call the runtime at every basic block.

    With ``counted``, instructions also stay in the order of the source. For g++, this needs options that keep
    the order of basic blocks, do not duplicate paths, and load vectors whole. clang keeps the order at -O1.
    """
    clang = "clang" in compiler_version()
    options: list[str] = []
    if watched or counted:
        own = ("-mllvm", "-tsan-{}") if clang else ("--param", "tsan-{}")
        chosen = ("distinguish-volatile=1", "instrument-func-entry-exit=0")
        options += ["-DEMU_WATCH", "-fsanitize=thread", "-g1"]
        options += [word.format(option) for option in chosen for word in own]
    if watched:
        # With clang's option "bounds", bad accesses through pointers to local arrays would trap instead of
        # calling the runtime.
        checks = "array-bounds,alignment" if clang else "bounds,alignment"
        options += [f"-fsanitize={checks}", f"-fsanitize-recover={checks}"]
    if counted:
        kept = ("reorder-blocks", "guess-branch-probability", "thread-jumps", "tree-sra", "store-merging")
        options += ["-DEMU_COUNT", "-fno-plt", *(f"-fno-{name}" for name in kept if not clang)]
    if watched or counted or interruptible:
        # Without "no-prune", clang omits the call at some basic blocks.
        options.append(f"-fsanitize-coverage={'edge,no-prune,trace-pc' if clang else 'trace-pc'}")
    return options


def open_kernels(
    runtime: ctypes.CDLL, machine: int, library: Path, source: Path, include: Sequence[Path]
) -> tuple[int, str]:
    """Load a private copy of a library of kernels, with separate ``__device__`` variables. A copy is needed
    because the loader does not load a file twice.

    Returns the library's handle, and the path of the copy. Raises ToolchainError if loading fails. If a
    function has no definition, the error names a line of ``source`` or its headers that uses the function.
    """
    with tempfile.TemporaryDirectory() as work:
        copy = shutil.copy(library, Path(work) / library.name)
        handle = runtime.emu_open(machine, os.fsencode(copy))
    if not handle:
        message = runtime.emu_message().decode()
        if undefined := _UNDEFINED.search(message):
            _refuse_undefined(_last_name(undefined.group(1)), source, include)
        raise ToolchainError(f"cannot load {library}: {message}")
    return int(handle), str(copy)


def _refuse_undefined(name: str, source: Path, include: Sequence[Path]) -> None:
    """Raise ToolchainError if the source names the undefined function ``name``. The message gives the first
    line that names it. If the source does not name the function, do nothing."""
    for text in texts(source, include):
        if place := re.search(rf"\b{re.escape(name)}\b", text.statements):
            raise text.error(place.start(), f"'{name}' is declared, but defined nowhere")


def _last_name(symbol: str) -> str:
    """Returns the plain name of a function, without namespaces and classes, from a mangled name (Itanium C++
    ABI). Returns any other symbol unchanged."""
    head = re.match(r"_Z(N[rVKRO]*)?", symbol)
    if head is None:
        return symbol
    name, end = symbol, head.end()
    while length := re.compile(r"\d+").match(symbol, end):
        end = length.end() + int(length.group())
        name = symbol[length.end() : end]
        if not head.group(1):
            break  # the mangled parameter types follow
    return name
