"""``bfsbench list`` and ``show`` against the declarations that they show, and completions in the shell."""

import csv
import inspect
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from bfsbench.cli import main
from bfsbench.graphs.catalogue import Catalogue
from bfsbench.graphs.generators import GENERATORS
from bfsbench.reports import TABLES
from bfsbench.support.paths import PACKAGE
from bfsbench.tools.listing import LISTS
from bfsbench.variants import all_variants
from bfsbench.variants.base import KernelProgram, Variant
from tests.commands import Completed, bfsbench_with, invoke, refused
from tests.parameters import one_in


def rows(what: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads(invoke("list", what, "--format", "json").stdout)[what]["rows"]
    return read


def test_every_variant_is_listed_with_its_declaration() -> None:
    found = {line["name"]: line for line in rows("variants")}
    assert list(found) == list(all_variants())
    pull = found["pull"]
    assert (pull["layout"], pull["frontier"]) == ("CSC", all_variants()["pull"].frontier)
    assert found["virtual_warp"]["aliases"] == "hong"
    assert found["virtual_warp"]["knobs"] == "W_SZ"
    assert "Springer" in found["virtual_warp"]["origin"]


def test_every_knob_is_listed_with_its_option_and_legal_values() -> None:
    found = rows("knobs")
    assert [(line["variant"], line["name"]) for line in found] == [
        (variant.name, knob.name) for variant in all_variants().values() for knob in variant.knobs
    ]
    (warp,) = (line for line in found if line["variant"] == "virtual_warp")
    assert (warp["option"], warp["default"]) == ("--w-sz", "16")
    assert (warp["legal_values"], warp["set_at"]) == ("1, 2, 4, 8, 16, 32", "compile time")


def test_every_counter_is_listed() -> None:
    assert [(line["variant"], line["name"]) for line in rows("counters")] == [
        (variant.name, counter) for variant in all_variants().values() for counter in variant.counters
    ]
    assert {"detected", "conflicts", "missed"} <= {line["name"] for line in rows("counters")}


def test_every_figure_is_listed_with_its_variant_and_the_file_of_its_kernel() -> None:
    found = rows("papers")
    told = [(line["variant"], ", ".join(filter(None, (line["paper"], line["figure"])))) for line in found]
    declared = [(variant.name, origin) for variant in all_variants().values() for origin in variant.origin]
    assert sorted(told) == sorted(declared)
    for line in found:
        path = PACKAGE.parent / line["file"]
        assert path.is_file() and path.suffix in (".cu", ".cpp", ".py", ".toml")
    springer = [line["figure"] for line in found if line["paper"] == "Springer" and "Fig." in line["figure"]]
    assert [text.rpartition("Fig. ")[2] for text in springer] == [
        *("9", "10", "11", "12", "13", "14", "15", "16", "17")
    ]


@pytest.mark.parametrize("variant", all_variants().values(), ids=lambda variant: variant.name)
def test_show_has_all_of_a_declaration(variant: type[Variant]) -> None:
    text = invoke("show", variant.name).stdout
    assert max(map(len, text.splitlines())) <= 100 or str(PACKAGE) in text
    words = " ".join(text.split())
    assert " ".join((variant.__doc__ or "").split()) in words
    for fact in (*variant.aliases, "; ".join(variant.origin), variant.frontier, variant.parallel_unit):
        assert " ".join(fact.split()) in words
    tables = json.loads(invoke("show", variant.name, "--format", "json").stdout)
    facts = {line["property"]: line["value"] for line in tables["variant"]["rows"]}
    (file,) = (Path(facts[key]) for key in ("kernels", "program") if key in facts)
    assert file.is_file()
    if issubclass(variant, KernelProgram):
        assert file == variant.source_files()[0]
    else:
        assert file.stem in (variant.name, Path(inspect.getfile(variant)).stem)
    knobs = {line["name"]: line for line in tables.get("knobs", {"rows": []})["rows"]}
    assert list(knobs) == [knob.name for knob in variant.knobs]
    for knob in variant.knobs:
        assert knobs[knob.name]["default"] == str(knob.default)
        assert knobs[knob.name]["legal_values"] == knob.legal
    counters = tables.get("counters", {"rows": []})["rows"]
    assert {line["name"]: line["meaning"] for line in counters} == dict(variant.counters)


def test_show_takes_aliases_and_suggests_names() -> None:
    assert invoke("show", "hong").stdout == invoke("show", "virtual_warp").stdout
    said = refused(invoke("show", "virtual_wrap"))
    assert said == "unknown variant 'virtual_wrap': did you mean virtual_warp?"


def test_aliases_stand_beside_names_for_people_only() -> None:
    assert "frontier_numbers (push)" in invoke("list", "papers").stdout
    assert "frontier_numbers (push)" in invoke("list", "papers", "--format", "markdown").stdout
    for style in ("csv", "json"):
        text = invoke("list", "papers", "--format", style).stdout
        assert "frontier_numbers" in text and "(push)" not in text


OWN = """
from bfsbench.variants.base import LevelKernelVariant


class Own(LevelKernelVariant):
    name = "{name}"
    aliases = ({alias!r},)
    summary = "x"
"""


def command(folders: Sequence[Path], *words: str, check: int = 1) -> Completed:
    """Run a command with the variants in these folders, and check its exit code."""
    variants = os.pathsep.join(map(str, folders))
    return bfsbench_with(variants, *words, cwd=PACKAGE.parent, check=check)


def test_a_variant_needs_a_name_and_a_summary(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN.format(name="mine", alias="my_own"))
    (tmp_path / "mine.cu").write_text("// mine: nothing\n")
    facts = command([tmp_path], "show", "mine", "--format", "json", check=0)
    told = [row["property"] for row in json.loads(facts.stdout)["variant"]["rows"]]
    assert {"summary", "layout"} <= set(told), "the layout has a default"
    assert not {"from", "frontier", "parallel unit", "work", "space"} & set(told)
    without = OWN.format(name="mine", alias="my_own").replace('    summary = "x"\n', "")
    (tmp_path / "mine.py").write_text(without)
    found = command([tmp_path], "list")
    assert found.stderr == "bfsbench: variant mine (mine.py) does not declare 'summary'\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\nnonsense\n", "line 2: NameError: name 'nonsense' is not defined"),
        ("class X(:\n", "SyntaxError: invalid syntax (broken.py, line 1)"),
        ("import nothing_like_this", "line 1: ModuleNotFoundError: No module named 'nothing_like_this'"),
        ("raise SystemExit('a\\nb')", "line 1: SystemExit: a b"),
    ],
)
def test_a_broken_module_is_one_line_and_the_others_are_listed(
    tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "broken.py").write_text(text)
    (tmp_path / "mine.py").write_text(OWN.format(name="mine", alias="my_own"))
    found = command([tmp_path], "list", "variants", "--format", "json")
    names = [line["name"] for line in json.loads(found.stdout)["variants"]["rows"]]
    assert names == sorted([*all_variants(), "mine"])
    comma = ", " if reason.startswith("line") else ": "
    assert found.stderr == f"bfsbench: cannot load variant module {tmp_path / 'broken.py'}{comma}{reason}\n"


def test_a_broken_module_is_refused_only_where_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "mine.py").write_text(OWN.format(name="mine", alias="my_own"))
    line = command([tmp_path], "list", "variants").stderr
    assert line.startswith("bfsbench: cannot load variant module") and line.count("\n") == 1
    planned = ("run", "--dataset", "soc-Epinions1", "--dry-run", "--variant")
    assert "1 point" in command([tmp_path], *planned, "mine", check=0).stdout
    for words in ((*planned, "broken"), (*planned, "all"), ("check", "all"), ("run", "--help-knobs", "all")):
        assert command([tmp_path], *words, check=2).stderr == line


def test_a_module_called_like_another_is_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "mine.py").write_text(OWN.format(name="mine", alias="my_own"))
    (first / "pull.py").write_text(OWN.format(name="my_pull", alias="mp"))
    found = command([first, second, first], "list")
    assert found.stderr.splitlines() == [
        f"bfsbench: {first / 'pull.py'} is called like {PACKAGE / 'variants' / 'pull.py'}: rename it",
        f"bfsbench: {second / 'mine.py'} is called like {first / 'mine.py'}: rename it",
    ]


@pytest.mark.parametrize(("name", "alias"), [("pull", "mine"), ("mine", "push"), ("hong", "mine")])
def test_a_name_or_alias_that_is_taken_is_refused(tmp_path: Path, name: str, alias: str) -> None:
    (tmp_path / "mine.py").write_text(OWN.format(name=name, alias=alias))
    found = command([tmp_path], "list")
    taken = alias if name == "mine" else name
    assert found.stderr == f"bfsbench: variant {name} (mine.py): another variant has the name '{taken}'\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    one_in(
        4,
        [
            ("name = 5", "'name' is of type int, not a str"),
            ("name = 'My-own'", "'name' is 'My-own': a name is lower-case letters"),
            ("name = 'own\\n'", "'name' is 'own\\n': a name is"),
            ("name = 'all'", "'name' is 'all', which is reserved"),
            ("aliases = 'push'", "'aliases' is of type str, not a tuple of names"),
            ("aliases = ('x', 5)", "'aliases': one is of type int, not a str"),
            ("aliases = ('X',)", "'aliases': one is 'X': a name is"),
            ("aliases = ('all',)", "'aliases': one is 'all', which is reserved"),
        ],
    ),
)
def test_a_wrong_name_is_one_line(tmp_path: Path, line: str, reason: str) -> None:
    assert refusal(tmp_path, line).startswith(f"bfsbench: variant class Own (mine.py): {reason}")


@pytest.mark.parametrize(
    ("line", "reason"),
    one_in(
        5,
        [
            ("family = ['bfs']", "'family' is not a str"),
            ("summary = 5", "'summary' is not a str"),
            ("origin = 'a comma is missing'", "'origin' is not a tuple of str"),
            ("origin = ('x', 5)", "'origin' is not a tuple of str"),
            ("layout = ['CSR']", "'layout' is not a tuple of str"),
            ("usual_block = '256'", "'usual_block' is not a positive int"),
            ("usual_block = 0", "'usual_block' is not a positive int"),
            ("usual_block = True", "'usual_block' is not a positive int"),
            ("usual_block = None", "'usual_block' is not a positive int"),
            ("knobs = Knob('W', 1, '', (1,))", "'knobs' is of type Knob, not a tuple of Knob"),
            ("knobs = ('WIDTH',)", "'knobs' holds a value of type str, not a Knob"),
            ("knobs = (Knob(5, 1, '', (1,)),)", "'knobs': 5 is not a name for a knob"),
            ("knobs = (Knob('width', 1, '', (1,)),)", "'knobs': 'width' is not a name for a knob"),
            ("knobs = (Knob('W\\n', 1, '', (1,)),)", "'knobs': 'W\\n' is not a name for a knob"),
            ("knobs = (Knob('W', 1, '', (1,)),) * 2", "'knobs' holds two knobs named W"),
            ("knobs = (Knob('W', None, '', (1,)),)", "'knobs': W has a default of type NoneType"),
            ("knobs = (Knob('W', 1, '', None),)", "'knobs': W has choices of type NoneType, not a tuple"),
            (
                "knobs = (Knob('W', 1, '', (1, '2')),)",
                "'knobs': W has choices of another type than its default",
            ),
            ("knobs = (Knob('W', 1, '', (2,)),)", "'knobs': W has a default that is not among its choices"),
            (
                "knobs = (Knob('W', 1, '', (), '0', 2),)",
                "'knobs': W has a minimum or maximum that is not a number",
            ),
            ("knobs = (Knob('W', 1, ''),)", "'knobs': W has neither choices nor a minimum and a maximum"),
            ("knobs = (Knob('W', 'a', ''),)", "'knobs': W has no choices"),
        ],
    ),
)
def test_a_wrong_attribute_is_one_line(tmp_path: Path, line: str, reason: str) -> None:
    assert refusal(tmp_path, line).startswith(f"bfsbench: variant mine (mine.py): {reason}")


def refusal(folder: Path, line: str, *words: str) -> str:
    """Return the one error line of a command that finds a variant whose class ends with this line."""
    head = "from bfsbench.variants.base import Knob\n"
    (folder / "mine.py").write_text(f"{head}{OWN.format(name='mine', alias='my_own')}    {line}\n")
    found = command([folder], *(words or ("run", "--dataset", "soc-Epinions1", "--dry-run")), check=2)
    assert found.stderr.count("\n") == 1
    return found.stderr


@pytest.mark.parametrize(("name", "program"), [("OUT", "run"), ("MIN_TIME", "tune"), ("SCALE", "reproduce")])
def test_a_knob_spelt_like_an_option_is_one_line(tmp_path: Path, name: str, program: str) -> None:
    line = f"knobs = (Knob({name!r}, 1, '', (1,)),)"
    said = refusal(tmp_path, line, program, "--help-knobs")
    option = "--" + name.lower().replace("_", "-")
    what = f"variant mine: knob {name} would be {option}, which is another option of 'bfsbench {program}'"
    assert said == f"bfsbench: {what}\n"


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    found = command([tmp_path / "gone"], "list")
    assert found.stderr == f"bfsbench: BFSBENCH_VARIANTS names {tmp_path / 'gone'}, which is not a folder\n"


def test_every_dataset_is_listed_with_counts_and_state() -> None:
    found = {line["name"]: line for line in rows("datasets")}
    assert list(found) == Catalogue.load().names()
    epinions = found["soc-Epinions1"]
    assert (epinions["num_vertices"], epinions["num_edges"]) == (75_879, 508_837)
    assert epinions["directed"] == "yes"
    assert found["europe_osm"]["state"] == "missing"
    assert found["Gen-SmallWorld"]["state"] == "generated"


def test_list_and_fetch_tell_the_same_state() -> None:
    told = invoke("fetch", "--list").stdout.splitlines()[2:]
    assert {line["name"]: line["state"] for line in rows("datasets")} == {
        line.split()[0]: line.split()[-1] for line in told
    }


def test_the_users_own_datasets_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    facts = 'family = "own"\ndescription = "d"\ndirected = true\ngenerator = "path"\nparameters = {n = 5}\n'
    own.write_text(f"[mine]\n{facts}")
    monkeypatch.setenv("BFSBENCH_DATASETS", str(own))
    assert "mine" in {line["name"] for line in rows("datasets")}


def test_a_broken_catalogue_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[mine]\nfamily = 3\n")
    monkeypatch.setenv("BFSBENCH_DATASETS", str(own))
    assert str(own) in refused(invoke("list", "datasets"))


def test_every_generator_parameter_is_listed() -> None:
    found = rows("generators")
    assert {line["generator"] for line in found} == set(GENERATORS)
    wanted = [(name, item.name) for name, made in GENERATORS.items() for item in made.parameters]
    assert [(line["generator"], line["parameter"]) for line in found if line["parameter"]] == wanted
    (scale,) = (line for line in found if (line["generator"], line["parameter"]) == ("kronecker", "scale"))
    assert (scale["default"], scale["legal_values"]) == ("required", "an integer from 0 to 30")


def test_without_a_name_variants_and_datasets_in_brief() -> None:
    lines = invoke("list").stdout.splitlines()
    assert [lines[i - 1] for i, line in enumerate(lines) if line and not line.strip("=")] == [
        "Variants",
        "Datasets",
    ]
    for name in (*all_variants(), *Catalogue.load().names()):
        assert any(line.startswith(name) for line in lines)


@pytest.mark.parametrize("what", list(LISTS))
def test_every_list_in_every_format(what: str) -> None:
    text = invoke("list", what).stdout
    assert max(map(len, text.splitlines())) <= 100
    lines = list(csv.DictReader(io.StringIO(invoke("list", what, "--format", "csv").stdout)))
    assert len(lines) == len(rows(what))
    assert invoke("list", what, "--format", "markdown").stdout.startswith(f"## {what.capitalize()}")


def test_csv_of_two_lists_is_refused() -> None:
    said = refused(invoke("list", "--format", "csv"))
    assert said == "csv holds one table, not 2 (variants, datasets): add one of their names, or use json"


def test_an_unknown_list_is_refused() -> None:
    assert invoke("list", "graphs").exit_code == 2


def test_no_command_pays_for_libraries_it_does_not_use() -> None:
    imports = "import sys, bfsbench.cli.results, bfsbench.cli.variants, bfsbench.cli.machines"
    code = f"{imports}; print({{'pandas', 'numpy', 'tabulate'}} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=PACKAGE.parent) == b"set()\n"


def offered(*words: str) -> list[str]:
    """Return the completions of the last word of a command line."""
    *before, last = words
    shell = ShellComplete(main, {}, "bfsbench", "_BFSBENCH_COMPLETE")
    return [item.value for item in shell.get_completions(before, last)]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("fetch", ""), Catalogue.load().names()),
        (("fetch", "soc-epin"), ["soc-Epinions1"]),
        (("fetch", "--family", "roa"), ["road"]),
        (("report", "--table", ""), list(TABLES)),
        (("report", "--table", "best,fail"), ["best,failures"]),
        (("report", "--table", "best,b"), []),
        (("report", "--variant", ""), list(all_variants())),
        (("report", "--variant", "pull,virt"), ["pull,virtual_warp"]),
        (("report", "--graph", "pull,soc-epin"), ["pull,soc-Epinions1"]),
        (("report", "--backend", "c"), ["cuda", "cuda-core", "cpu"]),
    ],
)
def test_names_are_completed(words: tuple[str, ...], names: list[str]) -> None:
    assert offered(*words) == names


def test_a_broken_catalogue_offers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.toml").write_text("[broken")
    monkeypatch.setenv("BFSBENCH_DATASETS", str(tmp_path / "own.toml"))
    assert offered("fetch", "soc") == []
    assert offered("fetch", "--family", "r") == []


def test_every_listed_publication_has_a_reference() -> None:
    references = (PACKAGE.parent / "docs" / "references.bib").read_text()
    keys = tuple(re.findall(r"^@\w+\{([\w-]+),$", references, re.MULTILINE))
    headings = {row["paper"] for row in rows("papers")} - {"this project"}
    begin = {name: name.removeprefix("the ").replace(" ", "") for name in headings}
    assert [name for name in headings if not begin[name].startswith(keys)] == []
