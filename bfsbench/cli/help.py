"""Format ``--help`` of commands with many options: in sections, and without the knobs of variants."""

import click

from bfsbench.bench.options import OPTIONS
from bfsbench.support.errors import UsageError
from bfsbench.variants import all_variants, find
from bfsbench.variants.base import Knob

KNOB_PREFIX = "knob_"
"""The prefix of a command's parameters that are knobs."""

_SECTIONS = {
    "What": (
        *("datasets", "dataset", "family", "variants", "grid", "block", "preset", "benign"),
        *("show", "graphs", "scale", "stand_ins", "variant"),
    ),
    "From where": ("source", "source_id", "num_sources", "seed", "seeds"),
    "How": (),
    "How many samples": (),
    "How many points": ("points", "minutes", "method"),
    "On what": (),
    "Rows": ("out",),
    "Instead": ("dry_run", "sanitizer", "rows", "quiet", "as_json"),
}
"""The titles of sections, and the parameters below each title.

Measuring options are not listed here, because their declarations name their titles. A parameter without a
section is shown last.
"""
_OTHERS = "Others"


class SectionedCommand(click.Command):
    """A command whose ``--help`` shows options in sections.

    Only ``--help-knobs`` shows the options of knobs.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {name: option.section for name, option in OPTIONS.items()}
        titles |= {name: title for title, names in _SECTIONS.items() for name in names}
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in (*_SECTIONS, _OTHERS)}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None and not (option.name or "").startswith(KNOB_PREFIX):
                found[titles.get(option.name or "", _OTHERS)].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def help_knobs(context: click.Context, _option: click.Parameter, names: str | None) -> None:
    """Print the options of knobs by variant, and end the command.

    Raises UsageError for an unknown variant.
    """
    if names is None or context.resilient_parsing:
        return
    chosen = [*all_variants().values()] if names == "all" else [*map(find, names.split(","))]
    formatter = context.make_formatter()
    for variant in dict.fromkeys(chosen):
        if variant.knobs:
            with formatter.section(variant.name):
                formatter.write_dl([*map(_record, variant.knobs)])
        elif names != "all":
            formatter.write_text(f"{variant.name} has no knobs.")
    click.echo(formatter.getvalue(), nl=False)
    context.exit()


def _record(knob: Knob) -> tuple[str, str]:
    return f"{knob.option} LIST", f"{knob.name}: {knob.meaning} ({knob.legal}; default {knob.default})"


def knob_options(command: click.Command) -> click.Command:
    """Add an option for every knob that any variant declares, and ``--help-knobs``, which shows these
    options.

    Raises UsageError for a knob whose option is also another option of the command.
    """
    taken = {"--help", "--help-knobs", *(option for own in command.params for option in own.opts)}
    options: dict[str, str] = {}
    for variant in all_variants().values():
        for knob in variant.knobs:
            if knob.option in taken:
                what = f"variant {variant.name}: knob {knob.name} would be {knob.option}"
                raise UsageError(f"{what}, which is another option of 'bfsbench {command.name}'")
            options[knob.name] = knob.option
    for name, option in sorted(options.items()):
        command.params.append(
            click.Option([option, KNOB_PREFIX + name], metavar="LIST", help=f"Knob {name}.")
        )
    command.params.append(
        click.Option(
            ["--help-knobs"],
            is_flag=False,
            flag_value="all",
            metavar="[VARIANTS]",
            is_eager=True,
            expose_value=False,
            callback=help_knobs,
            help="Show the knobs of all variants, or of VARIANTS.",
        )
    )
    return command
