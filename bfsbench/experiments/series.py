"""Defines series. A series is the set of an experiment's rows behind one bar, line or column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from bfsbench.bench import axes as axis_language
from bfsbench.entries.variant import EntryVariant
from bfsbench.rows.point import knob_values
from bfsbench.support.errors import UsageError
from bfsbench.variants import all_variants, every_variant, find

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.experiments.declaration import Claim, Experiment, Sweep
    from bfsbench.variants.base import Variant


@dataclass(frozen=True)
class Series:
    """A set of result rows: all rows of one variant, or only its rows with certain knob values. The rows
    become one bar, line or column."""

    title: str
    variant: str
    knobs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Allowed values of some knobs, as text in the form of result rows. All other knobs may have any
    value."""
    changed: bool = False
    """True if this project has changed the authors' search, and the series is the changed form."""

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Returns the rows that belong to the series."""
        rows = rows[rows["variant"] == self.variant]
        return rows[rows["knobs"].map(self._agrees).astype(bool)]

    def _agrees(self, text: str) -> bool:
        values = knob_values(text)
        return all(values.get(name) in allowed for name, allowed in self.knobs.items())


OWN = ("this project",)
"""The value of ``Variant.origin`` for this project's own searches."""
ENTRIES = "entries"
GROUPS: Mapping[str, Callable[[type[Variant]], bool]] = {
    "all": lambda variant: not issubclass(variant, EntryVariant),
    "papers": lambda variant: not variant.host and variant.origin != OWN and GROUPS["all"](variant),
    ENTRIES: lambda variant: issubclass(variant, EntryVariant) and not variant.missing(),
}
"""Words that a sweep may use instead of variants' names, such as ``all``. Each word selects several variants
of the experiment's family."""


def variants_of(experiment: Experiment, sweep: Sweep) -> list[type[Variant]]:
    """Returns the variants that a sweep names. A word such as ``all`` (a key of GROUPS) stands for several
    variants.

    Raises UsageError for an unknown variant, and for a variant that does not solve the experiment's problem.
    For ``all``, also raises UsageError if a variant cannot be loaded.
    """
    loaded = every_variant() if "all" in sweep.variants else all_variants().values()
    every = [variant for variant in loaded if variant.family == experiment.family]
    found = [
        variant
        for name in sweep.variants
        for variant in (filter(GROUPS[name], every) if name in GROUPS else [find(name)])
    ]
    for variant in found:
        if variant.family != experiment.family:
            raise UsageError(f"variant {variant.name} is of family {variant.family}, not {experiment.family}")
    return list(dict.fromkeys(found))


def every_series(experiment: Experiment) -> list[Series]:
    """Returns all series of an experiment, in the order of its sweeps.

    A sweep with a label is one series. A sweep without a label has one series per variant, for the search as
    its authors published it. It has one more series for each modification of the search by this project.
    """
    found: dict[str, Series] = {}
    for sweep in experiment.sweeps:
        titles = [sweep.label] if sweep.label else _forms(variants_of(experiment, sweep))
        found |= {title: series_called(experiment, title) for title in titles}
    return list(found.values())


def series_called(experiment: Experiment, text: str) -> Series:
    """Returns the series that a drawing, claim or printed table names.

    ``text`` is a sweep's label or a variant, optionally followed by ``KNOB=VALUE`` for each knob to restrict.
    Raises UsageError for any other text.
    """
    labelled = {sweep.label: sweep for sweep in reversed(experiment.sweeps) if sweep.label}
    name, given = text, dict[str, str]()
    if text not in labelled:
        settings = list(takewhile(lambda word: "=" in word, reversed(text.split())))
        name = next(iter(text.rsplit(maxsplit=len(settings))), "")
        given = dict(setting.split("=", 1) for setting in settings)
    if name in labelled:
        sweep = labelled[name]
        (variant,) = variants_of(experiment, sweep)
        knobs = _of_preset(variant, sweep) | _allowed(variant, sweep.knobs)
        return Series(text, variant.name, knobs | _allowed(variant, given))
    if " " in name or not name:
        raise UsageError(f"'{text}' is not a series: write a sweep's label or a variant, then KNOB=VALUE ...")
    variant = find(name)
    allowed = _allowed(variant, given)
    changed = any({*map(str, knob.changed)} & allowed.get(knob.name, set()) for knob in variant.knobs)
    return Series(text, variant.name, authors_form(variant) | allowed, changed)


def authors_form(variant: type[Variant]) -> dict[str, frozenset[str]]:
    """Returns the knob values with which a search runs as its authors published it.

    Some knobs have values that turn on a modification by this project. The result maps the name of such a
    knob to all other values of the knob.
    """
    return {
        knob.name: frozenset(str(value) for value in knob.choices if value not in knob.changed)
        for knob in variant.knobs
        if knob.changed
    }


def _forms(variants: Iterable[type[Variant]]) -> Iterator[str]:
    """Yields the names of the series of these variants. Each variant has one series for the search as its
    authors published it. It has one more series for each knob value that turns on a modification of the
    search by this project."""
    for variant in variants:
        yield variant.name
        for knob in variant.knobs:
            yield from (f"{variant.name} {knob.name}={value}" for value in knob.changed)


def _of_preset(variant: type[Variant], sweep: Sweep) -> dict[str, frozenset[str]]:
    """Returns the knob values that the preset of a sweep gives a variant.

    The result is empty if the sweep tunes, or if the preset depends on the graph.
    """
    if sweep.preset == "auto" or sweep.tunes:
        return {}
    values = variant.knob_values(variant.preset(sweep.preset, {}))
    return {name: frozenset([str(value)]) for name, value in values.items()}


def _allowed(variant: type[Variant], given: Mapping[str, str | int | float]) -> dict[str, frozenset[str]]:
    known = {knob.name: knob for knob in variant.knobs}
    for name in given:
        if name not in known:
            raise UsageError(f"variant {variant.name} has no knob {name}")
    return {
        name: frozenset(str(known[name].check(value)) for value in axis_language.expand(values))
        for name, values in given.items()
    }


def rivals(experiment: Experiment, series: Series, claim: Claim) -> list[Series]:
    """Returns the series that a claim compares with ``series``. ``Claim.versus`` explains how a claim names
    them."""
    found: list[Series] = []
    for text in claim.versus:
        others = [other for other in every_series(experiment) if other.variant != series.variant]
        if text in GROUPS:
            found += (other for other in others if GROUPS[text](all_variants()[other.variant]))
        elif text != "others":
            found.append(series_called(experiment, text))
        elif not series.knobs:
            found += (other for other in others if not all_variants()[other.variant].host)
        else:
            found.append(_other_values(experiment, series))
    return [rival for rival in found if claim.changed or not rival.changed]


def _other_values(experiment: Experiment, series: Series) -> Series:
    """Returns the series that the word ``others`` stands for in a claim about ``series``.

    The result has the variant of ``series``. For each knob that ``series`` restricts to certain values, the
    result has all other values that the experiment's sweeps measure.
    """
    values: dict[str, set[str]] = {name: set() for name in series.knobs}
    variant = all_variants()[series.variant]
    for sweep in experiment.sweeps:
        if variant in variants_of(experiment, sweep):
            for name, allowed in _allowed(variant, sweep.knobs).items():
                if name in values:
                    values[name] |= allowed
    others = {name: frozenset(values[name] - series.knobs[name]) for name in values}
    title = " ".join(f"{name}≠{'|'.join(sorted(series.knobs[name]))}" for name in others)
    return Series(f"{series.variant} {title}", series.variant, others)
