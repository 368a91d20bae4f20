"""The C++ side: the runtime and kernels as shared libraries, and the functions that Python calls.

Builds that count leave out calls at basic blocks that tell the runtime nothing. The runtime has to know when
a lane jumps backwards, and from where to where. A call at a basic block tells it how far the lane has come,
and so does a call at an access to memory. While a lane goes forward, only the last call counts. So a block
needs its own call only where

- it is the first of a function, or a backward jump leads to it;
- its call is the last one before a backward jump, before the leaving of a loop (``PART``), or before the end
  of a function that another watched function calls.

With the others left out, the runtime learns of the same jumps, with the same ends. A function keeps all of
its calls if it calls another watched function or jumps to a computed place, or if calls do not stand next to
backward jumps.
"""

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from bfsbench.emulator.translate import translate
from bfsbench.kernels.source import texts
from bfsbench.support.errors import ToolchainError
from bfsbench.support.toolchain import build_library, compiler, compiler_version

BLOCK = "__sanitizer_cov_trace_pc"
ACCESS = "__tsan_"
PART = "_ZN3emu4partEv"

_FUNCTION = re.compile(r"^\s*\.type\s+([^,\s]+),\s*@function")
_END_OF_FUNCTION = re.compile(r"^\s*\.size\s")
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
        elif name and _END_OF_FUNCTION.match(line):
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


Define = int | str
"""The value of a macro."""

_HERE = Path(__file__).resolve().parent
INCLUDE = _HERE / "include"
_RUNTIME = _HERE / "runtime"

PROCESSOR_FLAGS = ["-mpopcnt"] if platform.machine() in {"x86_64", "AMD64"} else []
_COMMON_FLAGS = ["-w", "-fvisibility=hidden", f"-I{INCLUDE}", *PROCESSOR_FLAGS]
_SECOND_PART = {
    *("barriers", "callbacks", "collectives", "faults", "grid", "language", "lockstep", "position"),
    *("resident_block", "trace", "watch"),
}
"""The runtime's sources are compiled as two files, these and the others: reading the headers they share takes
most of the time. Names in their unnamed namespaces have to differ, as several of them are one translation
unit. The compiler's callbacks are apart from the worker and the views, or more than pays is inlined there."""
_KERNELS_LEVEL = "-O1"
"""Of optimisation. Threads take turns so often that -O3 makes them no faster, but takes longer to compile."""

_UNDEFINED = re.compile(r"undefined symbol: (\w+)")
"""In a message of the loader."""

_POINTER, _UNSIGNED, _SIZE = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t

_SIGNATURES: dict[str, tuple[type | None, list[type]]] = {
    "emu_message": (ctypes.c_char_p, []),
    "emu_create": (_POINTER, [_POINTER, ctypes.c_uint64, _UNSIGNED, ctypes.c_int]),
    "emu_destroy": (None, [_POINTER]),
    "emu_guard_bytes": (_SIZE, []),
    "emu_add_buffer": (None, [_POINTER, _POINTER, _SIZE, _SIZE]),
    "emu_remove_buffer": (None, [_POINTER, _POINTER]),
    "emu_adopt_buffer": (None, [_POINTER, _POINTER, _SIZE, _SIZE]),
    "emu_set_written": (None, [_POINTER, _POINTER, _SIZE]),
    "emu_open": (_POINTER, [_POINTER, ctypes.c_char_p]),
    "emu_module_of": (_POINTER, [_POINTER, _POINTER]),
    "emu_findings": (_SIZE, [_POINTER, _POINTER]),
    "emu_forget_findings": (None, [_POINTER]),
    "emu_sites": (_SIZE, [_POINTER, _POINTER]),
    "emu_set_recording": (None, [_POINTER, ctypes.c_int]),
    "emu_records": (_SIZE, [_POINTER, _POINTER]),
    "emu_close": (None, [_POINTER]),
    "emu_kernel": (_POINTER, [_POINTER, ctypes.c_char_p]),
    "emu_parameter_count": (_UNSIGNED, [_POINTER]),
    "emu_parameter_size": (_SIZE, [_POINTER, _UNSIGNED]),
    "emu_resident_blocks": (_UNSIGNED, [_POINTER, _POINTER, _UNSIGNED, _SIZE]),
    "emu_check": (ctypes.c_int, [_POINTER, _POINTER, _UNSIGNED, _SIZE]),
    "emu_launch": (ctypes.c_int, [_POINTER, _POINTER, _UNSIGNED, _UNSIGNED, _SIZE, _POINTER]),
    "emu_start_counting": (None, [_POINTER, ctypes.c_uint64]),
    "emu_counts": (_SIZE, [_POINTER, _POINTER]),
    "emu_phase_counts": (_SIZE, [_POINTER, _POINTER]),
    "emu_forget_counts": (None, [_POINTER]),
    "emu_note_phases_at": (None, [_POINTER, _POINTER, _SIZE, _SIZE]),
    "emu_stacks_in_use": (_SIZE, [_POINTER]),
}


def build_runtime(*, portable_fibers: bool = False) -> Path:
    """Compile the runtime once. ``portable_fibers`` selects the context switch of POSIX."""
    sources = sorted(_RUNTIME.glob("*.cpp"))
    flags = [
        *_COMMON_FLAGS,
        "-fno-semantic-interposition",
        "-DEMU_RUNTIME",
        *(["-DEMU_PORTABLE_FIBERS"] if portable_fibers else []),
    ]
    with tempfile.TemporaryDirectory() as work:
        parts = [Path(work) / f"part{number}.cpp" for number in range(2)]
        for number, part in enumerate(parts):
            chosen = [source for source in sources if (source.stem in _SECOND_PART) == bool(number)]
            part.write_bytes(os.fsencode("".join(f'#include "{source}"\n' for source in chosen)))
        # Its templates of the C++ library are its own: those of a program call it before each access.
        own = ["-Wl,-Bsymbolic"] if sys.platform == "linux" else []
        return build_library("cuda-on-cpu", parts, flags, own)


@cache
def load_runtime(path: Path) -> ctypes.CDLL:
    """Load a runtime library and declare its functions."""
    runtime = ctypes.CDLL(str(path))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(runtime, name)
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
    watched: bool = False,
    counted: bool = False,
) -> Path:
    """Translate and compile a ``.cu`` file against a runtime library.

    ``include`` are folders of its headers, besides its own; ``appended`` is C++ to compile behind it.
    ``interruptible`` makes every basic block a place where a thread may be interrupted, which finds more
    races and takes about twice the time. It is always done for files that contain ``volatile``, whose threads
    may poll memory. ``watched`` and ``counted`` call the runtime before every access to memory, the latter
    with instructions in the order of the source. Raises ToolchainError with the first error, naming file and
    line of the source.
    """
    translation = translate(source, include, appended, unrolls=counted)
    if translation.launches_kernels and not child_kernels:
        raise ToolchainError(
            f"{source} launches kernels from kernels: ask for the module with child_kernels=True"
        )
    flags = [*_COMMON_FLAGS, _KERNELS_LEVEL, *_kernel_flags(source, defines, include)]
    if watched or counted:
        flags += watching()
    if watched:
        flags += by_the_language()
    if counted:
        flags += in_order()
    if interruptible or watched or counted or translation.volatile:
        flags.append(f"-fsanitize-coverage={every_basic_block()}")
    with tempfile.TemporaryDirectory() as work:
        text = Path(work) / f"{source.stem}.cpp"
        text.write_text(translation.text, encoding="utf-8", errors="surrogateescape")
        rewrite = without_idle_blocks if counted else None
        return build_library(f"cpu-{source.stem}", [text, runtime], flags, rewrite=rewrite)


def _kernel_flags(source: Path, defines: Mapping[str, Define], include: Sequence[Path]) -> list[str]:
    """Flags for translated kernels, besides the common ones."""
    return [
        *(f"-I{folder}" for folder in (INCLUDE, INCLUDE / "cuda", source.parent, *include)),
        *("-include", str(INCLUDE / "cuda_on_cpu.h")),
        *("-fstack-clash-protection", "-UNDEBUG"),
        *(f"-D{name}={value}" for name, value in sorted(defines.items())),
    ]


def diagnose(
    source: Path, defines: Mapping[str, Define], warnings: Sequence[str], include: Sequence[Path] = ()
) -> str:
    """The compiler's warnings about a ``.cu`` file with the given options; empty if there are none.

    Raises ToolchainError if the file cannot be translated.
    """
    with tempfile.TemporaryDirectory() as work:
        text = Path(work) / f"{source.stem}.cpp"
        text.write_text(translate(source, include).text, encoding="utf-8", errors="surrogateescape")
        ours = ["-isystem", str(INCLUDE), "-isystem", str(INCLUDE / "cuda")]  # these are always off
        flags = [*ours, *PROCESSOR_FLAGS, *_kernel_flags(source, defines, include), *warnings]
        # Not -fsyntax-only, which ziglang's compiler cannot do.
        command = [*compiler(), "-std=c++17", *flags, "-c", str(text), "-o", str(text.with_suffix(".o"))]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stderr


def watching() -> list[str]:
    """Options for a call before every access to memory, and for line numbers."""
    own = ("-mllvm", "-tsan-{}") if "clang" in compiler_version() else ("--param", "tsan-{}")
    chosen = ("distinguish-volatile=1", "instrument-func-entry-exit=0")
    options = [word.format(option) for option in chosen for word in own]
    return ["-DEMU_WATCH", "-fsanitize=thread", *options, "-g1"]


def by_the_language() -> list[str]:
    """Options for a call where an index is outside of its array, or an address is misaligned."""
    # By clang's "bounds", accesses through pointers to local arrays would trap, without a call.
    bounds = "array-bounds" if "clang" in compiler_version() else "bounds"
    return [f"-fsanitize={bounds},alignment", f"-fsanitize-recover={bounds},alignment"]


def in_order() -> list[str]:
    """Options that keep lines together and in order, which g++ has; clang does so at -O1 as it is.

    Basic blocks are laid out as in the source, no path gets code of its own, and vectors are loaded whole.
    """
    kept = ("reorder-blocks", "guess-branch-probability", "thread-jumps", "tree-sra", "store-merging")
    own = [] if "clang" in compiler_version() else [f"-fno-{name}" for name in kept]
    return ["-DEMU_COUNT", "-fno-plt", *own]


def every_basic_block() -> str:
    """The coverage option for a call at every basic block; clang prunes some blocks without the option."""
    return "edge,no-prune,trace-pc" if "clang" in compiler_version() else "trace-pc"


def open_kernels(
    runtime: ctypes.CDLL, machine: int, library: Path, source: Path, include: Sequence[Path]
) -> tuple[int, str]:
    """Load a private copy of a kernel library, with ``__device__`` variables of its own.

    Returns its handle, and the path that it was loaded from.

    The loader recognises a file that it has loaded before, so it is shown a copy. Raises ToolchainError, for
    a function without a definition with a line of the ``source`` or its headers that names it.
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
    """Raises ToolchainError at the first place that names what is declared only, if there is one."""
    for text in texts(source, include):
        if place := re.search(rf"\b{re.escape(name)}\b", text.statements):
            raise text.error(place.start(), f"'{name}' is declared, but defined nowhere")


def _last_name(symbol: str) -> str:
    """The name behind all namespaces and classes in a symbol by the Itanium C++ ABI; others as they are."""
    head = re.match(r"_Z(N[rVKRO]*)?", symbol)
    if head is None:
        return symbol
    name, end = symbol, head.end()
    while length := re.compile(r"\d+").match(symbol, end):
        end = length.end() + int(length.group())
        name = symbol[length.end() : end]
        if not head.group(1):
            break  # parameters come next
    return name
