"""Generated graphs as text: ``kronecker(scale=12,edge_factor=16,seed=1)``."""

from __future__ import annotations

import re

from bfsbench.errors import UsageError
from bfsbench.graphs.generators.declaration import Generator, Parameters, Value

_SPEC = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\((.*)\)\s*)?", re.ASCII | re.DOTALL)
_ASSIGNMENT = re.compile(r"\s*([A-Za-z]\w*)\s*=\s*([\w.+-]+)\s*", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,100}", re.ASCII)  # longer ones, out of any range, are read as decimals
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EXAMPLE = "write it like kronecker(scale=12,edge_factor=16,seed=1)"


def parse_spec(text: str) -> tuple[str, dict[str, Value]]:
    """Generator name and parameters of a specification; names and ranges are checked when it is generated.

    Parentheses may be left out when there is nothing between them. Raises UsageError for a syntax error.
    """
    matched = _SPEC.fullmatch(text)
    if matched is None:
        raise UsageError(f"'{text}' does not name a generated graph: {_EXAMPLE}")
    name, inside = matched[1], matched[2] or ""
    parameters: dict[str, Value] = {}
    for part in inside.split(",") if inside.strip() else ():
        assignment = _ASSIGNMENT.fullmatch(part)
        if assignment is None:
            raise UsageError(f"'{text}': '{part.strip()}' is not of the form parameter=value: {_EXAMPLE}")
        if assignment[1] in parameters:
            raise UsageError(f"'{text}': {assignment[1]} is given twice")
        parameters[assignment[1]] = _value(assignment[2])
    return name, parameters


def format_spec(generator: Generator, parameters: Parameters) -> str:
    """The specification of a graph: parameters without a default or different from it, and the seed."""
    values = generator.complete(parameters)
    written = [
        f"{p.name}={_text(values[p.name])}"
        for p in generator.parameters
        if p.name == "seed" or values[p.name] != p.default
    ]
    return f"{generator.name}({','.join(written)})" if written else generator.name


def _value(word: str) -> Value:
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _DECIMAL.fullmatch(word) else word


def _text(value: Value) -> str:
    """The shortest text that reads back as the same value."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
