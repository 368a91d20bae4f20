"""Declare the measuring options of a sweep, such as the number of repeats. Each option is one field of
``Method``.

From these declarations, bfsbench generates the options of commands, their checks, their ``--help``, the
keyword arguments of :func:`bfsbench.sweep`, and a table in the documentation.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from bfsbench.backends import BACKENDS
from bfsbench.support.errors import OptionError, UsageError, spelt, whole

MOST = 1000
"""The default maximum number of samples of a point, if noise or time decides how many are taken."""
MOST_TO_DECIDE = 100
"""The default maximum number of samples of a point with ``until_decided``."""
TIE = 1.0
"""The default of ``tie``, in per cent."""
FEWEST_FOR_NOISE = 6
"""The minimum number of samples that give a 95 % confidence interval of the median."""
LONGEST_TIMEOUT_S = 1e6
"""Longer time limits are cut to this many seconds, which the clocks of the operating system can still
count."""

ALTERNATING = "sources=alternating"
"""Word of the column ``method``: each source was searched once before any source was searched again."""
INTERPOSED = "sources=interposed"
"""Word of the column ``method``: an untimed search from another source preceded each sample."""
REPEATED = "sources=repeated"
"""Word of the column ``method``: searches from one source followed each other.

Rows of older files that have no word ``sources=...`` were measured in this way, too.
"""
SOURCE_RULES = (ALTERNATING, INTERPOSED, REPEATED)

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Option:
    """The declaration of a measuring option: its help text, and the values that it accepts."""

    help: str
    """One or two sentences, in which ``{name}`` stands for another option."""
    section: str = "How"
    """The heading of ``--help`` below which the option stands."""
    metavar: str | None = None
    least: int | None = None
    most: int | None = None
    above: float | None = None
    """Numbers must be greater than this bound."""
    choices: Sequence[str] = ()
    folder: bool = False

    def check(self, name: str, kind: type, value: Any) -> Any:
        """Return the value of the option ``name`` converted to the type ``kind``. Raises UsageError for a
        value of another type or out of range.
        """
        if kind is bool:
            if value not in (True, False):
                raise UsageError(f"{name} must be True or False, not {value!r}")
            return bool(value)
        if kind is str:
            text = os.fspath(value) if self.folder and isinstance(value, Path) else value
            if not isinstance(text, str) or (self.choices and text not in self.choices):
                wanted = f"one of {', '.join(self.choices)}" if self.choices else "a text"
                raise UsageError(f"{name} must be {wanted}, not {value!r}")
            return text
        if kind is int:
            number = whole(name, value)
            if self.least is not None and number < self.least:
                raise UsageError(f"{name} must be at least {self.least}, not {number}")
            if self.most is not None and number > self.most:
                raise UsageError(f"{name} must be at most {self.most}, not {number}")
            return number
        least = -math.inf if self.least is None else self.least
        above = -math.inf if self.above is None else self.above
        if not isinstance(value, Real) or not (least <= float(value) < math.inf and float(value) > above):
            wanted = "a positive number" if self.above == 0 else "a number that is not negative"
            raise UsageError(f"{name} must be {wanted}, not {value!r}")
        return float(value)


def _declared(default: Any, help: str, **facts: Any) -> Any:
    return dataclasses.field(default=default, metadata={"option": Option(help, **facts)})


SAMPLES = "How many samples"
"""The section of options that decide how many samples are taken."""
_of_samples = partial(_declared, section=SAMPLES)
_of_device = partial(_declared, section="On what")
_of_rows = partial(_declared, section="Rows")
_COUNT = {"least": 1, "most": 10**9}


@dataclass(frozen=True)
class Method:
    """The measuring options of a sweep: how each configuration is measured, where it runs, and which rows are
    kept.

    Raises UsageError for values out of range, and for options that contradict each other.
    """

    repeats: int = _declared(5, "Timed runs per point.", **_COUNT)
    timeout: float = _declared(60.0, "Seconds per point, including compilation.", metavar="S", above=0)
    backend: str = _of_device(
        BACKENDS[0],
        "Where kernels run; 'cpu' emulates a GPU, and its times do not predict a GPU's.",
        choices=BACKENDS,
    )
    schedule_seed: int = _of_device(
        0, "Seed of the order in which threads and blocks run on the CPU.", least=0
    )
    warmup: int = _declared(1, "Untimed runs before the timed runs.", metavar="N", **_COUNT)
    max_noise: float | None = _of_samples(
        None,
        "Continue beyond {repeats} until the median's 95 % confidence interval is at most ±PERCENT.",
        metavar="PERCENT",
        above=0,
    )
    min_time: float = _of_samples(
        0.0,
        "Continue beyond {repeats} until the samples of a point add up to this time.",
        metavar="S",
        least=0,
    )
    until_decided: bool = _of_samples(
        False,
        "Points take turns until the fastest per source is known with 95 % confidence, or "
        f"each has {MOST_TO_DECIDE} samples.",
    )
    tie: float = _of_samples(
        TIE,
        "With {until_decided}: the largest difference of equally fast points.",
        metavar="PERCENT",
        above=0,
    )
    min_samples: int | None = _of_samples(
        None,
        "At least N samples, if noise or time decides their number; {repeats} by default.",
        metavar="N",
        **_COUNT,
    )
    max_samples: int | None = _of_samples(
        None,
        f"At most N samples, if noise or time decides their number; {MOST} by default.",
        metavar="N",
        **_COUNT,
    )
    cold: bool = _declared(False, "Flush the caches before every run.")
    energy: bool = _declared(False, "Also measure the GPU's energy per run, in energy_j.")
    order: str = _declared(
        "sequential",
        "'interleaved': the points of a graph take turns, one sample each, so that drift affects all "
        "equally. 'shuffled[:SEED]': in another order in each turn.",
        metavar="ORDER",
    )
    profile: bool = _declared(
        False,
        "Search once more, and write each level's cost and counters to FILE.levels.csv.",
    )
    cupti: bool = _declared(
        False, "Trace one more run with CUPTI, and write its kernels' time and number to the rows."
    )
    parents: bool = _declared(False, "Also find and check the tree, or the next hops.")
    cluster: str | None = _of_device(
        None,
        "Spread the points over workers, one per GPU: local[:N], dask://HOST:PORT, slurm[:FILE], pbs[:FILE], "
        "sge[:FILE] or lsf[:FILE]. FILE describes the jobs.",
        metavar="WHERE",
    )
    mixed_devices: bool = _of_device(False, "Accept workers with different GPUs or CPUs.")
    tls: str | None = _of_device(
        None, "Folder that 'bfsbench certificates' made.", metavar="FOLDER", folder=True
    )
    insecure: bool = _of_device(
        False, "Accept a {cluster} beyond this machine without {tls}. Others can then run code as you."
    )
    resume: bool = _of_rows(False, "Continue {out}: measure points without a row of this code.")
    retry_failed: bool = _of_rows(False, "With {resume}: measure failed points again.")

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            value = getattr(self, name)
            if value is not None or DEFAULTS[name] is not None:
                object.__setattr__(self, name, option.check(name, KINDS[name], value))
        if (self.min_samples or self.max_samples) and not self._open_ended:
            needed = "{max_noise}, {min_time} or {until_decided}"
            raise OptionError(f"{{min_samples}} and {{max_samples}} go with {needed}")
        if self.tie != TIE and not self.until_decided:
            raise OptionError("{tie} goes with {until_decided}")
        fewest, most = self.fewest, self.most
        if most < fewest:
            raise OptionError(f"{{max_samples}} {most} is less than {{min_samples}} {fewest}")
        for name in ("max_noise", "until_decided"):
            if getattr(self, name) and most < FEWEST_FOR_NOISE:
                needed = f"needs {FEWEST_FOR_NOISE} samples, more than"
                raise OptionError(f"{{{name}}} {needed} {{max_samples}} {most}")
        if self.min_time >= self.limit_s:
            why = "samples for so many seconds do not fit into"
            raise OptionError(f"{{min_time}} {self.min_time:g}: {why} {{timeout}} {self.limit_s:g}")
        if not re.fullmatch(r"sequential|interleaved|shuffled(:\d+)?", self.order, re.ASCII):
            wrong = "{order}: '{text}' is none of sequential, interleaved and shuffled[:SEED]"
            raise OptionError(wrong, text=self.order)
        if self.takes_turns and self.cluster is not None:
            name = "until_decided" if self.until_decided else "order"
            raise OptionError(f"{{{name}}} goes without {{cluster}}: samples of a point are of one device")
        for name in ("mixed_devices", "tls", "insecure"):
            if getattr(self, name) and self.cluster is None:
                raise OptionError(f"{{{name}}} goes with {{cluster}}")
        if self.retry_failed and not self.resume:
            raise OptionError("{retry_failed} goes with {resume}")

    @property
    def _open_ended(self) -> bool:
        return self.max_noise is not None or self.min_time > 0 or self.until_decided

    @property
    def fewest(self) -> int:
        return self.min_samples or min(self.repeats, self.max_samples or self.repeats)

    @property
    def most(self) -> int:
        usual = MOST_TO_DECIDE if self.until_decided else MOST
        return self.max_samples or (max(usual, self.fewest) if self._open_ended else self.fewest)

    @property
    def limit_s(self) -> float:
        return min(self.timeout, LONGEST_TIMEOUT_S)

    @property
    def takes_turns(self) -> bool:
        """True if all configurations of a graph are measured in rounds: one sample of each configuration per
        round.
        """
        return self.order != "sequential" or self.until_decided

    def one_sample(self) -> Method:
        """Return a copy of this method with one sample per point, and without options that would require more
        samples.
        """
        unset = {name: DEFAULTS[name] for name, option in OPTIONS.items() if option.section == SAMPLES}
        return dataclasses.replace(self, **unset | {"repeats": 1})

    @property
    def shuffle_seed(self) -> int | None:
        """The seed that shuffles the order of configurations in each round. If it is None, the order is the
        same in each round."""
        kind, _, seed = self.order.partition(":")
        return int(seed or 0) if kind == "shuffled" else None

    @property
    def words(self) -> str:
        """The measuring options that affect times and differ from their defaults, as text for the column
        ``method`` of result rows."""
        said = ["cold"] if self.cold else []
        said += [f"warmup={self.warmup}"] if self.warmup != 1 else []
        said += [f"max_noise={self.max_noise:g}%"] if self.max_noise is not None else []
        said += [f"min_time={self.min_time:g}s"] if self.min_time else []
        said += ["until_decided"] if self.until_decided else []
        if self.takes_turns:
            said += ["interleaved" if self.shuffle_seed is None else f"shuffled:{self.shuffle_seed}"]
        return " ".join(said)

    def said(self, rule: str) -> str:
        """Return the text of the column ``method`` for a result row.

        ``rule`` states the order of searches from different sources, such as ``sources=alternating``. It is
        added at the end of the text.
        """
        return f"{self.words} {rule}".strip()


OPTIONS: dict[str, Option] = {field.name: field.metadata["option"] for field in dataclasses.fields(Method)}
"""A dictionary that maps the names of fields in ``Method`` to the measuring options."""
DEFAULTS: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(Method)}
KINDS: dict[str, type] = {
    name: (get_args(hint) or (hint,))[0] for name, hint in get_type_hints(Method).items()
}
"""A dictionary that maps an option's name to the type of its value. For the type ``int | None`` it has
``int``."""


def takes_options(*without: str) -> Callable[[_Function], _Function]:
    """Return a decorator for a function that accepts the measuring options among its keyword arguments,
    except the options in ``without``.

    The options appear in the function's signature and in its docstring, so that ``help()`` shows them.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        *named, others = signature.parameters.values()
        taken = [field for field in dataclasses.fields(Method) if field.name not in without]
        options = [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
            )
            for field in taken
        ]
        vars(function)["__signature__"] = signature.replace(parameters=[*named, *options, others])
        title = "Measuring options"
        lines = (f"    {field.name}\n        {spelt(OPTIONS[field.name].help, str)}\n" for field in taken)
        function.__doc__ = f"{function.__doc__}\n    {title}\n    {'-' * len(title)}\n{''.join(lines)}"
        return function

    return decorate
