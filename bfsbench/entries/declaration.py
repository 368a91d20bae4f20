"""Reads the TOML file of an entry (a program of other authors). The file declares the program, how to build
and call it, and which work the measured times include."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from bfsbench.programs.declared import KNOB_PATTERN, NAME_PATTERN
from bfsbench.programs.variant import Knob, KnobValue
from bfsbench.support.errors import InputError
from bfsbench.support.paths import cache_dir
from bfsbench.support.toml_files import TomlTable, converted, read_toml

PARTS = ("initialisation", "transfers", "conversion")
"""Work that a program's clock may include besides the search: initialising levels and queues, transfers
between host and device, and converting the graph."""
EXPORTS = ("mtx", "sg", "el")
"""File formats in which bfsbench can write a graph. They are for programs that read graph files."""
KINDS = ("command", "library", "python")

Covered = Literal["initialisation", "transfers", "conversion"]
Name = Annotated[str, msgspec.Meta(pattern=NAME_PATTERN)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
KnobName = Annotated[str, msgspec.Meta(pattern=rf"^{KNOB_PATTERN}\Z")]

_PLACEHOLDER = re.compile(rf"(?<!\$)\{{([a-z.]+|{KNOB_PATTERN})\}}")
"""A name in braces. It is not a variable of a shell, such as ``${HOME}``."""
_PLACES = frozenset({"here", "built"})
_COMMAND_PLACES = frozenset({*_PLACES, "graph", "answer", "source", *(f"graph.{e}" for e in EXPORTS)})


class Change(TomlTable, frozen=True, kw_only=True):
    """A change to a source file of the program: each occurrence of the text ``old`` becomes ``new``. The file
    must contain ``old``."""

    file: Text
    old: Text
    new: str


class Build(TomlTable, frozen=True, kw_only=True):
    """How to build the program of an entry. This is the table ``build`` of the TOML file."""

    repository: str = ""
    """URL of the git repository. It is empty if the source lies beside the TOML file."""
    commit: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{40})?$")] = ""
    """The commit to build, with all 40 hexadecimal digits."""
    submodules: bool = False
    add: tuple[Text, ...] = ()
    """Names of files beside the TOML file, such as a driver. The build copies them into the source."""
    changes: tuple[Change, ...] = ()
    run: tuple[Text, ...] = ()
    """Shell commands of the build, which run in the folder of the source. {cxx}, {cc} and {nvcc} stand for
    the compilers."""
    makes: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    """Names of the files that the commands make. bfsbench keeps only these files."""


class Call(TomlTable, frozen=True, kw_only=True):
    """How to call the program of an entry. This is the table ``call`` of the TOML file. Exactly one of
    ``command``, ``library`` and ``python`` must be given."""

    command: tuple[Text, ...] = ()
    """The words of a command line. One process runs all searches of a graph. If a word contains {source},
    each search starts a new process."""
    library: str = ""
    """Path of a shared library with the search function."""
    function: str = ""
    """Name of the search function in the shared library."""
    python: str = ""
    """A Python function that prepares a graph, as ``module:function``."""
    packages: tuple[Text, ...] = ()
    """Python packages that the function needs, by their names for pip. If a module has another name than its
    package, the module follows in parentheses."""
    arrays: Literal["numpy", "cupy"] = "numpy"
    """The package whose arrays the Python function takes."""
    environment: Mapping[Text, str] = {}
    """Values of environment variables of the program, by name."""
    device: Literal["cpu", "gpu"] = "cpu"
    answer: Literal["levels", "parents"] = "levels"
    unreached: int = -1
    """The number that the program writes as the level of an unreached vertex. If the program writes parents,
    every negative number stands for an unreached vertex."""
    time: str = ""
    """Regular expression that finds the printed time in the program's output. Its first group matches the
    number. By default, the number must stand alone on a line."""
    unit: Literal["ms", "us", "s"] = "ms"
    memory_mib: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Limit for the program's memory on the host, in MiB. None stands for the available memory."""


class Clock(TomlTable, frozen=True, kw_only=True):
    """The clock that measures a search of an entry.

    ``held_by`` is ``events`` for events of the device, ``theirs`` for the clock of the program, and ``ours``
    for the clock of bfsbench. ``covers`` names the work besides the search that the measured time includes.
    """

    held_by: Literal["events", "theirs", "ours"]
    covers: tuple[Covered, ...] = ()


class Parameter(TomlTable, frozen=True, kw_only=True):
    """A parameter of the program, which a sweep can vary: an element of the array ``knobs`` of the TOML file.
    The class Knob explains the fields."""

    name: KnobName
    meaning: Text
    default: KnobValue
    choices: tuple[KnobValue, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    def knob(self) -> Knob:
        """Returns the parameter as a knob of a variant."""
        return Knob(**msgspec.structs.asdict(self))


class Entry(TomlTable, frozen=True, kw_only=True):
    """The declaration of an entry (a program of other authors): the contents of its TOML file."""

    name: Name
    summary: Text
    authors: Text
    paper: str = ""
    licence: Text
    source: Text
    """URL of the project that publishes the program."""
    call: Call
    clock: Clock
    build: Build | None = None
    knobs: tuple[Parameter, ...] = ()
    where: str = ""
    """Path of the TOML file. bfsbench sets it after reading the file."""

    @property
    def file(self) -> Path:
        """The path of the TOML file."""
        return Path(self.where)

    @property
    def kind(self) -> str:
        """The way in which bfsbench calls the program: ``command``, ``library`` or ``python``."""
        return next(kind for kind in KINDS if getattr(self.call, kind))

    @property
    def per_search(self) -> bool:
        """True if each search starts a new process of the program."""
        return any("{source}" in word for word in self.call.command)

    @property
    def folder(self) -> Path:
        """The folder in the cache that contains the build of the program."""
        return cache_dir() / "entries" / self.name

    @property
    def exports(self) -> list[str]:
        """The file formats in which the program needs the graph, such as ``mtx``. EXPORTS lists all
        formats."""
        return [name for name in EXPORTS if any(f"{{graph.{name}}}" in word for word in self.call.command)]

    def filled(self, text: str, **more: str) -> str:
        """Replace names in braces in ``text`` by their values. Returns the new text. {here} is the folder of
        the TOML file, and {built} is the folder of the built files. ``more`` maps further names to their
        values. Unknown names are left unchanged."""
        values = {"here": str(self.file.parent), "built": str(self.folder / "bin"), **more}
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)

    def call_with(self, values: Mapping[str, KnobValue]) -> Call:
        """Returns a copy of the table ``call``. In ``command`` and ``environment``, names of knobs in braces
        are replaced by the knobs' values, and {here} and {built} are replaced by folders."""
        texts = {name: str(value) for name, value in values.items()}
        environment = {name: self.filled(text, **texts) for name, text in self.call.environment.items()}
        command = tuple(self.filled(word, **texts) for word in self.call.command)
        return msgspec.structs.replace(self.call, command=command, environment=environment)

    @property
    def covers(self) -> str:
        """The value of the result column ``covers``, such as
        ``initialisation=yes transfers=no conversion=no``."""
        return " ".join(f"{part}={'yes' if part in self.clock.covers else 'no'}" for part in PARTS)


def read(path: Path) -> Entry | None:
    """Read the TOML file of an entry. Returns its declaration. Returns None if the file has no table
    ``call``, because such a file does not declare an entry.

    Raises InputError, which names the file and the key, if the declaration is wrong.
    """
    table = read_toml(path)
    if "call" not in table:
        return None
    entry = converted(path, table, Entry)
    if mistake := next(_mistakes(entry), ""):
        raise InputError(f"{path}: {mistake}")
    return msgspec.structs.replace(entry, where=str(path.resolve()))


def _mistakes(entry: Entry) -> Iterator[str]:
    """Yields messages about fields that contradict each other or have invalid values."""
    call, clock, build = entry.call, entry.clock, entry.build
    given = [kind for kind in KINDS if getattr(call, kind)]
    if entry.where:
        yield "Object contains unknown field `where`"
    if len(given) != 1:
        yield f"call: give one of {', '.join(KINDS)}, not {' and '.join(given) or 'none'}"
    if bool(call.library) != bool(call.function):
        yield "call: library and function go together"
    if call.python and not re.fullmatch(r"[\w.]+:\w+", call.python):
        yield f"call: python is 'module:function', not '{call.python}'"
    knobs, unused = [knob.name for knob in entry.knobs], {knob.name for knob in entry.knobs}
    for key, words, places in (
        ("command", call.command, _COMMAND_PLACES),
        ("environment", call.environment.values(), _PLACES),
    ):
        used = {place for word in words for place in _PLACEHOLDER.findall(word)}
        unused -= used
        for place in sorted(used - places - {*knobs}):
            known = ", ".join([*sorted(places), *knobs])
            yield f"call: {key} has no place {{{place}}}: there are {known}"
    for name in sorted(unused):
        yield f"knobs: {name} is not used: write {{{name}}} in call.command or call.environment"
    if call.time and not _has_one_group(call.time):
        yield f"call: time is not a regular expression with one group: '{call.time}'"
    if (call.time or call.unit != "ms") and not call.command:
        yield "call: time and unit need a command, which prints the time"
    if clock.held_by == "events" and call.arrays != "cupy":
        yield "clock: only Python functions over CuPy arrays are timed by events"
    if clock.held_by == "theirs" and not call.command:
        yield "clock: bfsbench times functions: held_by must be 'ours' or 'events'"
    if clock.held_by != "theirs" and entry.per_search:
        reason = "whose start is not part of a search"
        yield f"clock: held_by must be 'theirs' for a command with {{source}}, {reason}"
    if build and bool(build.repository) != bool(build.commit):
        yield "build: repository and commit go together"


def _has_one_group(pattern: str) -> bool:
    try:
        return re.compile(pattern).groups == 1
    except re.error:
        return False
