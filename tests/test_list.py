"""``bfsbench list`` against the declarations it is made from."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bfsbench.cli import main
from bfsbench.graphs.catalogue import Catalogue
from bfsbench.graphs.generators import GENERATORS
from bfsbench.listing import LISTS
from bfsbench.paths import PACKAGE
from bfsbench.variants import all_variants


def listed(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["list", *arguments])


def rows(what: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads(listed(what, "--format", "json").stdout)[what]["rows"]
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


def test_every_dataset_is_listed_with_counts_and_state() -> None:
    found = {line["name"]: line for line in rows("datasets")}
    assert list(found) == Catalogue.load().names()
    epinions = found["soc-Epinions1"]
    assert (epinions["num_vertices"], epinions["num_edges"]) == (75_879, 508_837)
    assert epinions["directed"] == "yes"
    assert found["europe_osm"]["state"] == "missing"
    assert found["Gen-SmallWorld"]["state"] == "generated"


def test_list_and_fetch_tell_the_same_state() -> None:
    told = CliRunner().invoke(main, ["fetch", "--list"]).stdout.splitlines()[2:]
    assert {line["name"]: line["state"] for line in rows("datasets")} == {
        line.split()[0]: line.split()[-1] for line in told
    }


def test_the_users_own_datasets_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[mine]\nfamily = "own"\ndescription = "d"\ndirected = true\n'
        'generator = "path"\nparameters = {n = 5}\n'
    )
    monkeypatch.setenv("BFSBENCH_DATASETS", str(own))
    assert "mine" in {line["name"] for line in rows("datasets")}


def test_a_broken_catalogue_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[mine]\nfamily = 3\n")
    monkeypatch.setenv("BFSBENCH_DATASETS", str(own))
    result = listed("datasets")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert str(own) in line


def test_every_generator_parameter_is_listed() -> None:
    found = rows("generators")
    assert {line["generator"] for line in found} == set(GENERATORS)
    wanted = [(name, item.name) for name, made in GENERATORS.items() for item in made.parameters]
    assert [(line["generator"], line["parameter"]) for line in found if line["parameter"]] == wanted
    (scale,) = (line for line in found if (line["generator"], line["parameter"]) == ("kronecker", "scale"))
    assert (scale["default"], scale["legal_values"]) == ("required", "an integer from 0 to 30")


def test_without_a_name_variants_and_datasets_in_brief() -> None:
    lines = listed().stdout.splitlines()
    assert [lines[i - 1] for i, line in enumerate(lines) if line and not line.strip("=")] == [
        "Variants",
        "Datasets",
    ]
    for name in (*all_variants(), *Catalogue.load().names()):
        assert any(line.startswith(name) for line in lines)


@pytest.mark.parametrize("what", list(LISTS))
def test_every_list_in_every_format(what: str) -> None:
    text = listed(what).stdout
    assert max(map(len, text.splitlines())) <= 100
    lines = list(csv.DictReader(io.StringIO(listed(what, "--format", "csv").stdout)))
    assert len(lines) == len(rows(what))
    assert listed(what, "--format", "markdown").stdout.startswith(f"## {what.capitalize()}")


def test_csv_of_two_lists_is_refused() -> None:
    result = listed("--format", "csv")
    assert result.exit_code == 2
    assert result.stderr == (
        "bfsbench: csv holds one table, not 2 (variants, datasets): add one of their names, or use json\n"
    )


def test_an_unknown_list_is_refused() -> None:
    assert listed("graphs").exit_code == 2


def test_no_command_pays_for_libraries_it_does_not_use() -> None:
    loaded = "{'pandas', 'numpy', 'tabulate'} & set(sys.modules)"
    imports = "import sys, bfsbench.cli.report, bfsbench.cli.list, bfsbench.cli.doctor"
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}; print({loaded} or 'none')"],
        capture_output=True,
        text=True,
        check=True,
        cwd=PACKAGE.parent,
    )
    assert done.stdout.strip() == "none"
