"""Fills in Markdown templates with numbers from result rows.

A template is a Jinja2 file. It opens result files with ``rows`` and quotes numbers from them::

    {% set all = rows("h200/all-variants.csv") %}
    On FLA `luo` takes {{ all.of(graph="USA-road-d.FLA", variant="luo").ms | number }} ms.

Templates have further functions. ``compared`` quotes a comparison of two files. ``claims`` quotes the
verdicts on an experiment's claims. ``predicted`` says how well predicted times agree with measured times.
``kind_of`` gives the kind of a graph, such as a social network. ``table`` reads any other CSV file.
``commands`` is a dict with the short help of each command.

A template for LaTeX, whose name contains ``.tex``, has delimiters that do not clash with braces::

    \\BLOCK{set all = rows("h200/all-variants.csv")}
    On FLA, luo takes \\VAR{all.of(graph="USA-road-d.FLA", variant="luo").ms | number} ms. \\#{a comment}

The filter ``latex`` escapes names such as ``push_multilevel``.

Missing rows are an error, so that a text cannot quote numbers that were not measured. A line below each table
of the text says at which commits, on which days and on which devices the table's rows were measured. If a
file has rows of several commits, a small table says which graphs and searches belong to each commit. The line
also names the searches whose code has changed since then. If an earlier table shows a search of this table
with numbers from other result files, the line says in which respects the rows of those files differ. Below
the first table with rows of a file stands the command that wrote the file.

A table must not have rows of one search that come from different versions of its code, unless the template
gives the reason by ``mixed`` above the table. Comparing times with unequal numbers of sources or repeats is
an error, too. Times of emulated kernels are an error unless the template selects ``backend="cpu"``.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from functools import cache
from pathlib import Path
from statistics import geometric_mean, harmonic_mean, median
from typing import Any, cast

import pandas as pd

from bfsbench.experiments import find
from bfsbench.experiments.claims import WORST_FIRST, findings_by_claim, verdict_of
from bfsbench.experiments.outcome import read_outcome
from bfsbench.experiments.sandbox import sandbox
from bfsbench.graphs.load import kind_of_graph
from bfsbench.reports.comparison import THRESHOLD
from bfsbench.reports.comparison.points import Compared, Comparison, compare, read_side
from bfsbench.reports.latex import for_latex
from bfsbench.reports.predictions import baseline, trust
from bfsbench.reports.provenance import (
    facts_of,
    files_of,
    footnotes_of,
    line_of,
    origins_of,
    other_rows,
    outdated,
)
from bfsbench.reports.ranking import ALL, rankings
from bfsbench.reports.rows import (
    GRAPH,
    SETTING,
    STATISTIC,
    TYPICAL,
    Results,
    comparable,
    configurations,
    equal_repeats,
    fastest,
    select,
)
from bfsbench.rows.point import knob_values
from bfsbench.rows.provenance import DIGITS, code_hash, read_runs
from bfsbench.rows.results import read_results
from bfsbench.support.errors import BfsbenchError, InputError, ToolchainError
from bfsbench.variants import all_variants

_MISTAKES = (
    *(BfsbenchError, TypeError, ValueError, ArithmeticError),
    *(LookupError, AttributeError, RecursionError),
)
"""Errors that a mistake in a template may raise, besides Jinja2's own errors."""
_COMMIT = 7
_OF_COMPARISONS = ("points", "count", "noise", "threshold", "num_same_code", "is_worse", "detects")
"""Members of a ``Comparison`` of two result files that templates may read."""


Time = tuple[str, int, int]
"""A time that a template has read: its graph, its number of sources, and its number of repeats (0 if
unknown)."""


class Read(list[pd.DataFrame]):
    """The list of all result rows whose numbers a template has read, in the order of reading."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[tuple[str, Time]] = []
        """The times that the template has read, each with the name of the rows from which it comes."""

    def check(self, begun: int, *, in_table: bool) -> None:
        """Raises InputError if readers may compare times that come from different numbers of sources or
        repeats.

        Only the times from index ``begun`` on are checked. In a table, readers may compare all times on the
        same graph. In other text, they may compare times on the same graph from the same file.
        """
        found: dict[tuple[str, str], set[Time]] = {}
        for file, time in self.times[begun:]:
            found.setdefault(("" if in_table else file, time[0]), set()).add(time)
        for (_, graph), times in found.items():
            sources = {time[1] for time in times}
            repeats = {time[2] for time in times} - {0}
            for counts, what in ((sources, "sources"), (repeats, "repeats")):
                if len(counts) > 1:
                    numbers = " and ".join(map(str, sorted(counts)))
                    raise InputError(f"times on {graph.split(':')[0]} are compared over {numbers} {what}")


class Rows:
    """Rows of result files, for use in templates. ``of`` selects rows, and other members return values to
    quote."""

    def __init__(self, frame: pd.DataFrame, what: str, read: Read, *, emulated: bool = False) -> None:
        self._frame = frame
        self._read = read
        self.what = what
        """The name of these rows in error messages."""
        self._emulated = emulated  # True if the template asks for times of emulated kernels
        self._kept: dict[Hashable, Any] = {}  # caches values that templates ask for repeatedly

    def of(self, **wanted: str | int | Sequence[str | int]) -> Rows:
        """Returns the rows that have these values in columns or knobs, as in ``of(graph="wave", K1=4)``.

        The end of a graph's name may be left out, and aliases of variants are allowed. A list of values
        selects rows with any of the values. Raises InputError if there are no such rows.
        """
        if (known := repr(wanted)) in self._kept:
            return cast("Rows", self._kept[known])
        frame = self._frame
        lists = {
            name: [value] if isinstance(value, str | int) else [*value] for name, value in wanted.items()
        }
        named = {
            name: [str(value) for value in lists.pop(name, [])] for name in ("graph", "variant", "backend")
        }
        frame = select(frame, named["graph"], named["variant"], named["backend"])
        for name, values in lists.items():
            texts = {str(value) for value in values}
            column = frame[name].map(_text) if name in frame else frame["knobs"].map(_knob(name))
            frame = frame[column.isin(texts)]
        what = ", ".join([self.what, *(f"{name}={value}" for name, value in wanted.items())])
        emulated = self._emulated or "cpu" in named["backend"]
        self._kept[known] = Rows(frame, what, self._read, emulated=emulated).required()
        return cast("Rows", self._kept[known])

    def _some(self, frame: pd.DataFrame, what: str) -> Rows:
        """Returns a Rows object with the rows in ``frame``, which are some of this object's rows. ``what``
        describes these rows in error messages."""
        return Rows(frame, what, self._read, emulated=self._emulated)

    def required(self) -> Rows:
        """Returns the object itself. Raises InputError if it has no rows."""
        if self._frame.empty:
            raise InputError(f"no rows of {self.what}")
        return self

    def without(self, **unwanted: str | Sequence[str]) -> Rows:
        """Leaves out each row in which a given column has a given value. Returns the remaining rows. Raises
        InputError if no rows remain."""
        frame = self._frame
        for name, values in unwanted.items():
            frame = frame[~frame[name].isin([values] if isinstance(values, str) else [*values])]
        return self._some(frame, f"{self.what} without {unwanted}").required()

    def without_knob(self, **unwanted: str | int) -> Rows:
        """Leaves out each row in which a given knob has its given value. Returns the remaining rows. Raises
        InputError if no rows remain."""
        frame = self._frame
        for name, value in unwanted.items():
            frame = frame[frame["knobs"].map(_knob(name)) != str(value)]
        return self._some(frame, f"{self.what} without {unwanted}").required()

    def _require_measured(self) -> None:
        """Raises InputError if rows have times of emulated kernels, unless the template selected emulated
        kernels."""
        emulated = (self._frame["backend"] == "cpu") & (self._frame["status"] == "ok")
        if emulated.any() and not self._emulated:
            raise InputError(
                f"{self.what} has emulated times: select backend='cpu' to quote them, or another backend"
            )

    def _fastest(self) -> pd.Series[Any]:
        """Returns the fastest configuration. Raises InputError if the rows have times on several graphs."""
        return self._of_one_graph(self._best()).iloc[0]

    def _of_one_graph(self, timed: pd.DataFrame) -> pd.DataFrame:
        """Returns ``timed`` unchanged. Raises InputError if it has several graphs."""
        for column in GRAPH:
            if len(values := [*dict.fromkeys(timed[column])]) > 1:
                example = f"of({column}='{values[0]}')"
                raise InputError(
                    f"{self.what} has times on {len(values)} graphs: fix the column {column}, as in {example}"
                )
        return timed

    def _best(self, combined: Callable[[pd.DataFrame], pd.DataFrame] = configurations) -> pd.DataFrame:
        self._require_measured()
        self._read.append(self._frame)
        if combined not in self._kept:
            found = combined(self._frame)
            if found.empty:
                raise InputError(f"no times among {self.what}")
            self._kept[combined] = fastest(found, SETTING).sort_values("search_ms")
        best = cast("pd.DataFrame", self._kept[combined])
        read = best if combined is comparable else best[:1]
        times = zip(read["graph"], read["sources"], read["repeats"], strict=True)
        file = str(self._frame["file"].iloc[0])
        self._read.times += [(file, (str(graph), int(n), int(repeats))) for graph, n, repeats in times]
        return best

    @property
    def ms(self) -> float:
        """The time in ms of the fastest configuration. The time from a source is the time of its fastest
        repeat. The result is the median over all sources. Raises InputError if the rows have times on several
        graphs."""
        return float(self._fastest()["search_ms"])

    @property
    def best(self) -> dict[str, Any]:
        """The fastest configuration, as a dictionary with the columns of
        :func:`bfsbench.reports.rows.configurations`."""
        return {str(name): value for name, value in self._fastest().items()}

    @property
    def best_each(self) -> dict[str, float]:
        """The time in ms of each variant at its fastest configuration, the fastest variant first. Variants
        without times from all sources are left out (see :func:`bfsbench.reports.rows.comparable`)."""
        return self._each("search_ms")

    @property
    def typical_each(self) -> dict[str, float]:
        """The time in ms of each variant. The configurations and their order are those of ``best_each``. The
        time from a source is the median of its repeats. The time of a variant is the median over all sources.
        """
        return self._each("median_ms")

    def _each(self, column: str) -> dict[str, float]:
        best = self._of_one_graph(self._best(comparable)).drop_duplicates("variant")
        return {str(name): float(ms) for name, ms in zip(best["variant"], best[column], strict=True)}

    @property
    def equal(self) -> Rows:
        """The rows, cut to equally many repeats for all rows of a graph. Rows with more repeats lose their
        last repeats."""
        return self._some(equal_repeats(self._frame), self.what)

    @property
    def typical_ms(self) -> float:
        """The time in ms of the fastest configuration. The time from a source is the median of its repeats.
        The result is the median over all sources. Raises InputError if the rows have times on several
        graphs."""
        return float(self._fastest()["median_ms"])

    @property
    def first_each(self) -> dict[str, float]:
        """The time in ms of the first row of each variant. In a tuning, the first row has the default
        settings."""
        self._require_measured()
        timed = self._frame[self._frame["status"] == "ok"]
        first = self._of_one_graph(timed).drop_duplicates("variant")
        self._read.append(first)
        return {str(name): float(ms) for name, ms in zip(first["variant"], first["search_ms"], strict=True)}

    @property
    def first(self) -> Rows:
        """The rows whose knob values and block size equal the values of the first row."""
        settings = self._frame[["knobs", "block"]].astype(str)
        same = (settings == settings.iloc[0]).all(axis=1)
        return self._some(self._frame[same], f"the first setting of {self.what}")

    @property
    def ranking(self) -> list[dict[str, Any]]:
        """The ranking of searches over all graphs, with one dictionary per search and the best search
        first."""
        self._read.append(self._frame)
        table = rankings(Results.of(self._frame))[0]
        records = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        return [record for record in records if record["family"] == ALL]

    @property
    def footnotes(self) -> list[str]:
        """One line for each program of other authors. The line says which clock measured the program, what
        the measured time includes, and how long the preparation took."""
        return footnotes_of(self._frame)

    @property
    def graphs(self) -> list[str]:
        """The full names of the graphs, in the order of the rows."""
        return [*dict.fromkeys(self._frame["graph"])]

    @property
    def variants(self) -> list[str]:
        return [*dict.fromkeys(self._frame["variant"])]

    @property
    def commits(self) -> list[str]:
        return sorted(set(self._frame["commit"]))

    @property
    def days(self) -> list[str]:
        """The days on which the rows were measured, such as ``2026-11-22``."""
        return sorted(set(self._frame["taken_at"].str[:10]))

    @property
    def failed(self) -> Rows:
        """The rows without a time, because their run failed. Unlike other selections, this one may be
        empty."""
        return self._some(self._frame[self._frame["status"] != "ok"], f"{self.what} that failed")

    def column(self, name: str) -> list[Any]:
        """Returns the distinct values of a column, in the order of the rows."""
        return [*dict.fromkeys(self._frame[name])]

    def values(self, name: str) -> list[float]:
        """Returns the numbers in a column. Rows without a number in this column are left out."""
        if name.endswith("_ms"):
            self._require_measured()
        self._read.append(self._frame)
        return [float(value) for value in self._frame[name].dropna()]

    def __len__(self) -> int:
        return len(self._frame)


def _text(value: Any) -> str:
    """Returns a cell as text. As in result files, whole numbers have no decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _knob(name: str) -> Callable[[str], str | None]:
    return lambda knobs: knob_values(knobs).get(name)


def number(value: float) -> str:
    """Returns a number as text, rounded to three significant digits and without an exponent, such as
    ``0.0527`` or ``1,090``. Zeros at the end of a fraction are left out: ``0.28``, not ``0.280``."""
    rounded = float(f"{value:.3g}")
    return f"{value:,.0f}" if abs(rounded) >= 100 else f"{Decimal(f'{value:.3g}'):f}"


def span(values: Iterable[float]) -> str:
    """Returns the least and the largest of some numbers as text, such as ``25 to 36``. If they are equal
    after rounding, returns one number."""
    ordered = sorted(values)
    ends = [number(ordered[0]), number(ordered[-1])]
    return " to ".join(dict.fromkeys(ends))


def _below(folder: Path, name: str) -> Path:
    """Returns the path of the file or folder ``name`` below ``folder``.

    Raises InputError if the path leads out of ``folder``, because others may have written the template.
    """
    for part in (name, name.partition("@")[0]):
        if not (folder / part).resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{name} is not in {folder}")
    return folder / name


def compared(folder: Path, a: str, b: str, threshold: float = THRESHOLD) -> Comparison:
    """Returns a comparison of two result files in ``folder``.
    :func:`bfsbench.reports.comparison.points.compare` explains the comparison."""
    return compare(read_side(str(_below(folder, a))), read_side(str(_below(folder, b))), threshold)


def claims(folder: Path, name: str, *files: str) -> dict[str, int]:
    """Returns how many of an experiment's claims are reproduced, undecided and not reproduced in these result
    files.

    If the experiment sets ``all_rows``, or has a claim about a CPU program, rows of the other result files in
    ``folder`` count as well.
    """
    outcome = read_outcome(find(name), [_below(folder, file) for file in files], {}, folder)
    verdicts = [verdict_of(found) for _, found in findings_by_claim(outcome)]
    return {verdict: verdicts.count(verdict) for verdict in WORST_FIRST}


def predicted(path: Path) -> dict[str, dict[str, Any]]:
    """Returns statistics of how well the predicted times in a CSV file agree with its measured times, as a
    dictionary with two keys.

    ``model`` is for the predictions in the file. ``mean`` is for a simple prediction: the geometric mean of
    the variant's times in all other lines of the file. Each value is a dictionary with the fields of
    ``reports.predictions.Trust``.
    """
    lines = pd.DataFrame(table(path))
    return {"model": asdict(trust(lines)), "mean": asdict(baseline(lines))}


def table(path: Path) -> list[dict[str, Any]]:
    """Returns the lines of a CSV file that does not hold result rows. Each line is a dictionary from column
    to value.

    Cells that contain numbers become Python numbers. Raises InputError if the file cannot be read.
    """
    try:
        lines = pd.read_csv(path)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    return [{str(name): value for name, value in line.items()} for line in lines.to_dict("records")]


def fill_in(template: Path, folder: Path, commands: Mapping[str, str]) -> str:
    """Fills in a template with numbers from the result files below ``folder``. Returns the text.

    ``commands`` maps the name of each command to its short help. Raises InputError, whose message names the
    template's line, for missing rows and for mistakes in the template. Raises ToolchainError if Jinja2 is not
    installed.
    """
    try:
        import jinja2
    except ImportError:
        raise ToolchainError("texts from templates need Jinja2: pip install 'bfsbench[text]'") from None
    environment = sandbox(template, (Rows, Compared), {Comparison: _OF_COMPARISONS})
    environment.filters |= {
        "number": number,
        "span": span,
        "median": median,
        "harmonic_mean": harmonic_mean,
        "count": lambda value: f"{value:,}",
        "latex": for_latex,
    }

    read = Read()
    reasons: list[str] = []
    present_code = _present_code(folder)

    @cache
    def rows(*files: str) -> Rows:
        return Rows(read_results([_below(folder, file) for file in files]), ", ".join(files), read).required()

    def mixed(reason: str) -> str:
        reasons.append(reason)
        return ""

    try:
        parts = environment.get_template(template.name).generate(
            rows=rows,
            mixed=mixed,
            statistic=STATISTIC,
            typical=TYPICAL,
            geometric_mean=geometric_mean,
            compared=lambda a, b, threshold=THRESHOLD: compared(folder, a, b, threshold),
            claims=lambda name, *files: claims(folder, name, *files),
            predicted=lambda file: predicted(_below(folder, file)),
            kind_of=kind_of_graph,
            table=cache(lambda file: table(_below(folder, file))),
            commands={**commands},
        )
        text = _with_origins(parts, read, reasons, present_code)
    except jinja2.TemplateNotFound:
        raise InputError(f"cannot read {template}: there is no such file") from None
    except jinja2.TemplateSyntaxError as error:
        raise InputError(f"{template}:{error.lineno}: {error.message}") from error
    except UnicodeDecodeError:
        raise InputError(f"cannot read {template}: it is not UTF-8") from None
    except (*_MISTAKES, jinja2.TemplateError) as error:
        line = _line(error, str(template))
        raise InputError(f"{template}{f':{line}' if line else ''}: {error}") from error
    return text


def command_of(file: Path) -> str:
    """Returns Markdown with the command that wrote a result file, or "" if the command is unknown.

    If there is a record beside the file (``*.runs.jsonl``), its last command is returned. Otherwise the
    command is looked up in ``commands.csv`` in the file's folder. The column ``points`` of ``commands.csv``
    is ``all``, or says in sentences which rows the command wrote.
    """
    if runs := read_runs(file):
        command, points = runs[-1]["command"], "all"
    else:
        listed = file.with_name("commands.csv")
        lines = table(listed) if listed.is_file() else []
        line = next((line for line in lines if line["file"] == file.name), None)
        if line is None:
            return ""
        command, points = line["command"], line["points"]
    said = "" if points == "all" else f"\n{points}\n"
    return f"\nThe following command wrote rows of `{file.name}`:\n\n```\n{command}\n```\n{said}"


def _present_code(folder: Path) -> Callable[[str, str, str], set[str]]:
    """Returns a function that takes a variant, a backend and knobs, and returns the hashes of the present
    code.

    The function returns one hash for each CUDA compiler that the records of runs below ``folder`` name. It
    returns an empty set for a variant that is unknown here, and for every backend except ``cuda``.
    """
    files = (
        file.with_name(file.name.replace(".runs.jsonl", ".csv")) for file in folder.rglob("*.runs.jsonl")
    )
    compilers = {run["nvcc"] for file in files for run in read_runs(file) if run.get("nvcc")}

    @cache
    def present(variant: str, backend: str, knobs: str) -> set[str]:
        known = all_variants().get(variant)
        if known is None or backend != "cuda":
            return set()
        macros = {knob.name: knob for knob in known.knobs if knob.compile_time}
        given = {name: value for name, value in knob_values(knobs).items() if name in macros}
        return {code_hash(known, known.knob_values(given), backend, nvcc)[:DIGITS] for nvcc in compilers}

    return present


def _with_origins(
    parts: Iterable[str], read: Read, reasons: list[str], present_code: Callable[[str, str, str], set[str]]
) -> str:
    """Returns the text of a filled template, with the origin of the shown rows below each table. The origin
    is a line with the files, commits and days of the rows, and with the searches whose code has changed since
    then. If an earlier table shows a search of this table with other rows, the line says so. Below the line
    are the commands that wrote the files. The text contains each command only once.

    ``parts`` are the pieces of the text, in order. The pieces are made one by one. All rows that the template
    reads while a table is made belong to this table. If the rows of a search come from different versions of
    its code, the first of ``reasons`` explains why. Raises InputError if there is no reason.
    """
    made: list[str] = []
    above: list[pd.DataFrame] = []
    shown: set[str] = set()
    line, in_table, begun, times_begun = "", False, 0, 0

    def end_table() -> None:
        frames = read[begun : len(read)]
        read.check(times_begun, in_table=True)
        here = facts_of(frames)
        if origin := line_of(here, reasons.pop(0) if reasons else None):
            made.append(f"\n{origin}{outdated(here, present_code)}{other_rows(here, above)}\n")
            made.append(origins_of(here))
        made.extend(command_of(Path(file)) for file in files_of(frames) if file not in shown)
        shown.update(files_of(frames))
        above.append(here)

    for part in parts:
        for piece in part.splitlines(keepends=True):
            line += piece
            if in_table and not line.startswith("|"):
                end_table()
                times_begun, in_table = len(read.times), False
            if line.startswith("|") and not in_table:
                read.check(times_begun, in_table=False)
                in_table, begun, times_begun = True, len(read), len(read.times)
            if line.endswith("\n"):
                made.append(line)
                line = ""
    if in_table:
        made.append(f"{line}\n" if line else "")
        end_table()
    else:
        read.check(times_begun, in_table=False)
        made.append(line)
    return "".join(made)


def _line(error: BaseException, template: str) -> int:
    """Returns the number of the template's line that caused an error, from the last traceback frame in the
    template. Returns 0 if no frame is in the template."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == template]
    return (lines[-1] if lines else None) or 0
