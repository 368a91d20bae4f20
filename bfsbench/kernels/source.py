"""Prepares the text of a CUDA source file for rewriting without a full parser."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bfsbench.support.errors import ToolchainError

_LITERAL_OR_COMMENT = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""", re.DOTALL
)
"""Matches literals and comments in C++ code. A single quotation mark after a digit does not begin a literal,
because it separates digits."""
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if(?:n?def)?|elif|else|endif)\b[ \t]*([^\n]*)", re.MULTILINE)
_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*$', re.MULTILINE)
_KERNEL = re.compile(r"\b__global__\b")
_BODY = re.compile(r"\s*(?:noexcept\s*)?(?:->\s*void\s*)?\{")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>(){};]*>\s*)?\(")
_C_LINKAGE = re.compile(r'\bextern\s*"C"\s*(\{)?')


@dataclass(frozen=True)
class Edit:
    """A replacement for the text ``code[start:end]`` of a source file."""

    start: int
    end: int
    replacement: str


class SourceText:
    """A source file as three texts of equal length, in which a position always means the same place in the
    file.

    In ``code``, blanks replace comments and text that ``#if 0`` leaves out. In ``mask``, blanks also replace
    literals, so that it can be searched. In ``statements``, blanks also replace preprocessor directives. All
    three texts keep the line breaks. The constructor raises ToolchainError if the file cannot be read.
    """

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        try:
            if text is None:
                text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
        except OSError as error:
            raise ToolchainError(f"cannot read kernel source {path}: {error.strerror or error}") from None
        self.code = _without_skipped(_LITERAL_OR_COMMENT.sub(_blank_comment, text))
        self.mask = _LITERAL_OR_COMMENT.sub(_blank_literal, self.code)
        self.statements = _DIRECTIVE.sub(lambda match: _blank(match.group()), self.mask)

    def line(self, position: int) -> int:
        """Returns the number of the line that contains a position. Lines are counted from 1."""
        return self.code.count("\n", 0, position) + 1

    def error(self, position: int, message: str) -> ToolchainError:
        """Returns an error with a message about the code at a position. The message names the file and the
        line."""
        return ToolchainError(f"{self.path}:{self.line(position)}: error: {message}")

    def closing(self, position: int) -> int:
        """Returns the position of the bracket that closes the bracket at ``position``. Raises ToolchainError
        if the bracket is never closed."""
        depth = 0
        for i in range(position, len(self.mask)):
            if self.mask[i] in "([{":
                depth += 1
            elif self.mask[i] in ")]}":
                depth -= 1
                if depth == 0:
                    return i
        raise self.error(position, f"'{self.mask[position]}' is never closed")

    def edited(self, edits: list[Edit]) -> str:
        """Apply edits, which must not overlap. Returns the new code. If an edit removes line breaks, the
        function adds the same number of line breaks after the edit. The following lines therefore keep their
        numbers."""
        parts, position = [], 0
        for edit in sorted(edits, key=lambda edit: edit.start):
            missing = self.code.count("\n", edit.start, edit.end) - edit.replacement.count("\n")
            parts += [self.code[position : edit.start], edit.replacement, "\n" * missing]
            position = edit.end
        return "".join([*parts, self.code[position:]])


def _without_skipped(code: str) -> str:
    """Returns the code with blanks instead of the text between ``#if 0`` and its ``#else``, ``#elif`` or
    ``#endif``."""
    parts, kept, depth = [], 0, 0
    for match in _CONDITION.finditer(code):
        word, condition = match.groups()
        if depth == 0:
            if word == "if" and condition.strip() == "0":
                parts.append(code[kept : match.end()])
                kept, depth = match.end(), 1
            continue
        depth += word.startswith("if") - (word == "endif")
        if depth == 0 or (depth == 1 and word in ("else", "elif")):
            parts.append(_blank(code[kept : match.start()]))
            kept, depth = match.start(), 0
    return "".join([*parts, code[kept:]])


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _blank_comment(match: re.Match[str]) -> str:
    found = match.group()
    return _blank(found) if found.startswith("/") else found


def _blank_literal(match: re.Match[str]) -> str:
    found = match.group()
    return found[0] + " " * (len(found) - 2) + found[-1]


def split_at(mark: str, text: str, mask: str | None = None) -> list[str]:
    """Split a text at each character ``mark`` that is not inside brackets. Returns the pieces, without
    surrounding blanks.

    The function looks for brackets and marks in ``mask``, by default in the text itself. A mask is a text of
    equal length, for example with blanks instead of literals.
    """
    parts, depth = [""], 0
    for character, masked in zip(text, mask or text, strict=True):
        depth += (masked in "([{") - (masked in ")]}")
        if masked == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


@dataclass(frozen=True)
class KernelDefinition:
    """The definition or declaration of a ``__global__`` function: its attributes as written, and the range of
    its body in the file. The range is empty for a declaration."""

    name: str
    c_linkage: bool
    """True if the kernel is declared ``extern "C"``. The host can launch only such kernels by name."""
    parameters: str
    """The text between the round brackets of the parameter list."""
    launch_bounds: str
    cluster: str
    body: range
    template: str = ""
    """The text before the word ``__global__``: template heads and specifiers."""
    explicit: str = ""
    """The template arguments of a specialisation, as written after the kernel's name."""


def source_files(source: Path, include: Sequence[Path] = ()) -> list[Path]:
    """Returns the paths of a ``.cu`` file and of all local headers that it includes. Each path occurs once.
    Raises ToolchainError if a file cannot be read."""
    return [text.path for text in texts(source, include)]


def texts(source: Path, include: Sequence[Path]) -> Iterator[SourceText]:
    """Yields the texts of a source file and of all local headers that it includes. Each file occurs once.
    Raises ToolchainError if a file cannot be read."""
    left, seen = [source.resolve()], set()
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        text = SourceText(path)
        yield text
        left += [header for _, header in local_headers(text, include)]


def local_headers(source: SourceText, include: Sequence[Path]) -> Iterator[tuple[re.Match[str], Path]]:
    """Yields the local headers that a file includes: the match of the ``#include`` line, and the path of the
    header. Headers that are found neither beside the file nor in ``include`` are left out, such as CUDA's own
    headers."""
    for match in _LOCAL_INCLUDE.finditer(source.code):
        places = (source.path.parent, *include)
        header = next((h for place in places if (h := (place / match.group(1)).resolve()).is_file()), None)
        if header is not None:
            yield match, header


def kernels_of(source: SourceText) -> Iterator[KernelDefinition]:
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
        yield KernelDefinition(
            name=call.group(1),
            c_linkage=_has_c_linkage(source, head, match.start()),
            parameters=source.code[call.end() : close],
            launch_bounds=attributes.get("__launch_bounds__", ""),
            cluster=attributes.get("__cluster_dims__", ""),
            body=range(body.end(), source.closing(body.end() - 1)) if body else range(0),
            template=source.statements[head : match.start()],
            explicit=source.statements[call.end(1) : call.end() - 1].strip(),
        )


def _has_c_linkage(source: SourceText, head: int, position: int) -> bool:
    """Returns whether a kernel is declared ``extern "C"``, either in its own declaration or by a block that
    encloses the declaration. ``head`` is the start of the declaration, and ``position`` the position of
    ``__global__``."""
    for match in _C_LINKAGE.finditer(source.code, 0, position):
        if match.start() >= head or (match.group(1) and source.closing(match.end() - 1) > position):
            return True
    return False
