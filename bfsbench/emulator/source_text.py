"""The text of one CUDA source file, prepared for rewriting without a full parser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bfsbench.errors import ToolchainError

_LITERAL_OR_COMMENT = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""", re.DOTALL
)
"""A quotation mark behind a digit separates digits."""
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if(?:n?def)?|elif|else|endif)\b[ \t]*([^\n]*)", re.MULTILINE)


@dataclass(frozen=True)
class Edit:
    """Text that replaces ``code[start:end]``."""

    start: int
    end: int
    replacement: str


class SourceText:
    """Three views of a file, position by position the same.

    code: without comments and what ``#if 0`` leaves out, line breaks kept. mask: literals blank as well, so
    that it can be searched. statements: preprocessor directives blank as well. Text that is not UTF-8 stays.
    Raises ToolchainError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
        except OSError as error:
            raise ToolchainError(f"cannot read kernel source {path}: {error.strerror or error}") from None
        self.code = _without_skipped(_LITERAL_OR_COMMENT.sub(_blank_comment, text))
        self.mask = _LITERAL_OR_COMMENT.sub(_blank_literal, self.code)
        self.statements = _DIRECTIVE.sub(lambda match: _blank(match.group()), self.mask)

    def line(self, position: int) -> int:
        """The line number, from 1."""
        return self.code.count("\n", 0, position) + 1

    def error(self, position: int, message: str) -> ToolchainError:
        """An error to raise about the code at a position."""
        return ToolchainError(f"{self.path}:{self.line(position)}: error: {message}")

    def closing(self, position: int) -> int:
        """The position of the bracket that closes the one at a position."""
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
        """The code with non-overlapping edits made, each padded to take as many lines as what it replaces."""
        parts, position = [], 0
        for edit in sorted(edits, key=lambda edit: edit.start):
            missing = self.code.count("\n", edit.start, edit.end) - edit.replacement.count("\n")
            parts += [self.code[position : edit.start], edit.replacement, "\n" * missing]
            position = edit.end
        return "".join([*parts, self.code[position:]])


def _without_skipped(code: str) -> str:
    """The code without what stands between ``#if 0`` and its ``#else``, ``#elif`` or ``#endif``."""
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
    if not found.startswith("/"):
        return found
    return _blank(found)


def _blank_literal(match: re.Match[str]) -> str:
    found = match.group()
    return found[0] + " " * (len(found) - 2) + found[-1]


def split_at(mark: str, text: str, mask: str) -> list[str]:
    """The parts of a text between marks that stand outside brackets in its mask."""
    parts, depth = [""], 0
    for character, masked in zip(text, mask, strict=True):
        depth += (masked in "([{") - (masked in ")]}")
        if masked == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def split_at_commas(text: str) -> list[str]:
    """The parts of a list, brackets respected."""
    return split_at(",", text, text)
