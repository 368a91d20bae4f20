"""Implements the command ``bfsbench nvcc``, which compiles and links CUDA programs for the CPU. The command
takes nvcc's options.

NVIDIA's C++ headers (thrust, cuda/std) are compiled as host code.
"""

import hashlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from bfsbench.emulator.library import (
    INCLUDE,
    PROCESSOR_FLAGS,
    build_runtime,
    instrumentation,
    with_calls_in_empty_loops,
    without_idle_blocks,
)
from bfsbench.emulator.toolkit import VERSION_LINES, settings, toolkit
from bfsbench.emulator.whole import translate_program
from bfsbench.support import storage
from bfsbench.support.errors import ToolchainError, UsageError
from bfsbench.support.interrupts import interruptible_pool
from bfsbench.support.machine import usable_cores
from bfsbench.support.paths import cache_dir
from bfsbench.support.toolchain import compiler, writing

_FOLDERS = "thrust thrust/iterator thrust/random thrust/mr thrust/system thrust/system/cuda cuda/std cuda"
"""The folders of NVIDIA's C++ headers that programs may include."""
_USUAL = (
    "algorithm",
    "iostream",
    *(f"thrust/{name}.h" for name in ("distance", "extrema", "sequence", "system_error", "tuple")),
)
"""Headers that many headers of thrust include for the CUDA backend, or included in older versions. Programs
rely on that."""
_HEADERS = ("-isystem", str(INCLUDE / "cuda"), "-isystem", str(INCLUDE))
_UNSEEN = "vectors of thrust are neither watched nor counted: build a plain program"
_NVCC_MACROS = ("__CUDACC__", "__CUDA_ARCH__", "__NVCC__")
"""Macros by which a program recognises nvcc. The emulator defines them, too, but not while its compiler reads
NVIDIA's headers."""
_CCCL_OPTIONS = (
    "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP",
    "-DCCCL_DISABLE_NVTX",
    *(f"-DCCCL_DISABLE_{name}_SUPPORT" for name in ("FP16", "BF16", "NVFP8", "NVFP6", "NVFP4")),
)


@cache
def cccl_options() -> tuple[str, ...]:
    """Returns the compiler options that let programs include cuda/std, and thrust with its sequential
    backend. The result is empty if NVIDIA's headers (PyPI: nvidia-cuda-cccl) are not installed."""
    headers = _installed()
    if headers is None:
        return ()
    digest = hashlib.sha256(f"{headers}\n{Path(__file__).read_text()}".encode()).hexdigest()[:20]
    wrappers = cache_dir() / "native" / f"cccl-{digest}"
    if not (wrappers / "made").exists():
        for folder in _FOLDERS.split():
            _wrap(headers / folder, wrappers / folder)
        (wrappers / "made").touch()
    return ("-isystem", str(wrappers), "-isystem", str(headers), *_CCCL_OPTIONS)


@cache
def curand_options() -> tuple[str, ...]:
    """Returns the compiler options that let programs include curand_kernel.h, the header of cuRAND's
    functions for kernels. The result is empty if NVIDIA's headers (PyPI: nvidia-curand) are not installed.
    These headers are translated like the program's own code, because they contain inline PTX."""
    headers = next((folder for folder in _folders() if (folder / "curand_kernel.h").exists()), None)
    if headers is None:
        return ()
    digest = hashlib.sha256(str(headers).encode()).hexdigest()[:20]
    links = (
        cache_dir() / "native" / f"curand-{digest}"
    )  # the folder may also have headers that are not wanted
    links.mkdir(parents=True, exist_ok=True)
    for header in headers.glob("curand*.h"):
        with suppress(FileExistsError):
            (links / header.name).symlink_to(header)
    return ("-I", str(links))


def _installed() -> Path | None:
    """Returns the folder of NVIDIA's C++ headers, in an installed PyPI package or in a CUDA toolkit. Returns
    None if neither contains the headers."""
    found = (folder / "cccl" for folder in _folders())
    return next((folder for folder in found if (folder / "thrust" / "device_vector.h").exists()), None)


def _folders() -> list[Path]:
    """Returns the folders that may contain NVIDIA's headers, in installed PyPI packages and in a CUDA
    toolkit."""
    spec = importlib.util.find_spec("nvidia")
    wheels = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    places = [folder for wheel in wheels for folder in sorted(wheel.glob("cu*/include"))]
    return [*places, Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"]


def _wrap(headers: Path, wrappers: Path) -> None:
    """Write a wrapper for each of NVIDIA's headers in the folder ``headers`` into the folder ``wrappers``.

    The emulator's compiler is not nvcc, but the emulator defines the macros by which programs recognise nvcc.
    A wrapper undefines these macros, includes the header, and restores the macros.

    If a program itself includes a thrust header, the wrapper of this header also includes the headers in
    ``_USUAL``.
    """
    wrappers.mkdir(parents=True, exist_ok=True)
    for header in headers.iterdir():
        if not header.is_file():
            continue
        outermost = f"EMU_OUTERMOST_{re.sub(r'[^A-Z]', '_', header.name.upper())}"
        lines = ["#pragma once", "#ifndef EMU_IN_THRUST"]
        lines += [f"#define {name}" for name in ("EMU_IN_THRUST", outermost)] + ["#endif"]
        # thrust allocates on the host's heap, so its accesses cannot be watched
        if header.name == "device_vector.h":
            lines += ["#ifdef EMU_WATCH", f"#error {_UNSEEN}", "#endif"]
        for name in _NVCC_MACROS:
            lines += [f'#pragma push_macro("{name}")', f"#undef {name}"]
        lines += [f'#include "{name}"' for name in ("emu/thrust_begin.h", header, "emu/thrust_end.h")]
        lines += [f'#pragma pop_macro("{name}")' for name in _NVCC_MACROS]
        usual = [f"#include <{name}>" for name in _USUAL] if header.parent.name == "thrust" else []
        if header.name == "execution_policy.h":
            lines.append('#include "emu/thrust_cuda.h"')
        lines += [f"#ifdef {outermost}", f"#undef {outermost}", "#undef EMU_IN_THRUST", *usual, "#endif"]
        (wrappers / header.name).write_text("\n".join(lines) + "\n")


MODES = ("plain", "watched", "counting")
CUDA, CPP, C, OBJECTS = (".cu",), (".cpp", ".cc", ".cxx", ".C"), (".c",), (".o", ".a", ".so", ".obj")
_UNSUPPORTED_LIBRARIES = {
    "cuBLAS": "cublas cublasLt",
    "cuSPARSE": "cusparse",
    "cuSOLVER": "cusolver",
    "cuFFT": "cufft",
    "cuDNN": "cudnn",
    "cuTENSOR": "cutensor",
    "NCCL": "nccl",
    "NPP": "nppc nppi npps",
    "NVML": "nvml nvidia-ml",
    "NVRTC": "nvrtc",
    "nvJPEG": "nvjpeg",
}
"""NVIDIA's libraries that the emulator does not provide. The values are their names in the linker option
``-l``."""
_MISSING = re.compile(r"^(\S+:\d+):\d+: fatal error: (\S+): No such file", re.MULTILINE)
_QUOTES = "'\u2018\u2019"
_UNKNOWN = re.compile(
    rf"^(\S+:\d+):\d+: error: [^\n]*?[{_QUOTES}](?:\w+::)*((?:cu(?:da)?[A-Z]|CU|__)\w+)[{_QUOTES}][^\n]*"
    r"(?:not declared|not been declared|not name a type|no member|not a member)",
    re.MULTILINE,
)
"""Finds the compiler's message for an unknown name that looks like a name of CUDA."""
_UNKNOWN_IN_LIBRARY = re.compile(
    rf"^(\S+:\d+):\d+: error: [^\n]*?[{_QUOTES}](?:\w+::)*(\w+)[{_QUOTES}] "
    r"(?:is not a member of|in namespace) "
    rf"[{_QUOTES}](cub|cg|cooperative_groups|nvcuda::wmma|wmma|thrust|cuda)[{_QUOTES}]",
    re.MULTILINE,
)
_NO_MAIN = re.compile(r"undefined (reference to .|symbol: )main\b")
_UNKNOWN_PTX = re.compile(r"^(\S+?:\d+)[:\d]*: error: .*?(inline PTX is not emulated: .*)", re.MULTILINE)
_CUB = re.compile(r" from (\S+?:\d+):\n(?:\S[^\n]*: In [^\n]*\n)?\S*/cub/[^\n]* error: ")
"""Finds an error in one of NVIDIA's headers of cub, and the line of the program that includes the header."""
_FEATURES = {
    "cudaGraph": "a part of CUDA graphs",
    "cudaIpc": "memory of several processes",
    "cuda": "the runtime API",
    "cu": "the driver API",
    "CU": "the driver API",
    "__": "a function for kernels",
}
"""Maps the beginning of an unknown name to the part of CUDA that the error message names."""
_MISSING_HEADERS = {
    "cub/": "this part of cub",
    "cuda_fp": "floating point of 8 and fewer bits",
    **dict.fromkeys(("cuda_gl", "cudaGL", "cuda_egl", "cudaEGL"), "the interoperability with graphics"),
    "cupti": "CUPTI",
    "curand": "cuRAND without NVIDIA's headers ('pip install nvidia-curand')",
    **{name: library for library, names in _UNSUPPORTED_LIBRARIES.items() for name in names.split()},
}
"""Maps the beginning of a missing header's name to the library that the error message names as
unsupported."""
_RUNTIME_LIBRARIES = frozenset(("cuda", "cudart", "cudart_static", "cudadevrt", "nvToolsExt", "curand"))
"""Libraries that are not linked, because the emulator provides their functions, or because programs need only
their headers."""
_SHORT = {
    **{"--compile": "-c", "--device-c": "-dc", "--preprocess": "-E", "--device-link": "-dlink"},
    **{"--output-file": "-o", "--x": "-x", "--std": "-std", "--shared": "-shared", "--debug": "-g"},
    **{"--compiler-options": "-Xcompiler", "--linker-options": "-Xlinker", "--optimize": "-O"},
    **{"--define-macro": "-D", "--undefine-macro": "-U", "--include-path": "-I", "--include": "-include"},
    **{"--library": "-l", "--library-path": "-L", "--system-include": "-isystem", "--lib": "-lib"},
    "--pre-include": "-include",
    "--options-file": "-optf",
}
"""Short forms of nvcc's options, by their long forms."""
_SYSTEM_MACRO = re.compile(r"_|NDEBUG\b")
"""Finds macros that headers of the system read, such as ``_GNU_SOURCE``."""
_STEPS = {
    **dict.fromkeys(("-c", "-dc", "-dw"), "compile"),
    **{
        "-E": "preprocess",
        "-cuda": "preprocess",
        "--cuda": "preprocess",
        "-M": "depend",
        "-MM": "depend",
        "-lib": "archive",
        "-dlink": "device-link",
        **dict.fromkeys(("-V", "--version"), "version"),
        "--path": "path",
    },
}
"""Maps each option that ends the build early to the last step that is then done."""
_IGNORED = (
    "lineinfo generate-line-info extended-lambda expt-extended-lambda expt-relaxed-constexpr use_fast_math "
    "G device-debug res-usage resource-usage dlto keep m64 w disable-warnings restrict ewp shared-cudart "
    "extra-device-vectorization allow-unsupported-compiler display-error-number"
)
"""Options of nvcc that affect only machine code, registers or messages. The emulator ignores them."""
_IGNORED_WITH_A_VALUE = (
    "arch gpu-architecture gencode generate-code code gpu-code maxrregcount Xptxas ptxas-options Xnvlink "
    "nvlink-options ccbin compiler-bindir rdc relocatable-device-code diag-suppress diag-error cudart t "
    "threads keep-dir Xcudafe default-stream fmad ftz prec-div prec-sqrt Werror"
)
"""Options of nvcc that the emulator ignores, and that take a value after a space or an equals sign."""
_REFUSED = "ptx cubin fatbin optix-ir"
"""Options of nvcc that ask for machine code of a GPU. The emulator refuses them."""


@dataclass
class Invocation:
    """The contents of a command line of nvcc: the files, the last step of compilation, and the options."""

    mode: str = "plain"
    inputs: list[Path] = field(default_factory=list)
    output: Path | None = None
    step: str = "link"
    """The last step to do: ``link``, ``compile``, ``preprocess``, ``depend``, ``archive`` or
    ``device-link``. Two other steps build nothing: ``version`` and ``path``."""
    language: str = ""
    verbose: bool = False
    """Before the build, print where the toolkit lies and how programs are linked, as nvcc does."""
    forwards: bool = False
    """Unknown options are for the C++ compiler."""
    preprocessor: list[str] = field(default_factory=list)
    compiling: list[str] = field(default_factory=list)
    linking: list[str] = field(default_factory=list)
    shared: bool = False


def parse(words: Sequence[str]) -> Invocation:
    """Parse a command line with nvcc's options. Returns an Invocation. Raises UsageError for an option that
    is not supported."""
    request = Invocation(mode=os.environ.get("BFSBENCH_NVCC_MODE", "plain"))
    left = list(words)
    while left:
        word = left.pop(0)
        if word.startswith("-") and word != "-":
            _option(request, word, left)
        else:
            request.inputs.append(Path(word))
    if request.mode not in MODES:
        raise UsageError(f"unknown mode '{request.mode}': choose from {', '.join(MODES)}")
    return request


def _option(request: Invocation, word: str, left: list[str]) -> None:
    """Record one option of a command line in ``request``. ``word`` is the option, and ``left`` are the words
    after it. If the option takes the next word as its value, this word is removed from ``left``."""
    name, equals, value = word.partition("=")
    plain = name.lstrip("-")
    name = _SHORT.get(name, name)

    def argument(joined: str = "") -> str:
        """Returns the option's value. This is the text directly after the option's name (``joined``), the
        text after an equals sign, or else the next word."""
        if joined or equals:
            return f"{joined}{equals}{value}" if joined else value
        if not left:
            raise UsageError(f"{word} needs a value")
        return left.pop(0)

    if plain in _IGNORED_WITH_A_VALUE.split():
        argument()
    elif plain in _IGNORED.split():
        return
    elif plain in _REFUSED.split():
        raise UsageError(f"{word}: bfsbench nvcc makes no machine code for a GPU")
    elif name in _STEPS:
        request.step = _STEPS[name]
        if request.step == "depend":
            request.preprocessor.append(name)
    elif plain in MODES:
        request.mode = plain
    elif name == "-o":
        request.output = Path(argument())
    elif name == "-optf":
        left[:0] = shlex.split(_text_of(argument()))
    elif plain in ("v", "verbose"):
        request.verbose = True
    elif plain in ("forward-unknown-to-host-compiler", "forward-unknown-to-host-linker"):
        request.forwards = True
    elif name == "-x":
        request.language = argument()
    elif name == "-shared":
        request.shared = True
    elif name == "-Xcompiler":
        _for_compiler(request, argument())
    elif name == "-Xlinker":
        request.linking += [f"-Wl,{option}" for option in argument().split(",")]
    elif name in ("-MD", "-MMD", "-MP"):
        request.preprocessor.append(name)
    elif name in ("-MF", "-MT", "-MQ", "-include"):
        request.preprocessor += [name, argument()]
    elif name == "-isystem" or name[:2] == "-I":
        option, folder = (name, argument()) if name == "-isystem" else ("-I", argument(name[2:]))
        # CUDA's own headers would be found before the headers of the emulator
        if not (Path(folder) / "cuda_runtime.h").exists():
            request.preprocessor += [option, folder]
    elif name[:2] in ("-D", "-U"):
        request.preprocessor += [name[:2], argument(name[2:])]
    elif name[:2] == "-L":
        request.linking.append(f"-L{argument(name[2:])}")
    elif name[:2] == "-l":
        _library(request, argument(name[2:]))
    elif name in ("-std", "-O") or (name[:2] == "-O" and len(word) == 3):
        # the emulator's headers need C++17
        standard = re.sub(r"(\+\+)(98|03|0x|11|1y|14)$", r"\g<1>17", argument()) if name == "-std" else ""
        request.compiling.append(f"{name}={standard}" if standard else f"-O{argument(name[2:])}")
    elif name in ("-g", "-pthread", "-fPIC", "-fopenmp") or name.startswith("-W"):
        _for_compiler(request, f"{name}{equals}{value}")
    elif request.forwards and plain.startswith(("f", "m", "pedantic", "pg", "pipe", "rdynamic")):
        _for_compiler(request, word)
    else:
        raise UsageError(f"unsupported option of nvcc: {word}")


def _text_of(file: str) -> str:
    """Returns the text of a file with options. Raises UsageError if the file cannot be read."""
    try:
        return Path(file).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error


def _for_compiler(request: Invocation, options: str) -> None:
    for option in options.replace("\\", "").strip("\"'").split(","):
        for word in re.sub(r"""^(["'])(.*?)\1?$""", r"\2", option).split():
            if word == "-fopenmp" or word.startswith("-pthread"):
                request.linking.append(word)
            if not word.startswith(("-O", "-march", "-mtune")) and word != "-ffast-math":
                request.compiling.append(word)


def _library(request: Invocation, name: str) -> None:
    for product, names in _UNSUPPORTED_LIBRARIES.items():
        if name in names.split():
            raise UsageError(f"-l{name}: {product} is not supported")
    if name not in _RUNTIME_LIBRARIES:
        request.linking.append(f"-l{name}")


def build(request: Invocation) -> None:
    """Compile and link the files that a command line of nvcc names.

    Raises ToolchainError if a compilation fails, after printing the compiler's messages. Raises UsageError if
    a file is missing, or if the request is not supported.
    """
    if request.step == "version":
        return print("\n".join(VERSION_LINES))
    runtime = build_runtime()
    folder = toolkit(runtime)
    if request.step == "path":
        return print(folder / "bin" / "nvcc")
    if request.verbose:
        sys.stderr.write("".join(f"#$ {line}\n" for line in settings(folder)))
    if not request.inputs:
        raise UsageError("no input files")
    for path in request.inputs:
        if not path.is_file():
            raise UsageError(f"cannot read {path}: no such file")
    if request.step in ("archive", "device-link"):
        return _archive(request)
    with tempfile.TemporaryDirectory() as work:
        sources = [path for path in request.inputs if path.suffix not in OBJECTS]
        if request.step != "link":
            if request.output and len(sources) > 1:
                raise UsageError("-o with several files: leave it out, or link them")
            for path in sources:
                _compile(request, path, request.output or Path(f"{path.stem}.o"), Path(work))
            return
        objects = {path: Path(work) / f"{i}-{path.stem}.o" for i, path in enumerate(sources)}
        with interruptible_pool(usable_cores()) as pool:
            list(pool.map(lambda path: _compile(request, path, objects[path], Path(work)), sources))
        files = [str(objects.get(path, path)) for path in request.inputs]
        _link(request, files, runtime)


def _archive(request: Invocation) -> None:
    output = request.output or Path("a.a")
    if request.step == "archive":
        _run(["ar", "rcs", str(output), *map(str, request.inputs)])
        return
    # The objects already contain the device code, so the output is an empty object.
    _run([*compiler(), "-x", "c++", "-c", os.devnull, "-o", str(output)])


def _link(request: Invocation, files: Sequence[str], runtime: Path) -> None:
    output = str(request.output or "a.out")
    kind = ["-shared"] if request.shared else []
    _run([*compiler(), *kind, *files, "-o", output, *request.linking, str(runtime), "-pthread", "-lm"])


def _compile(request: Invocation, source: Path, output: Path, work: Path) -> None:
    if request.language == "cu" or (not request.language and source.suffix in CUDA):
        _compile_cuda(request, source, output, work)
        return
    if source.suffix not in CPP + C:
        raise UsageError(f"cannot tell what {source} is: neither CUDA, C++, C, nor an object")
    options = request.compiling
    if source.suffix in C and request.language != "c++":
        options = [*(word for word in options if not word.startswith("-std=c++")), "-x", "c"]
    else:
        options = [*_standard(request), *_HEADERS, *options]
    step = {"preprocess": ["-E"], "depend": []}.get(request.step, ["-c"])
    _run([*compiler(), *request.preprocessor, *options, *step, str(source), "-o", str(output)])


def _standard(request: Invocation) -> list[str]:
    return [] if any(option.startswith("-std=") for option in request.compiling) else ["-std=c++17"]


def _compile_cuda(request: Invocation, source: Path, output: Path, work: Path) -> None:
    modes = {"watched": ["-DEMU_WATCH"], "counting": ["-DEMU_WATCH", "-DEMU_COUNT"]}.get(request.mode, [])
    program = ["-DEMU_PROGRAM", f"-DEMU_PROGRAM_MODE={request.mode}", f'-DEMU_PYTHON="{sys.executable}"']
    given = [word for word in request.compiling if word.startswith(("-std=", "-f", "-m", "-pthread"))]
    options = [*program, *modes, "-UNDEBUG", "-D__NVCC__", *_standard(request), *given, *PROCESSOR_FLAGS]
    options += [*_HEADERS, *cccl_options(), *curand_options()]
    others, macros = _macros(request.preprocessor)
    command = [*compiler(), "-E", *options, "-include", str(INCLUDE / "cuda_on_cpu.h"), *macros, *others]
    if request.step in ("preprocess", "depend"):
        output_option = ["-o", str(request.output)] if request.output else []
        _run([*command, "-x", "c++", str(source), *output_option])
        return
    if {"-MD", "-MMD"} & set(request.preprocessor):
        if "-MT" not in request.preprocessor:
            command += ["-MT", str(output)]
        if "-MF" not in request.preprocessor:
            command += ["-MF", str(output.with_suffix(".d"))]
    text = work / f"{output.stem}-{source.stem}.cpp"
    expanded = _run([*command, "-x", "c++", str(source)], output=True)
    translated, polls = translate_program(source, expanded, unrolls=request.mode == "counting")
    text.write_text(translated, encoding="utf-8", errors="surrogateescape")
    _compile_translated(request, text, output, options, polls)


def _macros(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divides options of the preprocessor into two lists. The second list has an option that includes a
    header with the macros of ``-D`` and ``-U``. The first list has all other options.

    This header is included after the emulator's headers, so a macro such as ``-D A=1`` does not change the
    names in them. Macros that headers of the system read remain in the first list. Lists of dependencies name
    the header, so it is kept in the cache.
    """
    others, lines = list[str](), list[str]()
    left = iter(words)
    for word in left:
        if word not in ("-D", "-U"):
            others.append(word)
        elif _SYSTEM_MACRO.match(macro := next(left)):
            others += [word, macro]
        else:
            name, _, value = macro.partition("=")
            define = f"#define {name} {value if '=' in macro else 1}"
            lines.append(f"#undef {name}\n" if word == "-U" else f"{define}\n")
    if not lines:
        return others, []
    text = "".join(lines).encode(errors="surrogateescape")
    header = cache_dir().absolute() / "native" / f"macros-{hashlib.sha256(text).hexdigest()[:20]}.h"
    if not header.exists():
        with writing(header.parent), storage.unfinished(storage.part_of(header)) as part:
            part.write_bytes(text)
            part.replace(header)
    return others, ["-include", str(header)]


def _compile_translated(
    request: Invocation, text: Path, output: Path, options: Sequence[str], polls: bool
) -> None:
    counted = request.mode == "counting"
    levels = [word for word in request.compiling if word.startswith("-O")]
    command = [
        # nvcc allows that kernels read arrays through pointers to other types, such as uint4. It also allows
        # code that g++ accepts only with -fpermissive.
        *(*compiler(), "-w", "-fstack-clash-protection", "-fno-strict-aliasing", "-fpermissive", *options),
        *(f"-D__{qualifier}__=" for qualifier in ("global", "device", "constant")),
        *("-D__launch_bounds__(...)=", "-D__cluster_dims__(...)="),
        *request.compiling,
        levels[-1] if levels and request.mode == "plain" else "-O1",
        *instrumentation(watched=request.mode == "watched", counted=counted, interruptible=polls),
    ]
    rewrite = {"watched": with_calls_in_empty_loops, "counting": without_idle_blocks}.get(request.mode)
    if not rewrite:
        _run([*command, "-c", str(text), "-o", str(output)])
        return
    assembly = text.with_suffix(".s")
    _run([*command, "-S", str(text), "-o", str(assembly)])
    assembly.write_text(rewrite(assembly.read_text()))
    _run([*compiler(), "-c", str(assembly), "-o", str(output)])


def _run(command: Sequence[str], *, output: bool = False) -> str:
    """Run a compiler, and print its messages to stderr. Returns the compiler's standard output if ``output``
    is true, and an empty string otherwise. Raises ToolchainError if the compiler fails."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE if output else None, stderr=subprocess.PIPE, check=False
    )
    said = done.stderr.decode(errors="replace")
    sys.stderr.write(said)
    if done.returncode:
        raise ToolchainError(_reason(said))
    return done.stdout.decode(errors="surrogateescape") if output else ""


def _reason(said: str) -> str:
    """Returns one line that says why a compiler failed, derived from its messages ``said``. If the program
    uses an unsupported part of CUDA, the line names this part and its position in the source."""
    if _UNSEEN in said:
        return _UNSEEN
    place, header = missing.groups() if (missing := _MISSING.search(said)) else ("", "")
    for name, library in _MISSING_HEADERS.items():
        if header.startswith(name):
            return f"{place}: {library} is not supported"
    if included := _CUB.search(said):
        return f"{included[1]}: this part of cub is not supported"
    if unknown := _UNKNOWN_PTX.search(said):
        return f"{unknown[1]}: {unknown[2]}"
    if unknown := _UNKNOWN.search(said):
        part = next(part for name, part in _FEATURES.items() if unknown[2].startswith(name))
        return f"{unknown[1]}: {unknown[2]} is not supported ({part})"
    if unknown := _UNKNOWN_IN_LIBRARY.search(said):
        return f"{unknown[1]}: {unknown[3]}::{unknown[2]} is not supported"
    if _NO_MAIN.search(said):
        return "the program has no main function"
    return "the compiler failed"
