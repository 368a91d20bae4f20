"""Tests the catalogue of this package and the user's own entries."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bfsbench.graphs.catalogue import Catalogue, read_catalogue
from bfsbench.graphs.load import resolve
from bfsbench.support import paths
from bfsbench.support.errors import UsageError

Entries = Callable[[str], Path]

pytestmark = pytest.mark.usefixtures("home")

MINE = """
[tiny]
family = "mine"
description = "five vertices"
directed = true
sources = [{ url = "http://localhost/tiny.txt.gz", format = "snap" }]
"""

TABLES = {
    "Springer Fig. 6": ["soc-Slashdot0811", "wiki-Talk", "roadNet-CA"],
    "BFS-4K Table 1": [
        *("amazon0505", "web-Google", "com-youtube", "as-skitter", "roadNet-CA", "soc-LiveJournal1"),
        *("Gen-ForestFire", "Gen-SmallWorld", "europe_osm", "hugebubbles-00020", "nlpkkt160", "audikw_1"),
        *("cage15", "kkt_power", "coPapersCiteseer", "kron_g500-logn20"),
        *("random.2Mv.128Me", "rmat.2Mv.128Me"),
    ],
    "Luo Table 1": [f"luo-grid-{millions}M" for millions in (1, 2, 5, 7, 9, 10)],
    "Luo Table 2": [f"USA-road-d.{part}" for part in ("NY", "FLA", "E", "W")],
    "Luo Table 3": [f"luo-scale-free-{millions}M" for millions in (1, 5, 10)],
    "PMPP Fig. 15.1": ["pmpp-example"],
}


@pytest.mark.parametrize("table", TABLES)
def test_every_graph_of_the_papers_is_there(table: str) -> None:
    listed = [dataset.name for dataset in Catalogue.load() if table in dataset.papers]
    assert sorted(listed) == sorted(TABLES[table])


def test_the_sizes_densities_and_degrees_of_cse6230_are_there() -> None:
    dense = [dataset for dataset in Catalogue.load().of_kind("dense") if dataset.parameters]
    of = {"size": "nodes", "density": "density", "degree": "degree"}
    found = {
        axis: sorted(d.parameters[key] for d in dense if f"CSE 6230 BFS {axis} table" in d.papers)
        for axis, key in of.items()
    }
    assert found["size"] == [1024, 2048, 4096, 8192, 10240, 16384, 20480, 32768, 40960]
    assert found["density"] == [20, 30, 40, 50, 60, 70, 80]
    assert found["degree"] == [25, 35, 50, 70, 80, 90, 100]


def test_counts_are_those_of_the_papers() -> None:
    catalogue = Catalogue.load()
    for name, vertices, edges in (
        ("soc-Slashdot0811", 77_360, 905_468),
        ("wiki-Talk", 2_394_385, 5_021_410),
        ("roadNet-CA", 1_965_206, 5_533_214),
    ):
        assert catalogue.get(name).counts(None) == (vertices, edges)
    for name, vertices in (("NY", 264_346), ("FLA", 1_070_376), ("E", 3_598_623), ("W", 6_262_104)):
        assert catalogue.get(f"USA-road-d.{name}").num_vertices == vertices


def test_every_entry_can_be_asked_for() -> None:
    for dataset in Catalogue.load():
        direction = "directed" if dataset.directed else "symmetrised"
        assert resolve(dataset.name).full_name == f"{dataset.name}:{direction}"


def test_downloaded_graphs_say_how_many_vertices_and_edges_and_under_which_terms() -> None:
    for dataset in Catalogue.load():
        if not dataset.generated:
            assert dataset.terms
            assert all(None not in dataset.counts(source) for source in dataset.sources)
            assert len([source for source in dataset.sources if source.url]) >= 2


def test_bundled_files_are_what_their_entries_say() -> None:
    bundled = [s for dataset in Catalogue.load() for s in dataset.sources if s.bundled]
    assert {source.filename for source in bundled} == {
        path.name for path in paths.BUNDLED.iterdir() if path.suffix == ".xz"
    }
    for source in bundled:
        content = (paths.BUNDLED / source.filename).read_bytes()
        assert len(content) == source.size
        assert hashlib.sha256(content).hexdigest() == source.sha256


def test_names_and_aliases_are_found_in_any_case() -> None:
    catalogue = Catalogue.load()
    assert catalogue.get("WIKI-TALK").name == catalogue.get("wikitalk").name == "wiki-Talk"
    assert catalogue.get("hugehubbles-00020").name == "hugebubbles-00020"


def test_a_misspelt_name_brings_near_misses() -> None:
    with pytest.raises(UsageError, match=r"unknown dataset 'soc-Slashdot': did you mean .*soc-Slashdot0811"):
        Catalogue.load().get("soc-Slashdot")


def test_an_unknown_family_brings_the_families() -> None:
    with pytest.raises(UsageError, match="unknown family 'rod': choose one of social, web"):
        Catalogue.load().of_kind("rod")


@pytest.mark.parametrize(
    ("name", "asked"), [("tiny", "Tiny"), ("wiki-Talk", "wiki-talk"), ("slashdot", "Slashdot")]
)
def test_entries_of_the_user_are_added_and_come_first(entries: Entries, name: str, asked: str) -> None:
    """The last name is a shipped alias."""
    entries(MINE.replace("tiny", name))
    catalogue = Catalogue.load()
    assert catalogue.get(asked).description == "five vertices"
    assert catalogue.get("roadNet-CA").num_vertices == 1_965_206


def test_the_configuration_folder_is_looked_into(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "bfsbench"
    folder.mkdir(parents=True)
    (folder / "datasets.toml").write_text(MINE)
    assert "tiny" in Catalogue.load()


def test_a_catalogue_that_is_named_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BFSBENCH_DATASETS", str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match=r"BFSBENCH_DATASETS names .*none\.toml, which does not exist"):
        Catalogue.load()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('family = "mine"', ""), "[tiny]: Object missing required field `family`"),
        (("directed = true", 'directed = "yes"'), "[tiny]: Expected `bool`, got `str` - at `directed`"),
        (("directed = true", "directed = true\nweight = 3"), "unknown field `weight`"),
        (("directed = true", "directed = true\nnum_vertices = -1"), "at `num_vertices`"),
        (('format = "snap"', 'format = "csv"'), "at `sources[0].format`"),
        (('format = "snap"', 'format = "snap", sha256 = "12"'), "at `sources[0].sha256`"),
        (("url =", "bundled = 'x.gz', url ="), "give each of 'sources' one of 'url', 'bundled' and 'file'"),
        (("http://localhost", "ftp://localhost"), "'url' must begin with http:// or https://"),
        (("tiny.txt.gz", ""), "does not end in a file name"),
        (("directed = true", "directed = true\ngenerator = 'path'"), "give either 'sources' or 'generator'"),
        (("directed = true", "directed = false"), "needs 'orientation'"),
        (("[tiny]", '["a:b"]'), "name 'a:b' may hold only"),
        (("[tiny]", "[tiny]\naliases = ['a b']"), "name 'a b' may hold only"),
        (("[tiny]", "loose = 1\n[tiny]"), "key 'loose' stands outside any [dataset]"),
        (("[tiny]", "[tiny]\nname = 'huge'"), "unknown field `name`"),
        (("[tiny]", "[tiny"), "at line 2"),
    ],
)
def test_mistakes_are_named_by_file_and_key(entries: Entries, change: tuple[str, str], message: str) -> None:
    path = entries(MINE.replace(*change))
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        Catalogue.load()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_name_given_twice_is_refused(entries: Entries) -> None:
    twice = MINE + MINE.replace("[tiny]", '[other]\naliases = ["TINY"]')
    with pytest.raises(UsageError, match=r"\[other\]: the name 'TINY' already belongs to \[tiny\]"):
        read_catalogue(entries(twice))
