"""Parameters of a variant besides grid and block."""

from __future__ import annotations

from dataclasses import dataclass

from bfsbench.errors import UsageError

KnobValue = int | float | str

PRESETS = ("default", "paper", "auto")
"""Sources of knob values that are not given: the defaults, the paper, the paper's rules."""

RESERVED_OPTIONS = (
    *("--backend", "--benign", "--block", "--ceilings", "--cluster", "--cold", "--dataset"),
    *("--dry-run", "--energy", "--family", "--format", "--graph", "--grid", "--help"),
    *("--help-knobs", "--html", "--knobs", "--level", "--list", "--max-noise"),
    *("--max-samples", "--method", "--min-samples", "--min-time", "--minutes"),
    *("--mixed-devices", "--order", "--out", "--parents", "--points", "--profile"),
    *("--repeats", "--resume", "--retry-failed", "--rows", "--sanitizer", "--scale"),
    *("--schedule-seed", "--seed", "--seeds", "--source", "--source-id", "--sources"),
    *("--stand-ins", "--timeout", "--tls", "--variant", "--warmup"),
)
"""Options that the commands with options for knobs have already: no knob may be spelt like one."""


@dataclass(frozen=True)
class Knob:
    """A parameter of a variant besides grid and block, with its name in the paper."""

    name: str
    default: KnobValue
    meaning: str
    choices: tuple[KnobValue, ...] = ()
    """The legal values; empty when ``minimum`` and ``maximum`` bound them."""
    minimum: float | None = None
    maximum: float | None = None
    compile_time: bool = False
    """Compiled into the kernel as a macro of the same name, rather than passed to it."""

    @property
    def option(self) -> str:
        """The command line's spelling: ``W_SZ`` is ``--w-sz``."""
        return "--" + self.name.lower().replace("_", "-")

    @property
    def legal(self) -> str:
        """The legal values as text."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        return f"{self.minimum:g} .. {self.maximum:g}"

    def check(self, value: str | KnobValue) -> KnobValue:
        """The value in the knob's type. Raises UsageError for a value of another type or out of range."""
        kind = type(self.default)
        try:
            typed = kind(value)
        except (ValueError, TypeError, OverflowError):
            raise UsageError(f"knob {self.name}: '{value}' is not of type {kind.__name__}") from None
        if kind is int and not isinstance(value, str) and typed != value:
            raise UsageError(f"knob {self.name}: {value} is not a whole number")
        below = self.minimum is not None and not isinstance(typed, str) and not typed >= self.minimum
        above = self.maximum is not None and not isinstance(typed, str) and not typed <= self.maximum
        if below or above or (self.choices and typed not in self.choices):
            raise UsageError(f"knob {self.name}: {value} is out of range ({self.legal})")
        return typed
