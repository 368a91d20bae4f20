"""CUDA C++ to C++: rewrites the few constructs that a header cannot implement.

- ``kernel<<<grid, block, shared, stream>>>(arguments)`` becomes a call that queues a child launch.
- ``__shared__ int s[256];`` becomes a reference into the running block's arena, and so does
  ``extern __shared__ int s[];``.
- ``asm("ld.acquire.gpu.u32 %0, [%1];" ...)`` becomes calls that do the same (ptx.py).
- A local ``#include "x.cuh"`` is replaced by the translated file.
- In builds that count, loops that nvcc unrolls are marked (unroll.py).

Lines keep their file and number through ``#line`` directives, so that compilers name the ``.cu`` source.
Kernels and shared variables that come out of macros are not supported, nor are shared variables outside
functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bfsbench.emulator.ptx import ASM, translate_asm
from bfsbench.emulator.signature import Parameter, parameters
from bfsbench.emulator.source_text import Edit, SourceText, split_at
from bfsbench.emulator.unroll import functions_with_loops, part, unroll

_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*$', re.MULTILINE)
_BRANCH_END = re.compile(r"^[ \t]*#[ \t]*(?:else|elif|endif)\b(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
_PRAGMA_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
"""One without parameters."""
_KERNEL = re.compile(r"\b__global__\b")
_BODY = re.compile(r"\s*(?:noexcept\s*)?(?:->\s*void\s*)?\{")
_LAUNCH = re.compile(r"([A-Za-z_][\w:]*(?:\s*<[^<>;{}]*>)?)\s*<<<")
_LAUNCH_ARGUMENTS = re.compile(r">>>\s*\(")
_TYPE_BEFORE = re.compile(r"\s*((?:[A-Za-z_]\w*(?:::\w+)*\s+)+)")
"""Of a shared variable, as in ``int __shared__ s[4];``."""
_SHARED = re.compile(r"(?:\b(?:extern|static|volatile|const)\b\s*)*\b__shared__\b")
_END_OR_BRACE = re.compile(r"[;{]")
_RESTRICT = re.compile(r"\b__restrict(?:__)?\b")
_ALIGNMENT = re.compile(r"\b(?:__align__|alignas|__builtin_align__)\s*\(([^()]*(?:\([^()]*\))?[^()]*)\)")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>(){};]*>\s*)?\(")
_DECLARATOR = re.compile(r"([*\s]*)(?<!\w)([A-Za-z_]\w*)\s*((?:\[.*\])?)\s*$", re.DOTALL)
_C_LINKAGE = re.compile(r'\bextern\s*"C"\s*(\{)?')

_FUNCTIONS = "device_functions"
"""Owner of the shared variables that are declared outside kernels."""


@dataclass(frozen=True)
class Kernel:
    """A ``__global__`` function, its attributes as written and where its body lies in its file."""

    name: str
    c_linkage: bool
    """Whether it has C linkage: only then can the host launch it by name."""
    parameters: str
    """The text between the brackets."""
    launch_bounds: str
    cluster: str
    body: range


@dataclass
class Translation:
    """C++ for a ``.cu`` file and the local headers it includes."""

    include: Sequence[Path] = ()
    """Folders of headers, besides that of the file that includes one."""
    text: str = ""
    kernels: dict[str, Kernel] = field(default_factory=dict)
    launches_kernels: bool = False
    volatile: bool = False
    """Whether threads may poll memory in loops that call nothing."""
    shared_variables: int = 0
    with_loops: set[str] | None = None
    """Functions that no unrolled loop calls; None where no loop is to be unrolled."""


def translate(
    source: Path, include: Sequence[Path] = (), appended: str = "", *, unrolls: bool = False
) -> Translation:
    """Translate a ``.cu`` file. Raises ToolchainError, naming file and line, for constructs it cannot
    translate. ``appended`` is C++ that is compiled after it; ``unrolls`` marks the loops that nvcc unrolls.
    """
    with_loops = functions_with_loops(texts(source, include)) if unrolls else None
    result = Translation(include, with_loops=with_loops)
    body = _translate_file(source, result, ())
    owners = [f'static ::emu::Kernel {_FUNCTIONS}("{_FUNCTIONS}", nullptr);']
    owners += [f'static ::emu::Kernel {name}("{name}", &{_FUNCTIONS});' for name in result.kernels]
    head = f'#line 1 "kernel table"\nnamespace emu_kernels {{ {" ".join(owners)} }}\n'
    result.text = "\n".join([head, body, appended, ""])
    return result


def _define(kernel: Kernel, declared: Kernel) -> Edit:
    """The exported description of a kernel behind its body: in its namespace, and left out where it is.

    What its definition lacks a declaration before it may have: launch bounds, clusters.
    """
    bounds = kernel.launch_bounds or declared.launch_bounds
    cluster = kernel.cluster or declared.cluster or 1
    most = f"::emu::first_of({bounds})" if bounds else "0"
    return Edit(
        *(kernel.body.stop + 1, kernel.body.stop + 1),
        f' extern "C" EMU_API ::emu::Kernel* const emu_kernel_{kernel.name} = '
        f"::emu::define<{kernel.name}>(::emu_kernels::{kernel.name}, {most}, dim3({cluster}));",
    )


def _translate_file(path: Path, result: Translation, including: tuple[Path, ...]) -> str:
    source = SourceText(path)
    kernels = list(_kernels(source))
    for kernel in kernels:
        result.kernels.setdefault(kernel.name, kernel)
    result.volatile |= re.search(r"\bvolatile\b", source.mask) is not None
    edits = [
        *_define_kernels(kernels),
        *_expand_includes(source, result, including),
        *_rewrite_shared(source, kernels, result),
        *_rewrite_launches(source, result),
        *_rewrite_asm(source),
        *_rewrite_loops(source, result),
    ]
    return f"#line 1 {_quoted(path)}\n{source.edited(edits)}\n"


def _define_kernels(kernels: Sequence[Kernel]) -> Iterator[Edit]:
    declared: dict[str, Kernel] = {}
    for kernel in kernels:
        if not kernel.body.stop:
            declared[kernel.name] = kernel
            continue
        before = declared.get(kernel.name, kernel)
        if kernel.c_linkage or before.c_linkage:
            yield _define(kernel, before)


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _headers(source: SourceText, include: Sequence[Path]) -> Iterator[tuple[re.Match[str], Path]]:
    """The local headers that a file includes, with where it does; CUDA's own are not found."""
    for match in _LOCAL_INCLUDE.finditer(source.code):
        places = (source.path.parent, *include)
        header = next((h for place in places if (h := (place / match.group(1)).resolve()).is_file()), None)
        if header is not None:
            yield match, header


def declared_parameters(source: Path, include: Sequence[Path] = ()) -> dict[str, tuple[Parameter, ...]]:
    """The parameters of all kernels that a ``.cu`` file or a header of it declares, by the kernel's name."""
    kernels: list[Kernel] = []
    macros: dict[str, str] = {}
    for text in texts(source, include):
        kernels += _kernels(text)
        defined = {name: value.replace("\\\n", " ") for name, value in _MACRO.findall(text.code)}
        macros = {**defined, **macros}  # macros defined before an #include apply in the header
    return {kernel.name: parameters(kernel.parameters, macros) for kernel in reversed(kernels)}


def source_files(source: Path, include: Sequence[Path] = ()) -> list[Path]:
    """A ``.cu`` file and all local headers that it includes, each once.

    Raises ToolchainError if one cannot be read.
    """
    return [text.path for text in texts(source, include)]


def texts(source: Path, include: Sequence[Path]) -> Iterator[SourceText]:
    """A file and all local headers that it includes, each once."""
    left, seen = [source.resolve()], set()
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        text = SourceText(path)
        yield text
        left += [header for _, header in _headers(text, include)]


def _expand_includes(source: SourceText, result: Translation, including: tuple[Path, ...]) -> Iterator[Edit]:
    headers = [
        (match, header) for match, header in _headers(source, result.include) if header not in including
    ]
    if headers:  # the preprocessor may have skipped one, with the line that it would have given back
        for match in _BRANCH_END.finditer(source.code, headers[0][0].end()):
            yield Edit(
                match.end(), match.end(), f"\n#line {source.line(match.end()) + 1} {_quoted(source.path)}"
            )
    for match, header in headers:
        inner = _translate_file(header, result, (*including, header))
        if _PRAGMA_ONCE.search(inner):
            guard = "EMU_ONCE_" + str(header).encode().hex()
            inner = f"#ifndef {guard}\n#define {guard}\n{_PRAGMA_ONCE.sub('', inner)}#endif\n"
        back = f"#line {source.line(match.start()) + 1} {_quoted(source.path)}"
        yield Edit(match.start(), match.end(), inner + back)


def _kernels(source: SourceText) -> Iterator[Kernel]:
    for match in _KERNEL.finditer(source.statements):
        head = max(source.statements.rfind(mark, 0, match.start()) for mark in ";{}") + 1
        attributes: dict[str, str] = {}
        position = head
        while call := _CALL.search(source.statements, position):
            close = source.closing(call.end() - 1)
            position = close + 1
            if call.start() > match.start() and not call.group(1).startswith("__"):
                break
            attributes[call.group(1)] = source.code[call.end() : close].strip()
        if call is None:
            raise source.error(match.start(), "no function follows __global__")
        body = _BODY.match(source.statements, position)
        yield Kernel(
            name=call.group(1),
            c_linkage=_has_c_linkage(source, head, match.start()),
            parameters=source.code[call.end() : close],
            launch_bounds=attributes.get("__launch_bounds__", ""),
            cluster=attributes.get("__cluster_dims__", ""),
            body=range(body.end(), source.closing(body.end() - 1)) if body else range(0),
        )


def _has_c_linkage(source: SourceText, head: int, position: int) -> bool:
    """Whether ``extern "C"`` stands at the head of the declaration, or before a block around it."""
    for match in _C_LINKAGE.finditer(source.code, 0, position):
        if match.start() >= head or (match.group(1) and source.closing(match.end() - 1) > position):
            return True
    return False


def _rewrite_launches(source: SourceText, result: Translation) -> Iterator[Edit]:
    for match in _LAUNCH.finditer(source.mask):
        end = source.mask.find(">>>", match.end())
        opening = _LAUNCH_ARGUMENTS.match(source.mask, end) if end >= 0 else None
        if opening is None:
            raise source.error(match.start(), "a launch must read kernel<<<grid, block>>>(arguments)")
        result.launches_kernels = True
        function = match.group(1)
        owner = function.partition("<")[0].strip().rpartition("::")[2]
        close = source.closing(opening.end() - 1)
        shape = source.code[match.end() : end].strip()
        arguments = source.code[opening.end() : close].strip()
        call = f"::emu::launch<({function})>(emu_kernels::{owner}, ::emu::LaunchShape({shape})"
        yield Edit(match.start(), close + 1, f"{call}, {arguments})" if arguments else f"{call})")


def _rewrite_loops(source: SourceText, result: Translation) -> Iterator[Edit]:
    if result.with_loops is not None:
        yield from unroll(source, result.with_loops)
        yield from part(source)


def _rewrite_asm(source: SourceText) -> Iterator[Edit]:
    for match in ASM.finditer(source.mask):
        if source.statements[match.start()] == " ":
            raise source.error(match.start(), "inline PTX in a macro is not supported")
        opening = match.end() - 1
        closing = source.closing(opening)
        yield Edit(match.start(), closing + 1, translate_asm(source, opening, closing))


def _rewrite_shared(source: SourceText, kernels: list[Kernel], result: Translation) -> Iterator[Edit]:
    for match in _SHARED.finditer(source.mask):
        end = _end_of_declaration(source, match.end())
        before = source.mask[: match.start()]
        if end < 0 or before.count("{") <= before.count("}"):
            raise source.error(match.start(), "declare __shared__ variables inside a function")
        result.shared_variables += 1
        owner = next((kernel.name for kernel in kernels if match.start() in kernel.body), _FUNCTIONS)
        start = _start_of_declaration(source, match.start())
        qualifiers = " ".join(word for word in ("volatile", "const") if word in match.group())
        declaration = f"{source.code[start : match.start()]}{qualifiers} {source.code[match.end() : end]}"
        replacement = _declare_shared(declaration, "extern" in match.group(), owner, result.shared_variables)
        if replacement is None:
            raise source.error(match.start(), "cannot read this __shared__ declaration")
        yield Edit(start, end + 1, replacement)


def _start_of_declaration(source: SourceText, position: int) -> int:
    head = max(source.statements.rfind(mark, 0, position) for mark in ";{}") + 1
    found = _TYPE_BEFORE.fullmatch(source.statements, head, position)
    return found.start(1) if found else position


def _end_of_declaration(source: SourceText, position: int) -> int:
    """The place of the semicolon behind a declaration, which may define a struct; -1 without one."""
    while (found := _END_OR_BRACE.search(source.mask, position)) and found.group() == "{":
        position = source.closing(found.start())
    return found.start() if found else -1


def _angles_as_brackets(declaration: str) -> str:
    """The text with the brackets of template arguments as round ones; within others, < and > compare."""
    mask, depth = [], 0
    for character in declaration:
        depth += (character in "([{") - (character in ")]}")
        mask.append({"<": "(", ">": ")"}.get(character, character) if depth == 0 else character)
    return "".join(mask)


def _declare_shared(declaration: str, dynamic: bool, owner: str, number: int) -> str | None:
    """C++ for a shared declaration; ``number`` makes its helper names unique."""
    alignment, aligned = "0", ""
    if found := _ALIGNMENT.search(declaration):  # to a number, or as a type
        alignment = f"alignof(emu_aligned_{number})"
        aligned = f"struct emu_aligned_{number} {{ alignas({found.group(1)}) char c; }}; "
        declaration = declaration.replace(found.group(), "")
    declaration = _RESTRICT.sub("", declaration)
    first, *others = split_at(",", declaration, _angles_as_brackets(declaration))
    leading = _DECLARATOR.search(first)
    if leading is None:
        return None
    base = f"emu_type_{number}"
    statements = [f"{aligned}using {base} = {first[: leading.start()].strip()};"]
    for i, declarator in enumerate([leading.group(), *others]):
        parts = _DECLARATOR.search(declarator)
        if parts is None:
            return None
        pointer, name, extents = parts.groups()
        if dynamic:
            statements.append(f"auto& {name} = ::emu::dynamic_shared<{base}{pointer}>();")
            continue
        tag = f"emu_tag_{number}_{i}"
        variable = f"{base}_{i}, {tag}, ::emu_kernels::{owner}, ({alignment})"
        statements.append(f"using {base}_{i} = {base}{pointer}{extents}; struct {tag} {{}};")
        statements.append(f"auto& {name} = ::emu::shared_variable<{variable}>();")
    return " ".join(statements)
