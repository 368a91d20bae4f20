"""Text whose numbers come from rows: Markdown templates, filled in from result files.

A template is a Jinja2 file. It opens result files with ``rows`` and quotes numbers of them::

    {% set all = rows("h200/all-variants.csv") %}
    On FLA `luo` takes {{ all.of(graph="USA-road-d.FLA", variant="luo").ms | number }} ms.

``compared`` quotes a comparison of two files, ``claims`` the verdicts on an experiment's claims, ``kind_of``
the family of a graph, ``table`` any other CSV file. Missing rows are an error, so a text cannot quote numbers
that were not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from statistics import geometric_mean, harmonic_mean, median
from typing import TYPE_CHECKING, Any

from bfsbench.bench.point import knob_values
from bfsbench.bench.results import read_results
from bfsbench.compare.points import Compared, Comparison, compare
from bfsbench.compare.sides import read_side
from bfsbench.errors import BfsbenchError, InputError, ToolchainError
from bfsbench.experiments import find
from bfsbench.experiments.claims import WORST_FIRST, findings, verdict_of
from bfsbench.experiments.outcome import read_outcome
from bfsbench.graphs.kinds import family_of_graph
from bfsbench.report.footnotes import footnotes_of
from bfsbench.report.ranking import ALL, rankings
from bfsbench.report.rows import SETTING, comparable, configurations, fastest, select

if TYPE_CHECKING:
    import jinja2
    import pandas as pd

_MISTAKES = (BfsbenchError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
"""What a mistake in a template may raise, besides Jinja2's own errors and endless recursion."""
_OF_COMPARISONS = ("points", "count", "noise", "threshold", "num_same_code", "is_worse")
"""Members of a comparison that templates may read."""


class Rows:
    """Rows of result files, for templates. ``of`` filters them; the other members are values for texts."""

    def __init__(self, frame: pd.DataFrame, what: str) -> None:
        self._frame = frame
        self.what = what
        """The name of these rows in messages."""

    def of(self, **wanted: str | int | Sequence[str | int]) -> Rows:
        """The rows with these values of columns; of ``graph``, ``variant``, ``backend`` and knobs by name.

        A graph may be named without its direction, a variant by an alias; ``K1=4`` selects a knob's value. A
        list means any of its values. Raises InputError where there are no such rows.
        """
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
        return Rows(frame, what).required()

    def required(self) -> Rows:
        """These rows. Raises InputError if there are none."""
        if self._frame.empty:
            raise InputError(f"no rows of {self.what}")
        return self

    def without(self, **unwanted: str | Sequence[str]) -> Rows:
        """The rows with other values of these columns."""
        frame = self._frame
        for name, values in unwanted.items():
            frame = frame[~frame[name].isin([values] if isinstance(values, str) else [*values])]
        return Rows(frame, f"{self.what} without {unwanted}").required()

    def _best(self, combined: Callable[[pd.DataFrame], pd.DataFrame] = configurations) -> pd.DataFrame:
        found = combined(self._frame)
        if found.empty:
            raise InputError(f"no times among {self.what}")
        return fastest(found, SETTING).sort_values("search_ms")

    @property
    def ms(self) -> float:
        """The time in ms of the fastest configuration: the median over its sources."""
        return float(self._best()["search_ms"].iloc[0])

    @property
    def best(self) -> dict[str, Any]:
        """The fastest configuration as :func:`bfsbench.report.rows.configurations` describes it."""
        return {str(name): value for name, value in self._best().iloc[0].items()}

    @property
    def best_each(self) -> dict[str, float]:
        """The time in ms of each variant at its fastest configuration, the fastest first; of those that have
        times from all sources (see :func:`bfsbench.report.rows.comparable`)."""
        best = self._best(comparable).drop_duplicates("variant")
        return {str(name): float(ms) for name, ms in zip(best["variant"], best["search_ms"], strict=True)}

    @property
    def first_each(self) -> dict[str, float]:
        """The time in ms of the first row of each variant; in a tuning, that of its defaults."""
        first = self._frame[self._frame["status"] == "ok"].drop_duplicates("variant")
        return {str(name): float(ms) for name, ms in zip(first["variant"], first["search_ms"], strict=True)}

    @property
    def first(self) -> Rows:
        """The rows with the knobs and block of the first row."""
        same = (
            self._frame[["knobs", "block"]].astype(str) == self._frame[["knobs", "block"]].iloc[0].astype(str)
        ).all(axis=1)
        return Rows(self._frame[same], f"the first setting of {self.what}")

    @property
    def ranking(self) -> list[dict[str, Any]]:
        """The table ``ranking`` over all graphs, a row for each search, the best first."""
        table = rankings(self._frame)[0]
        records = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        return [record for record in records if record["family"] == ALL]

    @property
    def footnotes(self) -> list[str]:
        """A line for each program of others: whose clock, what it covers, what it took beside."""
        return footnotes_of(self._frame)

    @property
    def graphs(self) -> list[str]:
        """Full names, in the order of the rows."""
        return [*dict.fromkeys(self._frame["graph"])]

    @property
    def variants(self) -> list[str]:
        return [*dict.fromkeys(self._frame["variant"])]

    @property
    def commits(self) -> list[str]:
        return sorted(set(self._frame["commit"]))

    @property
    def failed(self) -> Rows:
        """The rows without a time, possibly none."""
        return Rows(self._frame[self._frame["status"] != "ok"], f"{self.what} that failed")

    def column(self, name: str) -> list[Any]:
        """The distinct values of a column, in the order of the rows."""
        return [*dict.fromkeys(self._frame[name])]

    def values(self, name: str) -> list[float]:
        """The numbers in a column, one for each row that has one."""
        return [float(value) for value in self._frame[name].dropna()]

    def __len__(self) -> int:
        return len(self._frame)


def _text(value: Any) -> str:
    """A cell as in the file: whole numbers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _knob(name: str) -> Callable[[str], str | None]:
    return lambda knobs: knob_values(knobs).get(name)


def number(value: float) -> str:
    """Three significant digits, without an exponent: ``0.0527``, ``2.19``, ``1,090``."""
    rounded = float(f"{value:.3g}")
    return f"{value:,.0f}" if abs(rounded) >= 100 else f"{Decimal(f'{value:.3g}'):f}"


def span(values: Iterable[float]) -> str:
    """``25 to 36``: the least and the largest of some numbers, or one number if both round to it."""
    ordered = sorted(values)
    ends = [number(ordered[0]), number(ordered[-1])]
    return " to ".join(dict.fromkeys(ends))


def _below(folder: Path, name: str) -> Path:
    """A file or folder of the rows. Raises InputError for one elsewhere: templates may be other people's."""
    for part in (name, name.partition("@")[0]):
        if not (folder / part).resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{name} is not in {folder}")
    return folder / name


def compared(folder: Path, a: str, b: str, threshold: float = 0.05) -> Comparison:
    """Two result files compared as :func:`bfsbench.compare.points.compare` does it."""
    return compare(read_side(str(_below(folder, a))), read_side(str(_below(folder, b))), threshold)


def claims(folder: Path, name: str, *files: str) -> dict[str, int]:
    """How many of an experiment's claims are reproduced, undecided and not reproduced in these files."""
    experiment = find(name)
    found = findings(read_outcome(experiment, [_below(folder, file) for file in files], {}))
    verdicts = [verdict_of([one for one in found if one.claim is claim]) for claim in experiment.claims]
    return {verdict: verdicts.count(verdict) for verdict in WORST_FIRST}


def table(path: Path) -> list[dict[str, Any]]:
    """The lines of a CSV file that holds no result rows, by its columns; numbers are numbers. Raises
    InputError."""
    import pandas as pd

    try:
        lines = pd.read_csv(path)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    return [{str(name): value for name, value in line.items()} for line in lines.to_dict("records")]


def _sandbox(folder: Path) -> jinja2.Environment:
    """Templates may be other people's. They reach members of plain values and of rows, and nothing that reads
    or writes files or evaluates code, as data frames, numbers of numpy and paths do."""
    import jinja2.sandbox

    plain = (str, int, float, list, tuple, dict, Rows, Compared)

    class Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            if type(obj) is Comparison:
                return attr in _OF_COMPARISONS
            known = type(obj) in plain or type(obj).__module__.startswith("jinja2.")
            return known and super().is_safe_attribute(obj, attr, value)

    return Sandbox(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def fill_in(template: Path, folder: Path) -> str:
    """Fill in a template from the result files below ``folder``. Raises InputError, naming the template's
    line, for missing rows and for mistakes in the template; ToolchainError where Jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise ToolchainError("texts from templates need Jinja2: pip install 'bfsbench[text]'") from None
    environment = _sandbox(template.parent)
    del environment.globals["lipsum"]  # text without end
    environment.filters |= {
        "number": number,
        "span": span,
        "median": median,
        "harmonic_mean": harmonic_mean,
        "count": lambda value: f"{value:,}",
    }

    @cache
    def rows(*files: str) -> Rows:
        return Rows(read_results([_below(folder, file) for file in files]), ", ".join(files)).required()

    try:
        text = environment.get_template(template.name).render(
            rows=rows,
            geometric_mean=geometric_mean,
            compared=lambda a, b, threshold=0.05: compared(folder, a, b, threshold),
            claims=lambda name, *files: claims(folder, name, *files),
            kind_of=family_of_graph,
            table=cache(lambda file: table(_below(folder, file))),
        )
    except jinja2.TemplateNotFound:
        raise InputError(f"cannot read {template}: there is no such file") from None
    except jinja2.TemplateSyntaxError as error:
        raise InputError(f"{template}:{error.lineno}: {error.message}") from error
    except UnicodeDecodeError:
        raise InputError(f"cannot read {template}: it is not UTF-8") from None
    except (*_MISTAKES, RecursionError, jinja2.TemplateError) as error:
        raise InputError(f"{template}:{_line(error, str(template))}: {error}") from error
    return text


def _line(error: BaseException, template: str) -> int:
    """The line of the template that an error came from: the last frame of the traceback in it."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == template:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
