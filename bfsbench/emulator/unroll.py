"""What nvcc makes of loops, in builds that count: some are unrolled by four, and some exits lead further.

When lanes have loops of different lengths, unrolling changes the steps of their warp: each lane first makes
the iterations that are left over by four, then all go on by fours. Here such a loop becomes two, one after
the other, the first for what is left over. A body that only computes is unrolled twice: its iterations go by
sixteen, then eight, four and one by one. Which loops those are was read off the machine code that nvcc 13.0
makes of this project's kernels: innermost ones that count up by one to a bound that is known when they start,
and that end in no other way.

Lanes leave a loop at different times when a function returns a constant from it. The function is inlined, so
each lane goes on at once to what the caller does with the constant, and meets the others behind that. Here
such lanes say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bfsbench.emulator.source_text import Edit, SourceText, split_at

_FOURS = (2, "emu_part ? ~3ll : 3ll")
_SIXTEENS = (4, "!emu_part ? ~15ll : emu_part < 3 ? 16ll >> emu_part : 3ll")
"""The number of parts of a loop, and which bits of the number of iterations each part takes."""
_FOR = re.compile(r"\bfor\s*\(")
_FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\([^;{}]*\)\s*(?:const\s*)?\{")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_STATEMENTS = frozenset({"if", "for", "while", "switch"})
_LOOP_OR_MEETING = re.compile(r"\b(?:for|while|do|asm|sync|__sync\w*|__\w+_sync|__nanosleep)\b")
"""Inner loops, and what lanes of a warp do together."""
_EXIT = re.compile(r"\b(?:break|return|goto)\b")
_MORE_THAN_COMPUTES = re.compile(
    r"\bif\b|\bcontinue\b|[?(]|&&|\|\||\]\s*[-+*/%|&^]?=(?!=)|\*\s*\w+\s*=(?!=)|\+\+|--"
)
"""Branches, calls, and changes of memory."""
_UNROLL_PRAGMA = re.compile(r"#[ \t]*pragma[ \t]+(?:no)?unroll\b[^\n]*\s*$")
_START = re.compile(r"[\w:]+\s+(\w+)\s*=.*", re.DOTALL)
_CONDITION = re.compile(r"(\w+)\s*(?:<|!=)\s*([^<>=!&|?]+)", re.DOTALL)
_STEP = re.compile(r"\+\+\s*(\w+)|(\w+)\s*\+\+|(\w+)\s*\+=\s*(\w+)")
_HEAD = (_START, _CONDITION, _STEP)
_CONSTANT_ARRAY = re.compile(r"\bconst\b[^;(){},]*\*\s*__restrict__\s+(\w+)")
_ELEMENT = re.compile(r"\b(\w+)\s*\[[^\[\]]*\]")
_MEMORY = re.compile(r"[\[*]|->|\b(?!min\b|max\b)\w+\s*\(")
"""What may change in the loop: memory, or the result of a call. A product is taken for one, too."""
_LOOP = re.compile(r"\b(?:for|while)\s*\(")
_CONSTANT_RETURN = re.compile(r"\breturn\s+(?:true|false|\d+)\s*;")
_HEADED = re.compile(r"(?:if\s*(?:constexpr\s*)?|for\s*|while\s*|switch\s*)\(")
_ELSE = re.compile(r"\s*else\b")


def functions_with_loops(texts: Iterable[SourceText]) -> set[str]:
    """Names of functions with a loop or a barrier in them, or in what they call."""
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


def unroll(source: SourceText, with_loops: set[str]) -> Iterator[Edit]:
    """Divide the loops that nvcc unrolls; ``with_loops`` are functions that none of them calls."""
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
        if divided := _divided(split_at(";", head, head), constant, *parts):
            yield Edit(match.start(), closing + 1, divided[0])
            yield Edit(end, end, divided[1])


def part(source: SourceText) -> Iterator[Edit]:
    """Mark the places where a loop is left by returning a constant."""
    found: set[int] = set()
    for match in _LOOP.finditer(source.statements):
        body = source.closing(match.end() - 1) + 1
        for left in _CONSTANT_RETURN.finditer(source.statements, body, _end_of_statement(source, body)):
            if left.start() not in found:
                found.add(left.start())
                yield Edit(left.start(), left.end(), f"{{ ::emu::part(); {left.group()} }}")


def _divided(head: list[str], constant: set[str], parts: int, bits: str) -> tuple[str, str] | None:
    """The text before and behind the body of a divided loop; None if it does not count to a known bound.

    A step with a name may turn out to be one when the function has been inlined. A bound in an array that the
    kernel declares constant is known, and read once.
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
    """Where the statement that begins at a position ends."""
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
