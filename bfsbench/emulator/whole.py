"""Translates whole CUDA programs to C++. A preprocessed file with host code and device code becomes one C++
file.

The input is the output of the preprocessor, so macros are expanded and headers are included. System headers
stay unchanged. In all other code:

- ``kernel<<<grid, block, shared, stream>>>(arguments)`` becomes a launch configuration and a call of the
  kernel.
- A kernel's function gets a new first statement. If a launch configuration is pending, the statement launches
  the kernel and returns (include/emu/program.h).
- ``texture<T> name``, a texture reference, gets the emulator's type.
- Shared variables and inline PTX are rewritten as in kernel files. In counting builds, loops are rewritten
  too.
"""

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from bfsbench.emulator.translate import (
    angles_as_brackets,
    divide_loops,
    functions_with_loops,
    rewrite_asm,
    rewrite_shared,
)
from bfsbench.kernels.signature import parameter as read_parameter
from bfsbench.kernels.source import Edit, KernelDefinition, SourceText, kernels_of, split_at
from bfsbench.support.errors import ToolchainError

_MARKER = re.compile(r'^# (\d+) "((?:\\.|[^"\\])*)"((?: \d)*)$', re.MULTILINE)
_HIDDEN = re.compile(r"^#pragma emu_hidden (\d+)$", re.MULTILINE)
_OPENING = re.compile(r"<<\s*<")
_CLOSING = re.compile(r">>\s*>\s*\(")
_IDENTIFIER_BEFORE = re.compile(r"(?:(?:[A-Za-z_]\w*|~)?\s*::\s*)*[A-Za-z_]\w*\s*$")
_MEMBER_BEFORE = re.compile(r"(?:\.|->)\s*$")
_BRACES = re.compile(r"[{}]")
_SCOPE = re.compile(
    r'(?:\bnamespace\b[^;{}()]*|\bextern\s*"[^"]*"\s*|\b(?:struct|class|union|enum)\b[^;{}=]*)$'
)
_CLASS = re.compile(r"\b(?:struct|class|union)\b[^;{}=()]*$")
_LONGEST_HEAD = 4000
"""Number of characters before a brace in which the head of its function or class is looked for."""
_TEMPLATE = re.compile(r"\btemplate\s*<")
_POINTER_NAME = re.compile(r"\(\s*(?:[\w:]+::\s*)?[*&]+\s*(\w+)\s*\)")
_PARAMETER_NAME = re.compile(r"(\.\.\.)?\s*([A-Za-z_]\w*)?\s*$")
_NOINLINE = re.compile(r"(?<!\()\b__noinline__\b(?!\))")
_BUILT_INS = {
    "threadIdx": "thread_index",
    "blockIdx": "block_index",
    "blockDim": "block_shape",
    "gridDim": "grid_shape",
}
_BUILT_IN = re.compile(rf"(?<!\.)(?<!->)(?<!::)\b(?:{'|'.join(_BUILT_INS)})\b")
_OWN_VARIABLE = re.compile(
    rf"\b(?:dim3|uint3|int|unsigned|auto)\s+(?:[^;(){{}}]*,\s*)?({'|'.join(_BUILT_INS)})\b"
)
_DEVICE_VARIABLE = re.compile(r"\b__(?:device|constant)__\b[^;{}()=]*[;{=]")
_NOT_OF_DEVICE = re.compile(
    r"\b(?:const(?:expr)?|extern|template|inline|__managed__|using|typedef|operator)\b"
)
"""Finds words that occur only in declarations of variables that the host may read, and in declarations that
define no variable."""
_DECLARED = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^]]*\]\s*)*$")
_VOLATILE = re.compile(r"\b(?<!asm )(?<!asm__ )volatile\b")
_TEXTURE_REFERENCE = re.compile(r"(?<!\.)(?<!->)(?<!::)\btexture(?=\s*<)")
_HOST_GENERATOR = re.compile(r"\b(curandCreateGenerator(?:Host)?)\s*\((?!\s*curandGenerator_t)")
"""Finds a call of the function with which programs begin to use cuRAND on the host. NVIDIA's header only
declares the function."""
_OWN_TEXTURE = re.compile(r"\b(?:struct|class|union|using)\s+texture\b")
_OWN_HEADERS = f"{Path(__file__).resolve().parent / 'include'}{os.sep}"
"""The beginning of the paths of the emulator's headers. They need no translation."""


class Preprocessed(SourceText):
    """The output of the preprocessor for one file. The text of system headers and of the emulator's headers
    is removed before the translation, and put back at the end."""

    def __init__(self, path: Path, output: str) -> None:
        self._hidden: list[str] = []
        self._read(path, self._without_system(output))

    def _read(self, path: Path, text: str) -> None:
        super().__init__(path, text)
        self._markers = [
            (match.start(), int(match.group(1)), match.group(2)) for match in _MARKER.finditer(self.code)
        ]
        self._starts = [start for start, *_ in self._markers]

    def replace(self, edits: list[Edit]) -> None:
        """Apply edits to the text. Later calls of this method work on the new text."""
        if edits:
            self._read(self.path, super().edited(edits))

    def _without_system(self, output: str) -> str:
        markers = list(_MARKER.finditer(output))
        parts = [output[: markers[0].start()]] if markers else [output]
        ends = [*(match.start() for match in markers[1:]), len(output)] if markers else []
        # text from a macro of a system header is marked as a system header, but names the user's file
        own = {match.group(2) for match in markers if "3" not in match.group(3)}
        own = {name for name in own if not name.startswith(_OWN_HEADERS)}
        for match, end in zip(markers, ends, strict=True):
            text = output[match.start() : end]
            if match.group(2) in own and not match.group(2).startswith("<"):
                parts.append(text)
            elif parts and (hidden := _HIDDEN.fullmatch(parts[-1].strip())):
                self._hidden[int(hidden.group(1))] += text
            else:
                parts.append(f"#pragma emu_hidden {len(self._hidden)}\n")
                self._hidden.append(text)
        return "".join(parts)

    def error(self, position: int, message: str) -> ToolchainError:
        """Returns an error that names the original file and line of the code at a position."""
        index = bisect_right(self._starts, position) - 1
        if index < 0:
            return super().error(position, message)
        start, number, file = self._markers[index]
        line = number + self.code.count("\n", start, position) - 1
        return ToolchainError(f"{file}:{line}: error: {message}")

    def edited(self, edits: list[Edit]) -> str:
        return _HIDDEN.sub(lambda match: self._hidden[int(match.group(1))], super().edited(edits))


def translate_program(path: Path, preprocessed: str, *, unrolls: bool = False) -> tuple[str, bool]:
    """Translate the preprocessor's output for one file of a program. If ``unrolls`` is true, each loop that
    nvcc would unroll becomes several loops, so that warps run it as in nvcc's code.

    Returns the C++ code, and whether it uses ``volatile``. Code with ``volatile`` must be compiled so that
    the emulator can interrupt its threads, because a thread may wait for another thread in a loop without
    calls. Raises ToolchainError, which names the file and the line, for a construct that cannot be
    translated.
    """
    source = Preprocessed(path, preprocessed)
    if call := _HOST_GENERATOR.search(source.statements):
        raise source.error(call.start(), f"{call[1]} is not supported (cuRAND's functions for hosts)")
    source.replace(list(_built_in(source)))
    kernels = [kernel for kernel in kernels_of(source) if kernel.body.stop]
    bodies, classes = _blocks(source)

    def owner(position: int) -> str:
        inside = (number for number, kernel in enumerate(kernels) if position in kernel.body)
        number = next(inside, None)
        return "::emu::device_functions" if number is None else f"::emu::KernelOf<emu_kernel_{number}>::value"

    def at_file_scope(position: int) -> bool:
        return not any(position in body for body in bodies)

    edits = [
        *(edit for number, kernel in enumerate(kernels) for edit in _prologue(source, kernel, number)),
        *rewrite_shared(source, count(), owner, at_file_scope),
        *_launches(source),
        *_device_variables(source, [*bodies, *classes]),
        *rewrite_asm(source, with_host=True),
        *(
            Edit(match.start(), match.end(), "__attribute__((noinline))")
            for match in _NOINLINE.finditer(source.statements)
        ),
        *(
            Edit(match.start(), match.end(), "::emu::TextureReference")
            for match in _TEXTURE_REFERENCE.finditer(source.statements)
            if not _OWN_TEXTURE.search(source.statements)
        ),
    ]
    if unrolls:
        edits += divide_loops(source, functions_with_loops([source]))
    return source.edited(edits), _VOLATILE.search(source.statements) is not None


def _built_in(source: Preprocessed) -> Iterator[Edit]:
    """Yields edits that replace CUDA's built-in variables, such as ``threadIdx``. A function's own variables
    with these names are left unchanged."""
    own = [(match.group(1), match.start()) for match in _OWN_VARIABLE.finditer(source.statements)]
    bodies = _blocks(source)[0] if own else []
    hidden = {(name, body.start) for name, at in own for body in bodies if at in body}
    for match in _BUILT_IN.finditer(source.statements):
        body = next((body.start for body in bodies if match.start() in body), None)
        if (match.group(), body) not in hidden:
            yield Edit(match.start(), match.end(), f"(::emu::{_BUILT_INS[match.group()]}())")


def _device_variables(source: Preprocessed, inner: Sequence[range]) -> Iterator[Edit]:
    """Yields edits that register the variables of the device, so that the emulator notices when the host
    accesses them. Variables within the ranges ``inner``, which are functions and classes, are not
    registered."""
    mask = source.statements
    for match in _DEVICE_VARIABLE.finditer(mask):
        begin = max(mask.rfind(mark, 0, match.start()) for mark in ";{}") + 1
        end = match.end() - 1
        while end < len(mask) and mask[end] != ";":
            end = source.closing(end) + 1 if mask[end] in "([{" else end + 1
        if _NOT_OF_DEVICE.search(mask, begin, end) or any(begin in body for body in inner):
            continue
        is_class = mask[match.end() - 1] == "{" and _CLASS.search(mask, begin, match.end() - 1)
        text = mask[source.closing(match.end() - 1) + 1 if is_class else begin : end]
        parts = split_at(",", text, angles_as_brackets(text))
        declared = (part.partition("=")[0].partition("{")[0] for part in parts)
        names = [found.group(1) for part in declared if (found := _DECLARED.search(part.rstrip()))]
        register = (f' static ::emu::DeviceVariable emu_variable_{name}({name}, "{name}");' for name in names)
        yield Edit(end + 1, end + 1, "".join(register))


def _prologue(source: Preprocessed, kernel: KernelDefinition, number: int) -> Iterator[Edit]:
    """Yields edits that insert a first statement into each kernel, and name the kernel's unnamed parameters.

    Host code launches a kernel by calling its function. The inserted statement then starts the launch and
    returns before the kernel's own body.
    """
    names, types = [], []
    opening = source.code.rfind(kernel.parameters + ")", 0, kernel.body.start)
    position = opening
    text = kernel.parameters
    for i, parameter in enumerate(split_at(",", text, angles_as_brackets(text))):
        if not parameter or parameter == "void":
            continue
        declared = parameter.partition("=")[0].rstrip() if "=" in parameter else parameter
        start = source.code.index(parameter, position)
        position = start + len(parameter)
        pointer = _POINTER_NAME.search(declared)
        name = pointer.group(1) if pointer else read_parameter(declared).name
        if not name:
            name = f"emu_parameter_{i}"
            yield Edit(start + len(declared), start + len(declared), f" {name}")
        pack = "..." if "..." in declared else ""
        names.append(name + pack)
        types.append(f"::emu::plain_t<decltype({name})>{pack}")
    hidden = "::" if kernel.name in names else ""  # a parameter has the name of the kernel
    own = f"{hidden}{kernel.name}{kernel.explicit or _template_arguments(kernel.template)}"
    itself = f"static_cast<void (*)({', '.join(types)})>({own})"
    bounds = f"::emu::first_of({kernel.launch_bounds})" if kernel.launch_bounds else "0"
    cluster = f"dim3({kernel.cluster})" if kernel.cluster else "dim3(1)"
    arguments = ", ".join([f'"{kernel.name}"', bounds, cluster, *names])
    tag = f"emu_kernel_{number}"
    yield Edit(
        *(kernel.body.start, kernel.body.start),
        f" struct {tag} {{}}; if (::emu::launching()) "
        f"return ::emu::launch_self<{tag}, {itself}>({arguments}); ",
    )


def _template_arguments(head: str) -> str:
    """Returns the parameters of a template in the form of arguments, such as ``<T, N>``. Returns an empty
    string for functions that are not templates."""
    match = _TEMPLATE.search(head)
    if match is None:
        return ""
    inner = head[match.end() : _end_of_angles(head, match.end()) - 1]
    if not inner.strip():
        return ""
    names = []
    for parameter in split_at(",", inner, angles_as_brackets(inner)):
        declared = parameter.partition("=")[0]
        if pointer := _POINTER_NAME.search(declared):
            names.append(pointer.group(1))
            continue
        found = _PARAMETER_NAME.search(declared)
        name = (found and found.group(2)) or ""
        is_type = found and parameter[: found.start(2)].rstrip().endswith("::")
        if "=" in parameter and (is_type or not name or name in ("class", "typename")):
            break  # a parameter without a name, whose default the compiler takes
        names.append(name + ("..." if "..." in parameter else ""))
    return f"<{', '.join(names)}>"


def _end_of_angles(text: str, start: int) -> int:
    """Returns the position after the angle bracket that closes a list of template parameters. The list
    begins at ``start``."""
    depth, end = 1, start
    while depth and end < len(text):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(text[end], 0)
        end += 1
    return end


def _launches(source: Preprocessed) -> Iterator[Edit]:
    mask = source.statements
    for match in _OPENING.finditer(mask):
        start = _start_of_callee(mask, match.start())
        end = _CLOSING.search(mask, match.end())
        if start is None or end is None:
            raise source.error(match.start(), "a launch must read kernel<<<grid, block>>>(arguments)")
        closing = source.closing(end.end() - 1)
        shape = source.code[match.end() : end.start()]
        yield Edit(start, start, "(")
        yield Edit(match.start(), end.end() - 1, "")
        yield Edit(closing + 1, closing + 1, ")")
        yield Edit(start, start, f"::emu::Configured(::emu::LaunchShape({shape})), ")


def _start_of_callee(mask: str, position: int) -> int | None:
    """Returns the start of the expression before ``<<<`` in a launch. The expression ends at ``position``.
    Returns None if no expression ends there."""
    while True:
        end = len(mask[:position].rstrip()) if mask[position - 1].isspace() else position
        last = mask[end - 1]
        if last in ")]>":
            opening = _opening(mask, end - 1)
            if opening is None:
                return None
            if last == ")" and not _IDENTIFIER_BEFORE.search(mask, max(0, opening - 200), opening):
                return opening
            position = opening
            continue
        found = _IDENTIFIER_BEFORE.search(mask, max(0, end - 200), end)
        if found is None:
            return None
        position = found.start()
        if member := _MEMBER_BEFORE.search(mask, max(0, position - 8), position):
            position = member.start()
            continue
        return position


def _opening(mask: str, position: int) -> int | None:
    """Returns the position of the opening bracket for the closing bracket at ``position``. Returns None if no
    bracket matches."""
    angles = mask[position] == ">"
    depth, open_angles = 0, 0
    for i in range(position, -1, -1):
        character = mask[i]
        if character in ")]":
            depth += 1
        elif character in "([":
            depth -= 1
            if depth == 0 and not angles:
                return i
        elif character in ";{}":
            return None
        elif depth == 0 and angles:  # in round brackets, these characters are operators
            open_angles += (character == ">" and mask[i - 1] != "-") - (character == "<")
            if open_angles == 0 and character == "<":
                return i
        if depth < 0:
            return None
    return None


def _blocks(source: Preprocessed) -> tuple[list[range], list[range]]:
    """Finds blocks in braces. Returns two lists of ranges: the bodies of functions, and the bodies of
    classes. Blocks inside a function's body are not listed as bodies of functions."""
    bodies: list[range] = []
    classes: list[range] = []
    # for each open block: where it begins, whether it is a namespace or class, and whether it is a class
    blocks: list[tuple[int, bool, bool]] = []
    depth = 0
    for match in _BRACES.finditer(source.statements):
        if match.group() == "{":
            head = source.statements[max(0, match.start() - _LONGEST_HEAD) : match.start()]
            head = head[max(head.rfind(mark) for mark in ";{}") + 1 :].strip()
            while template := _TEMPLATE.match(head):
                head = head[_end_of_angles(head, template.end()) :].lstrip()
            is_class = _CLASS.search(head) is not None
            blocks.append((match.start(), _SCOPE.search(head) is not None, is_class))
            depth += not blocks[-1][1]
        elif blocks:
            start, is_scope, is_class = blocks.pop()
            depth -= not is_scope
            if is_scope and is_class:
                classes.append(range(start, match.start()))
            if not is_scope and depth == 0:
                bodies.append(range(start, match.start()))
    return bodies, classes
