"""Options shared by the commands that measure, and how they are parsed."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bfsbench.bench import axes as axis_language
from bfsbench.cli.cluster_options import tls_option
from bfsbench.cli.help import KNOB_PREFIX
from bfsbench.cli.options import COUNT, Declaration, Number, backend_option, together
from bfsbench.errors import UsageError
from bfsbench.variants.base import PRESETS

if TYPE_CHECKING:
    from bfsbench.bench.plan import Work
    from bfsbench.bench.sources import SourceChoice
    from bfsbench.bench.sweep import Request
    from bfsbench.families.base import Family

source_options = together(
    click.option("--source", "source", metavar="LIST", help="Source vertices, counted from 0."),
    click.option(
        "--source-id",
        "source_id",
        metavar="LIST",
        help="Source vertices by their ids or names in the graph's file.",
    ),
    click.option(
        "--sources",
        "num_sources",
        type=click.IntRange(min=1),
        metavar="N",
        help="N sources of non-zero out-degree, chosen by --seed; 1 by default.",
    ),
)


def preset_option(use: str) -> Declaration:
    """``--knobs``; ``use`` says which knobs get a preset's values."""
    return click.option(
        "--knobs",
        "preset",
        default=PRESETS[0],
        show_default=True,
        type=click.Choice(PRESETS),
        help=f"{use}: defaults, the paper's values, or those of the paper's rules for the graph.",
    )


def out_option(command: str) -> Declaration:
    """``--out``; its default has the command's name, see ``Measuring.path``."""
    return click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"Result file; results/{command}-DATE-TIME.csv by default.",
    )


def given_knobs(options: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Knob values by name, of the options that were given. Raises UsageError for a malformed range."""
    return {
        name.removeprefix(KNOB_PREFIX): axis_language.expand(text)
        for name, text in options.items()
        if text is not None
    }


def source_choice(
    family: Family, source: str | None, source_id: str | None, count: int | None, seed: int
) -> SourceChoice:
    """The sources of ``source_options``. Raises UsageError for anything but a list of vertices."""
    from bfsbench.bench.sources import SourceChoice

    if source is not None and source_id is not None:
        raise UsageError("--source and --source-id exclude each other")
    published = source_id is not None
    listed = source_id if published else source
    given: list[int | str] | None = None
    try:
        given = None if listed is None else [int(value) for value in axis_language.expand(listed)]
    except ValueError:
        if source_id is None:
            raise UsageError(f"--source: '{listed}' is not a list of vertices") from None
        given = [*axis_language.split_list(source_id)]
    return SourceChoice.of(family, given, count, seed, published)


@dataclass(frozen=True)
class Measuring:
    """The values of ``measuring_options``."""

    repeats: int
    timeout: float
    backend: str
    schedule_seed: int
    warmup: int
    min_samples: int | None
    max_samples: int | None
    max_noise: float | None
    min_time: float
    cold: bool
    energy: bool
    resume: bool
    retry_failed: bool
    order: str = "sequential"
    cluster: str | None = None
    mixed_devices: bool = False
    tls: Path | None = None

    def request(
        self, work: Work, path: Path | None, *, profile: bool = False, parents: bool = False
    ) -> Request:
        """The request to :func:`bfsbench.bench.sweep.sweep`. Raises UsageError, ToolchainError."""
        from bfsbench.bench.runner import Method, Order
        from bfsbench.bench.sampling import Sampling
        from bfsbench.bench.sweep import Request
        from bfsbench.cluster.runners import runner_maker

        sampling = Sampling.of(
            self.repeats,
            self.min_samples,
            self.max_samples,
            self.max_noise,
            self.min_time,
            warmup=self.warmup,
            cold=self.cold,
            energy=self.energy,
        )
        method = Method(sampling, self.timeout, profile, parents, Order.of(self.order))
        if method.order.turns and self.cluster is not None:
            raise UsageError("--order goes without --cluster: samples of a point are of one device")
        tell = partial(click.echo, err=True)
        maker = runner_maker(self.cluster, self.mixed_devices, self.schedule_seed, tell, self.tls)
        return Request(work, method, path, self.resume, self.retry_failed, self.backend, maker)

    def path(self, out: Path | None, command: str) -> Path | None:
        """The result file: ``out``, else a file named by the time, unless a sweep is to be resumed. Raises
        UsageError for a name that other files have."""
        from bfsbench.bench.results import OTHER_SUFFIXES

        if out and out.name.endswith(OTHER_SUFFIXES):
            raise UsageError(f"--out {out}: result files are not called so; files beside them are")
        moment = datetime.now().strftime(f"{command}-%Y%m%d-%H%M%S.csv")
        return out if out or self.resume else Path("results") / moment


def measuring_options(resume: str, *, many: bool = True) -> Declaration:
    """How points are measured and where; the command gets these options as ``measuring``, a Measuring.
    ``resume`` is the help of ``--resume``; with ``many`` the points can be ordered and spread over workers.
    """
    only_for_many = (_ORDER, *_CLUSTER) if many else ()
    options = together(*_MEASURING, *_SAMPLING, *only_for_many, *_resuming(resume))

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def collect(**words: Any) -> None:
            own = {field.name: words.pop(field.name) for field in fields(Measuring) if field.name in words}
            function(measuring=Measuring(**own), **words)

        return options(collect)

    return declare


_MEASURING = (
    click.option("--repeats", default=5, show_default=True, type=COUNT, help="Timed searches a point."),
    click.option(
        "--timeout",
        default=60.0,
        show_default=True,
        type=Number(min=0, min_open=True),
        metavar="S",
        help="Seconds a point may take, compiling included.",
    ),
    backend_option("Where kernels run; 'cpu' emulates a GPU, and its times do not predict a GPU's."),
    click.option(
        "--schedule-seed",
        default=0,
        show_default=True,
        type=click.IntRange(min=0),
        help="On the CPU: the order in which threads and blocks run.",
    ),
)

_SAMPLING = (
    click.option(
        "--warmup",
        default=1,
        show_default=True,
        type=COUNT,
        metavar="N",
        help="Runs before those that are timed.",
    ),
    click.option(
        "--max-noise",
        type=Number(min=0, min_open=True),
        metavar="PERCENT",
        help="Go on beyond --repeats until the 95 % confidence interval of the median is this narrow.",
    ),
    click.option(
        "--min-time",
        default=0.0,
        type=Number(min=0),
        metavar="S",
        help="Go on beyond --repeats until the samples of a point add up to this.",
    ),
    click.option(
        "--min-samples",
        type=COUNT,
        metavar="N",
        help="With these two: at least N samples, --repeats by default.",
    ),
    click.option(
        "--max-samples",
        type=COUNT,
        metavar="N",
        help="With these two: at most N samples, 1000 by default.",
    ),
    click.option("--cold", is_flag=True, help="Flush the caches before every run."),
    click.option(
        "--energy",
        is_flag=True,
        help="Also measure the GPU's energy per run, in energy_j.",
    ),
)

_ORDER = click.option(
    "--order",
    default="sequential",
    show_default=True,
    metavar="ORDER",
    help="'interleaved': the points of a graph take turns, a sample each, so that drift affects all equally; "
    "'shuffled[:SEED]': in another order each turn.",
)

_CLUSTER = (
    click.option(
        "--cluster",
        metavar="WHERE",
        help="Spread the points over workers, one a GPU: local[:N], dask://HOST:PORT, or slurm[:FILE], pbs, "
        "sge, lsf with FILE about their jobs.",
    ),
    click.option(
        "--mixed-devices",
        is_flag=True,
        help="Accept workers with different GPUs or CPUs, whose rows are kept apart.",
    ),
    tls_option,
)


def _resuming(text: str) -> tuple[Declaration, Declaration]:
    retry = "With --resume: measure the points that failed again."
    return (
        click.option("--resume", is_flag=True, help=text),
        click.option("--retry-failed", is_flag=True, help=retry),
    )


def names(items: Sequence[str], option: str) -> list[str]:
    """The names in an option that may be repeated, each time with a list."""
    found = [name for item in items for name in axis_language.split_list(item)]
    if not found:
        raise UsageError(f"{option} names none")
    return found


def _is_file(name: str) -> bool:
    """Whether there is such a file. What is too long for a file's name is none: it may be a list."""
    try:
        return Path(name).is_file()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return False


def locators(datasets: Sequence[str]) -> list[str]:
    """The locators of the graphs; finding them reads no more than a header. A file's name may have commas."""
    from bfsbench.graphs.load import resolve

    lists = ([item] if _is_file(item) else names([item], "--dataset") for item in datasets)
    return list(dict.fromkeys(resolve(text).locator for texts in lists for text in texts))
