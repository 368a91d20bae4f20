"""Checks the attributes that a variant declares. A variant is a class that a user may have written, so an
attribute may have any value."""

import re
from collections.abc import Iterator

from bfsbench.programs.variant import Knob, Variant

NAME_PATTERN = r"^[a-z][a-z0-9_]*\Z"
"""Regular expression for the names and aliases of variants, and for the names of entries (programs of other
authors)."""
RESERVED_NAMES = ("all",)
"""Words that stand for several variants on the command line. No variant may have such a name."""

NEEDED = ("family", "summary")
"""Attributes that every variant must declare, besides ``name``."""
_TEXTS = (*NEEDED, "frontier", "parallel_unit", "work", "space", "synchronisation")
_LISTS = ("origin", "layout")
_NAME = "lower-case letters, digits and underscores, a letter first"
KNOB_PATTERN = "[A-Z][A-Z0-9_]*"
_KNOB_NAME = "capitals, digits and underscores, a capital first"


def fault_of_names(variant: type[Variant]) -> str:
    """Returns a description of the first fault in the name and the aliases of a variant. Returns an empty
    string if there is no fault."""
    if fault := _fault_of_name(variant.name):
        return f"'name' {fault}"
    if not isinstance(variant.aliases, tuple):
        return f"'aliases' is {_kind(variant.aliases)}, not a tuple of names"
    for alias in variant.aliases:
        if fault := _fault_of_name(alias):
            return f"'aliases': one {fault}"
    return ""


def fault_of_values(variant: type[Variant]) -> str:
    """Returns a description of the first fault in the attributes of a variant, apart from its name and
    aliases. Returns an empty string if there is no fault. The variant must have all attributes in
    ``NEEDED``."""
    return next(_faults(variant), "")


def is_name(text: str) -> bool:
    """Returns whether a text has the form of a variant's name. Reserved names have this form too."""
    return re.match(NAME_PATTERN, text) is not None


def _fault_of_name(name: object) -> str:
    if not isinstance(name, str):
        return f"is {_kind(name)}, not a str"
    if not is_name(name):
        return f"is {name!r}: a name is {_NAME}"
    return f"is '{name}', which is reserved" if name in RESERVED_NAMES else ""


def _faults(variant: type[Variant]) -> Iterator[str]:
    """Yields descriptions of the faults in a variant's attributes. Use only the first one, because each check
    assumes that the previous checks found no fault."""
    for attribute in _TEXTS:
        if not isinstance(getattr(variant, attribute), str):
            yield f"'{attribute}' is not a str"
    for attribute in _LISTS:
        words = getattr(variant, attribute)
        if not isinstance(words, tuple) or not all(isinstance(word, str) for word in words):
            yield f"'{attribute}' is not a tuple of str"
    if type(variant.usual_block) is not int or variant.usual_block < 1:
        yield "'usual_block' is not a positive int"
    if not isinstance(variant.knobs, tuple):
        yield f"'knobs' is {_kind(variant.knobs)}, not a tuple of Knob: a comma may be missing"
    yield from _faults_of_knobs(variant.knobs)


def _faults_of_knobs(knobs: tuple[Knob, ...]) -> Iterator[str]:
    names: set[str] = set()
    for knob in knobs:
        if not isinstance(knob, Knob):
            yield f"'knobs' holds a value {_kind(knob)}, not a Knob"
        if not isinstance(knob.name, str) or not re.fullmatch(KNOB_PATTERN, knob.name):
            yield f"'knobs': {knob.name!r} is not a name for a knob: {_KNOB_NAME}"
        if knob.name in names:
            yield f"'knobs' holds two knobs named {knob.name}"
        names.add(knob.name)
        if fault := _fault_of_range(knob):
            yield f"'knobs': {knob.name} {fault}"


def _fault_of_range(knob: Knob) -> str:
    """Returns a description of the first fault in the default, choices, minimum and maximum of a knob (a
    parameter of a variant). Returns an empty string if there is no fault."""
    kind = type(knob.default)
    if kind not in (int, float, str):
        return f"has a default {_kind(knob.default)}, not an int, float or str"
    if not isinstance(knob.choices, tuple):
        return f"has choices {_kind(knob.choices)}, not a tuple"
    if any(type(choice) is not kind for choice in knob.choices):
        return f"has choices of another type than its default, {kind.__name__}"
    bounds = (knob.minimum, knob.maximum)
    if any(type(bound) not in (int, float, type(None)) for bound in bounds):
        return "has a minimum or maximum that is not a number"
    if not knob.choices and (None in bounds or kind is str):
        return "has no choices" if kind is str else "has neither choices nor a minimum and a maximum"
    if knob.choices and knob.default not in knob.choices:
        return "has a default that is not among its choices"
    return ""


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"
