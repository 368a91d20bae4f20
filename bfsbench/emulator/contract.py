"""The contract that a kernel file and its kernels' arguments are checked against, so that host and kernels
agree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bfsbench.emulator.signature import Signature
from bfsbench.emulator.structs import CType, assertions
from bfsbench.emulator.translate import declared_parameters, texts


@dataclass(frozen=True)
class Contract:
    """Declarations that the host shares with a kernel file, besides the arguments of kernels."""

    owner: str
    """The owner's name, for messages."""
    types: Mapping[str, CType] = field(default_factory=dict)
    """Structs by their names in the file. Those that the file does not mention are ignored."""
    constants: Mapping[str, int] = field(default_factory=dict)
    """Likewise."""

    def key(self) -> tuple[object, ...]:
        """Equal for equal contracts."""
        return (self.owner, *self.types.items(), *self.constants.items())

    def assertions(self, source: Path, include: Sequence[Path], macros: Mapping[str, int | str]) -> str:
        """C++ to compile after the file: it fails where the file's types or macros differ."""
        words = {word for text in texts(source, include) for word in re.findall(r"\w+", text.mask)}
        types = {name: known for name, known in self.types.items() if name in words}
        constants = {name: value for name, value in self.constants.items() if {*name.split("::")} <= words}
        return assertions(self.owner, types, {**constants, **macros})

    def signatures(self, source: Path, include: Sequence[Path]) -> dict[str, Signature]:
        """The file's kernels by their names."""
        declared = declared_parameters(source, include).items()
        return {name: Signature(source.name, name, parameters, self.types) for name, parameters in declared}
