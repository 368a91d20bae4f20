"""Shell completions."""

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from bfsbench.cli import main
from bfsbench.graphs.catalogue import Catalogue
from bfsbench.reports import TABLES
from bfsbench.variants import all_variants


def offered(*words: str) -> list[str]:
    """Completions of the last word of a command line."""
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
