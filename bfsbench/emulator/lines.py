"""Source lines of instructions, from the debug information of a compiled library."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class Line(NamedTuple):
    """A place in the source."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.number}"

    def says(self, mark: str) -> bool:
        """Whether a comment on the line, or a comment alone on the line above, contains these words."""
        return self.comment(mark) is not None

    def comment(self, mark: str) -> Line | None:
        """The line of that comment."""
        lines = _lines_of(self.file)
        if not 0 < self.number <= len(lines):
            return None
        if mark in lines[self.number - 1].partition("//")[2]:
            return self
        above = lines[self.number - 2].strip() if self.number > 1 else ""
        return Line(self.file, self.number - 1) if above.startswith("//") and mark in above else None

    def text(self) -> str:
        """The text of the line; empty where the file cannot be read."""
        lines = _lines_of(self.file)
        return lines[self.number - 1].strip() if 0 < self.number <= len(lines) else ""


@cache
def _lines_of(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def line_at(library: Path, address: int) -> Line | None:
    """The line that the instruction at an address of a library comes from; None if nothing is known."""
    addresses, lines = _table(library)
    place = bisect_right(addresses, address) - 1
    return lines[place] if place >= 0 else None


@cache
def _table(library: Path) -> tuple[list[int], list[Line | None]]:
    """Sorted addresses at which the source line changes, and the lines."""
    from elftools.elf.elffile import ELFFile

    rows: list[tuple[int, Line | None]] = []
    with library.open("rb") as file:
        elf = ELFFile(file)
        for unit in elf.get_dwarf_info().iter_CUs() if elf.has_dwarf_info() else ():
            program = unit.dwarfinfo.line_program_for_CU(unit)
            if program is not None:
                names = _file_names(program)
                for entry in program.get_entries():
                    state = entry.state
                    if state is not None:
                        known = not state.end_sequence
                        rows.append((state.address, Line(names[state.file], state.line) if known else None))
    rows.sort(key=lambda row: (row[0], row[1] is not None))
    return [address for address, _ in rows], [line for _, line in rows]


def _file_names(program: Any) -> dict[int, str]:
    """Paths by their numbers in a line program."""
    header = program.header
    first = 0 if header.version >= 5 else 1
    folders = [folder.decode() for folder in header.include_directory]

    def path(entry: Any) -> str:
        place = entry.dir_index - (0 if header.version >= 5 else 1)
        folder = folders[place] if 0 <= place < len(folders) else ""
        return str(Path(folder) / entry.name.decode())

    return {number: path(entry) for number, entry in enumerate(header.file_entry, first)}
