"""Translates kernel files from CUDA C++ to C++: rewrites the few constructs that a header cannot implement.

- ``kernel<<<grid, block, shared, stream>>>(arguments)`` becomes a call that queues a child launch.
- ``__shared__ int s[256];`` and ``extern __shared__ int s[];`` become references into the memory of the
  running block.
- ``asm("ld.acquire.gpu.u32 %0, [%1];" ...)`` becomes calls that have the effect of the instructions (ptx.py).
- A local ``#include "x.cuh"`` becomes the text of the translated header.
- In counting builds, loops are divided as nvcc unrolls them.

``#line`` directives keep the file and number of each line, so that compilers name the ``.cu`` source. Kernels
and shared variables that macros generate are not supported. Shared variables outside functions are not
supported either.

Unrolling changes the steps of a warp whose lanes run a loop different numbers of times. With unrolling by
four, each lane first runs the iterations that remain after division by four. Then all lanes run four
iterations at a time. The translation divides the loop into two loops, of which the first runs the remaining
iterations. If the body only computes, the iterations run by sixteen, then by eight, four and one. This
follows the machine code that nvcc 13.0 makes of this project's kernels. nvcc unrolls innermost loops that
count up by one to a bound that is known at the start, and that end in no other way.

Lanes leave a loop at different times if a function returns a constant from it. nvcc inlines the function. So
each lane goes on at once to the code that uses the constant, and meets the other lanes after that code. The
translation lets a lane that leaves a loop in this way call ``emu::part``.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from bfsbench.emulator.ptx import ASM, translate_asm
from bfsbench.kernels.source import (
    Edit,
    KernelDefinition,
    SourceText,
    kernels_of,
    local_headers,
    split_at,
    texts,
)

_FOURS = (2, "emu_part ? ~3ll : 3ll")
_SIXTEENS = (4, "!emu_part ? ~15ll : emu_part < 3 ? 16ll >> emu_part : 3ll")
"""The number of parts of a divided loop, and the bits of its number of iterations that each part takes."""
_FOR = re.compile(r"\bfor\s*\(")
_FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\([^;{}]*\)\s*(?:const\s*)?\{")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_STATEMENTS = frozenset({"if", "for", "while", "switch"})
_LOOP_OR_MEETING = re.compile(r"\b(?:for|while|do|asm|sync|__sync\w*|__\w+_sync|__nanosleep)\b")
"""Finds inner loops, and operations that the lanes of a warp do together."""
_EXIT = re.compile(r"\b(?:break|return|goto)\b")
_MORE_THAN_COMPUTES = re.compile(
    r"\bif\b|\bcontinue\b|[?(]|&&|\|\||\]\s*[-+*/%|&^]?=(?!=)|\*\s*\w+\s*=(?!=)|\+\+|--"
)
"""Finds branches, calls, and changes of memory."""
_UNROLL_PRAGMA = re.compile(r"#[ \t]*pragma[ \t]+(?:no)?unroll\b[^\n]*\s*$")
_START = re.compile(r"[\w:]+\s+(\w+)\s*=.*", re.DOTALL)
_CONDITION = re.compile(r"(\w+)\s*(?:<|!=)\s*([^<>=!&|?]+)", re.DOTALL)
_STEP = re.compile(r"\+\+\s*(\w+)|(\w+)\s*\+\+|(\w+)\s*\+=\s*(\w+)")
_HEAD = (_START, _CONDITION, _STEP)
_CONSTANT_ARRAY = re.compile(r"\bconst\b[^;(){},]*\*\s*__restrict__\s+(\w+)")
_ELEMENT = re.compile(r"\b(\w+)\s*\[[^\[\]]*\]")
_MEMORY = re.compile(r"[\[*]|->|\b(?!min\b|max\b)\w+\s*\(")
"""Finds expressions that may change during the loop: reads of memory, and calls. It also finds products."""
_LOOP = re.compile(r"\b(?:for|while)\s*\(")
_CONSTANT_RETURN = re.compile(r"\breturn\s+(?:true|false|\d+)\s*;")
_HEADED = re.compile(r"(?:if\s*(?:constexpr\s*)?|for\s*|while\s*|switch\s*)\(")
_ELSE = re.compile(r"\s*else\b")


def functions_with_loops(texts: Iterable[SourceText]) -> set[str]:
    """Returns the names of all functions that contain a loop or a barrier, directly or through the functions
    that they call."""
    bodies: dict[str, str] = {}
    for text in texts:
        for match in _FUNCTION.finditer(text.statements):
            if match.group(1) not in _STATEMENTS:
                body = text.statements[match.end() : text.closing(match.end() - 1)]
                bodies[match.group(1)] = bodies.get(match.group(1), "") + body
    found = {name for name, body in bodies.items() if _LOOP_OR_MEETING.search(body)}
    while more := {name for name in bodies.keys() - found if found & _calls(bodies[name])}:
        found |= more
    return found


def divide_loops(source: SourceText, with_loops: set[str]) -> Iterator[Edit]:
    """Yields edits that divide the loops that nvcc unrolls. Other edits call ``emu::part`` where a function
    returns a constant from inside a loop.

    ``with_loops`` has the names of functions with loops. A loop that calls one of them is not divided.
    """
    constant = set(_CONSTANT_ARRAY.findall(source.statements))
    for match in _FOR.finditer(source.statements):
        closing = source.closing(match.end() - 1)
        end = _end_of_statement(source, closing + 1)
        body = source.statements[closing + 1 : end]
        if _LOOP_OR_MEETING.search(body) or _EXIT.search(body) or with_loops & _calls(body):
            continue
        if _UNROLL_PRAGMA.search(source.mask[: match.start()]):
            continue
        head = source.code[match.end() : closing]
        parts = _FOURS if _MORE_THAN_COMPUTES.search(body) else _SIXTEENS
        if divided := _divided(split_at(";", head), constant, *parts):
            yield Edit(match.start(), closing + 1, divided[0])
            yield Edit(end, end, divided[1])
    returns = {}  # by position, because a return in an inner loop is found in the outer loop too
    for match in _LOOP.finditer(source.statements):
        start = source.closing(match.end() - 1) + 1
        for left in _CONSTANT_RETURN.finditer(source.statements, start, _end_of_statement(source, start)):
            returns[left.start()] = Edit(left.start(), left.end(), f"{{ ::emu::part(); {left.group()} }}")
    yield from returns.values()


def _divided(head: list[str], constant: set[str], parts: int, bits: str) -> tuple[str, str] | None:
    """Returns the text before and after the body of a divided loop. Returns None if the loop does not count
    up to a known bound.

    If the step of the loop is a name, it may turn out to be 1 after inlining, so the loop is divided. A bound
    that is an element of an array counts as known if the kernel declares the array constant. It is read once.
    """
    if len(head) != 3:
        return None
    start, condition, step = (form.fullmatch(part) for form, part in zip(_HEAD, head, strict=True))
    if start is None or condition is None or step is None:
        return None
    name, (compared, bound) = start.group(1), condition.groups()
    if compared != name or name not in step.groups():
        return None
    if _MEMORY.search(_ELEMENT.sub("", bound)) or not constant.issuperset(_ELEMENT.findall(bound)):
        return None
    by = step.group(4) or "1"
    if by.isdigit() and by != "1":
        return None
    bits = f"__builtin_constant_p({by}) && {by} == 1 ? {bits} : emu_part ? 0 : ~0ll"
    all_of_them = f"const auto emu_all = {name} < emu_bound ? emu_bound - {name} : 0"
    end = f"const auto emu_end = {name} + (emu_all & ({bits}))"
    before = (
        f"{{ {head[0]}, emu_bound = {bound}; {all_of_them}; int emu_part = 0; "
        f"do {{ {end}; if ({name} < emu_end) do "
    )
    return before, f" while ({head[2]}, {name} < emu_end); }} while (++emu_part < {parts}); }}"


def _calls(body: str) -> set[str]:
    return set(_CALL.findall(body))


def _end_of_statement(source: SourceText, position: int) -> int:
    """Returns the position of the end of the statement that begins at ``position``."""
    text = source.statements
    position += len(text[position:]) - len(text[position:].lstrip())
    if text[position] == "{":
        return source.closing(position) + 1
    if headed := _HEADED.match(text, position):
        end = _end_of_statement(source, source.closing(headed.end() - 1) + 1)
        other = _ELSE.match(text, end)
        return _end_of_statement(source, other.end()) if other else end
    while text[position] != ";":
        position = (source.closing(position) if text[position] in "([{" else position) + 1
    return position + 1


_BRANCH_END = re.compile(r"^[ \t]*#[ \t]*(?:else|elif|endif)\b(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
_PRAGMA_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)
_LAUNCH = re.compile(r"([A-Za-z_][\w:]*(?:\s*<[^<>;{}]*>)?)\s*<<<")
_LAUNCH_ARGUMENTS = re.compile(r">>>\s*\(")
_TYPE_BEFORE = re.compile(r"\s*((?:[A-Za-z_]\w*(?:::\w+)*\s+)+)")
"""Finds the type of a shared variable before the word ``__shared__``, as in ``int __shared__ s[4];``."""
_SHARED = re.compile(r"(?:\b(?:extern|static|volatile|const)\b\s*)*\b__shared__\b")
_END_OR_BRACE = re.compile(r"[;{]")
_RESTRICT = re.compile(r"\b__restrict(?:__)?\b")
_ALIGNMENT = re.compile(
    r"\b(?:__attribute__\s*\(\s*\(\s*aligned|__align__|alignas|__builtin_align__)\s*"
    r"\(([^()]*(?:\([^()]*\))?[^()]*)\)(?:\s*\)\s*\))?"
)
_DECLARATOR = re.compile(r"([*\s]*)(?<!\w)([A-Za-z_]\w*)\s*((?:\[.*\])?)\s*$", re.DOTALL)
_FUNCTIONS = "device_functions"
"""The owner of shared variables that are declared outside kernels."""


@dataclass
class Translation:
    """The C++ code for a ``.cu`` file and the local headers that it includes, with the kernels that they
    define."""

    include: Sequence[Path] = ()
    """Folders of headers, besides the folder of the file that includes a header."""
    text: str = ""
    kernels: dict[str, KernelDefinition] = field(default_factory=dict)
    launches_kernels: bool = False
    volatile: bool = False
    """True if threads may poll memory in loops without calls."""
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    """Numbers that make names unique."""
    with_loops: set[str] | None = None
    """Functions that an unrolled loop must not call. None if no loop is to be unrolled."""


def translate(
    source: Path, include: Sequence[Path] = (), appended: str = "", *, unrolls: bool = False
) -> Translation:
    """Translate a ``.cu`` file to C++. Returns the translation. ``appended`` is C++ that is added at the end.
    If ``unrolls``, loops are divided as nvcc unrolls them.

    Raises ToolchainError, which names file and line, for a construct that cannot be translated.
    """
    with_loops = functions_with_loops(texts(source, include)) if unrolls else None
    result = Translation(include, with_loops=with_loops)
    body = _translate_file(source, result, ())
    owners = [f'static ::emu::Kernel {_FUNCTIONS}("{_FUNCTIONS}", nullptr);']
    owners += [f'static ::emu::Kernel {name}("{name}", &{_FUNCTIONS});' for name in result.kernels]
    head = f'#line 1 "kernel table"\nnamespace emu_kernels {{ {" ".join(owners)} }}\n'
    result.text = "\n".join([head, body, appended, ""])
    return result


def _translate_file(path: Path, result: Translation, including: tuple[Path, ...]) -> str:
    source = SourceText(path)
    kernels = list(kernels_of(source))
    for kernel in kernels:
        result.kernels.setdefault(kernel.name, kernel)
    result.volatile |= re.search(r"\bvolatile\b", source.mask) is not None

    def owner(position: int) -> str:
        if source.mask.count("{", 0, position) <= source.mask.count("}", 0, position):
            raise source.error(position, "declare __shared__ variables inside a function")
        inside = (kernel.name for kernel in kernels if position in kernel.body)
        return f"::emu_kernels::{next(inside, _FUNCTIONS)}"

    edits = [
        *_define_kernels(kernels),
        *_expand_includes(source, result, including),
        *rewrite_shared(source, result.numbers, owner),
        *_rewrite_launches(source, result),
        *rewrite_asm(source),
    ]
    if result.with_loops is not None:
        edits += divide_loops(source, result.with_loops)
    return f"#line 1 {_quoted(path)}\n{source.edited(edits)}\n"


def _define_kernels(kernels: Sequence[KernelDefinition]) -> Iterator[Edit]:
    """Yields edits that add the description of each kernel with C linkage after its body, in the kernel's
    namespace. If the preprocessor removes the kernel, it removes the description too.

    Launch bounds and cluster size may come from an earlier declaration instead of the definition.
    """
    declared: dict[str, KernelDefinition] = {}
    for kernel in kernels:
        if not kernel.body.stop:
            declared[kernel.name] = kernel
            continue
        before = declared.get(kernel.name, kernel)
        if kernel.c_linkage or before.c_linkage:
            bounds = kernel.launch_bounds or before.launch_bounds
            most = f"::emu::first_of({bounds})" if bounds else "0"
            cluster = kernel.cluster or before.cluster or 1
            yield Edit(
                *(kernel.body.stop + 1, kernel.body.stop + 1),
                f' extern "C" EMU_API ::emu::Kernel* const emu_kernel_{kernel.name} = '
                f"::emu::define<{kernel.name}>(::emu_kernels::{kernel.name}, {most}, dim3({cluster}));",
            )


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _expand_includes(source: SourceText, result: Translation, including: tuple[Path, ...]) -> Iterator[Edit]:
    headers = [
        (match, header) for match, header in local_headers(source, result.include) if header not in including
    ]
    if headers:  # the preprocessor may have skipped a header with its #line directive
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


def rewrite_asm(source: SourceText) -> Iterator[Edit]:
    """Yields edits that replace inline PTX. Raises ToolchainError if a statement cannot be read."""
    for match in ASM.finditer(source.mask):
        if source.statements[match.start()] == " ":
            raise source.error(match.start(), "inline PTX in a macro is not supported")
        opening = match.end() - 1
        closing = source.closing(opening)
        yield Edit(match.start(), closing + 1, translate_asm(source, opening, closing))


def rewrite_shared(
    source: SourceText,
    numbers: Iterator[int],
    owner: Callable[[int], str],
    at_file_scope: Callable[[int], bool] = lambda _: False,
) -> Iterator[Edit]:
    """Yields edits that replace the declarations of shared variables.

    ``numbers`` makes the names of helper types unique. ``owner`` returns the name of the ``emu::Kernel`` to
    which the variables at a position belong. Raises ToolchainError if a declaration cannot be read.
    """
    for match in _SHARED.finditer(source.mask):
        place = owner(match.start())
        end = match.end()
        while (found := _END_OR_BRACE.search(source.mask, end)) and found.group() == "{":  # of a struct
            end = source.closing(found.start())
        head = max(source.statements.rfind(mark, 0, match.start()) for mark in ";{}") + 1
        before = _TYPE_BEFORE.fullmatch(source.statements, head, match.start())
        start = before.start(1) if before else match.start()
        rest = source.code[match.end() : found.start()] if found else ""
        words = source.code[start : match.end()]
        qualifiers = " ".join(word for word in ("volatile", "const") if word in match.group())
        declaration = re.sub(
            r"\b(?:extern|static)\b", "", f"{source.code[start : match.start()]}{qualifiers} {rest}"
        )
        dynamic = re.search(r"\bextern\b", words) is not None
        replacement = _declare_shared(
            declaration, dynamic, place, next(numbers), at_file_scope=at_file_scope(match.start())
        )
        if found is None or replacement is None:
            raise source.error(match.start(), "cannot read this __shared__ declaration")
        yield Edit(start, found.start() + 1, replacement)


def angles_as_brackets(declaration: str) -> str:
    """Returns the text with the angle brackets of template arguments replaced by round brackets. Inside
    round, square or curly brackets, < and > may be comparisons, so they stay."""
    mask, depth = [], 0
    for character in declaration:
        depth += (character in "([{") - (character in ")]}")
        mask.append({"<": "(", ">": ")"}.get(character, character) if depth == 0 else character)
    return "".join(mask)


def _declare_shared(
    declaration: str, dynamic: bool, owner: str, number: int, *, at_file_scope: bool
) -> str | None:
    """Returns C++ code for the declaration of shared variables, or None if it cannot be read.

    ``owner`` names the ``emu::Kernel`` to which the variables belong. ``number`` makes the names of helper
    types unique. At file scope, a variable becomes an object that finds the variable of the running block.
    """
    alignment, aligned = "0", ""
    if found := _ALIGNMENT.search(declaration):  # the alignment is a number or a type
        alignment = f"alignof(emu_aligned_{number})"
        aligned = f"struct emu_aligned_{number} {{ alignas({found.group(1)}) char c; }}; "
        declaration = declaration.replace(found.group(), "")
    declaration = _RESTRICT.sub("", declaration)
    first, *others = split_at(",", declaration, angles_as_brackets(declaration))
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
        if dynamic and at_file_scope:
            statements.append(f"static ::emu::DynamicSharedAtFileScope<{base}{pointer}> {name};")
            continue
        if dynamic:
            statements.append(f"auto& {name} = ::emu::dynamic_shared<{base}{pointer}>();")
            continue
        tag = f"emu_tag_{number}_{i}"
        if at_file_scope:
            kind = f"using {base}_{i} = {base}{pointer}{extents}; namespace {{ struct {tag} {{}}; }}"
            statements.append(f"{kind} static ::emu::SharedAtFileScope<{base}_{i}, {tag}> {name};")
            continue
        variable = f"{base}_{i}, {tag}, {owner}, ({alignment})"
        statements.append(f"using {base}_{i} = {base}{pointer}{extents}; struct {tag} {{}};")
        statements.append(f"auto& {name} = ::emu::shared_variable<{variable}>();")
    return " ".join(statements)
