"""The C++ side: the runtime and kernels as shared libraries, and the functions that Python calls."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from bfsbench.emulator.basic_blocks import without_idle_blocks
from bfsbench.emulator.translate import texts, translate
from bfsbench.errors import ToolchainError
from bfsbench.toolchain import build_library, compiler, compiler_version

Define = int | str
"""The value of a macro."""

_HERE = Path(__file__).resolve().parent
_INCLUDE = _HERE / "include"
_RUNTIME = _HERE / "runtime"

_PROCESSOR_FLAGS = ["-mpopcnt"] if platform.machine() in {"x86_64", "AMD64"} else []
_COMMON_FLAGS = ["-w", "-fvisibility=hidden", f"-I{_INCLUDE}", *_PROCESSOR_FLAGS]
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
    "emu_level_counts": (_SIZE, [_POINTER, _POINTER]),
    "emu_forget_counts": (None, [_POINTER]),
    "emu_note_levels_at": (None, [_POINTER, _POINTER, _SIZE, _SIZE]),
    "emu_stacks_in_use": (_SIZE, [_POINTER]),
}


def build_runtime(*, portable_fibers: bool = False) -> Path:
    """Compile the runtime once. ``portable_fibers`` selects the context switch of POSIX."""
    sources = sorted(_RUNTIME.glob("*.cpp"))
    flags = [
        *_COMMON_FLAGS,
        "-fno-semantic-interposition",
        *(["-DEMU_PORTABLE_FIBERS"] if portable_fibers else []),
    ]
    with tempfile.TemporaryDirectory() as work:
        parts = [Path(work) / f"part{number}.cpp" for number in range(2)]
        for number, part in enumerate(parts):
            chosen = [source for source in sources if (source.stem in _SECOND_PART) == bool(number)]
            part.write_bytes(os.fsencode("".join(f'#include "{source}"\n' for source in chosen)))
        return build_library("cuda-on-cpu", parts, flags)


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
        flags += _watching()
    if watched:
        flags += _by_the_language()
    if counted:
        flags += _in_order()
    if interruptible or watched or counted or translation.volatile:
        flags.append(f"-fsanitize-coverage={_every_basic_block()}")
    with tempfile.TemporaryDirectory() as work:
        text = Path(work) / f"{source.stem}.cpp"
        text.write_text(translation.text, encoding="utf-8", errors="surrogateescape")
        rewrite = without_idle_blocks if counted else None
        return build_library(f"cpu-{source.stem}", [text, runtime], flags, rewrite=rewrite)


def _kernel_flags(source: Path, defines: Mapping[str, Define], include: Sequence[Path]) -> list[str]:
    """Flags for translated kernels, besides the common ones."""
    return [
        *(f"-I{folder}" for folder in (_INCLUDE, _INCLUDE / "cuda", source.parent, *include)),
        *("-include", str(_INCLUDE / "cuda_on_cpu.h")),
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
        ours = ["-isystem", str(_INCLUDE), "-isystem", str(_INCLUDE / "cuda")]  # these are always off
        flags = [*ours, *_PROCESSOR_FLAGS, *_kernel_flags(source, defines, include), *warnings]
        # Not -fsyntax-only, which ziglang's compiler cannot do.
        command = [*compiler(), "-std=c++17", *flags, "-c", str(text), "-o", str(text.with_suffix(".o"))]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stderr


def _watching() -> list[str]:
    """Options for a call before every access to memory, and for line numbers."""
    own = ("-mllvm", "-tsan-{}") if "clang" in compiler_version() else ("--param", "tsan-{}")
    chosen = ("distinguish-volatile=1", "instrument-func-entry-exit=0")
    options = [word.format(option) for option in chosen for word in own]
    return ["-DEMU_WATCH", "-fsanitize=thread", *options, "-g1"]


def _by_the_language() -> list[str]:
    """Options for a call where an index is outside of its array, or an address is misaligned."""
    # By clang's "bounds", accesses through pointers to local arrays would trap, without a call.
    bounds = "array-bounds" if "clang" in compiler_version() else "bounds"
    return [f"-fsanitize={bounds},alignment", f"-fsanitize-recover={bounds},alignment"]


def _in_order() -> list[str]:
    """Options that keep lines together and in order, which g++ has; clang does so at -O1 as it is.

    Basic blocks are laid out as in the source, no path gets code of its own, and vectors are loaded whole.
    """
    kept = ("reorder-blocks", "guess-branch-probability", "thread-jumps", "tree-sra", "store-merging")
    own = [] if "clang" in compiler_version() else [f"-fno-{name}" for name in kept]
    return ["-DEMU_COUNT", "-fno-plt", *own]


def _every_basic_block() -> str:
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
