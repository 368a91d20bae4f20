"""Pages for readers: the gallery, the examples, the notebooks, and numbers that are those of the rows."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bfsbench.cli import COMMANDS
from bfsbench.experiments import bundled, find
from bfsbench.experiments.outcome import read_outcome
from bfsbench.experiments.tables import tables
from bfsbench.experiments.texts import fill_in
from bfsbench.graphs.load import load
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.reports.table import render
from bfsbench.support.paths import CUDA_SRC
from bfsbench.variants import all_variants
from tests.report.chromium import chromium
from tests.report.result_rows import emulated_row, frame, host_row, row

ROOT = CUDA_SRC.parent


def module_of_the_site(name: str) -> ModuleType:
    """A module that makes a part of the site; it is no part of the package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "site" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    return module_of_the_site("gallery")


def test_ratios_are_to_the_best_other_published_kernel(gallery: ModuleType, tmp_path: Path) -> None:
    rows = [row(variant=name, search_ms=ms) for name, ms in (("pull", 2), ("luo", 3), ("adaptive", 1))]
    others = [host_row(search_ms=0.5), emulated_row(variant="push_frontier", search_ms=0.1)]
    found = gallery.ratios(frame(tmp_path, [*rows, *others]))
    assert found["adaptive"] == {"grid:directed": 2}  # host programs and emulated kernels are no rivals
    assert found["pull"] == {"grid:directed": 1.5}  # nor is a search of our own
    assert found["cpu_queue"] == {"grid:directed": 4}


def test_the_gallery_has_every_search_with_its_figure_and_kernel(gallery: ModuleType) -> None:
    variants = list(all_variants().values())
    page = gallery.render(variants, {"pull": {"lattice(rows=3,columns=4):symmetrised": 1.5}}, "`rows.csv`")
    sections = {part.split()[0]: part for part in page.split("\n## ")[1:]}
    assert list(sections) == [variant.name for variant in variants]
    for variant in variants:
        section = sections[variant.name]
        assert all(origin in section for origin in variant.origin)
        file = section.split("| kernel | `" if not variant.host else "| program | `")[1].split("`")[0]
        assert (ROOT / file).exists()
    assert "| lattice(rows=3,columns=4) | 1.50 |" in sections["pull"]
    assert "Not among the rows." in sections["luo"]


def write_example(folder: Path, place: int, name: str) -> None:
    """Writes the two files of an example in docs/kernel.md into a folder. ``place`` counts from 1."""
    text = (ROOT / "docs" / "kernel.md").read_text()
    for kind, file in (("cpp", f"{name}.cu"), ("python", f"{name}.py")):
        (folder / file).write_text(text.split(f"```{kind}\n")[place].split("```")[0])


@pytest.mark.parametrize(("place", "name"), [(1, "mine"), (2, "wide")])
def test_the_examples_of_ones_own_kernel_are_right(tmp_path: Path, place: int, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    write_example(folder, place, name)
    command = [sys.executable, "-m", "bfsbench", "check", str(folder), "--seeds", "2", "--dataset", "pmpp"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stdout) == (0, f"{name}: nothing found in 2 runs, 2 declared benign\n"), (
        done
    )


PAGES = {
    "README.md": "README.md.j2",
    "results/README.md": "results.md.j2",
    "results/h200/limits.md": "limits.md.j2",
    "results/h200/entry-clocks.md": "entry-clocks.md.j2",
    "results/cpu/closeness.md": "closeness.md.j2",
}


def python(folder: Path, *words: str) -> str:
    """Python's stderr, with the folder's variants."""
    environment = os.environ | {"BFSBENCH_VARIANTS": str(folder), "PYTHONPATH": str(ROOT)}
    environment.pop("PYTEST_XDIST_WORKER", None)  # what is started is nobody's worker
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Returns a folder with the Python file of docs/kernel.md and a kernel of ours that fits it."""
    write_example(tmp_path, 1, "mine")
    kernel = (ROOT / "cuda_src" / "frontier_numbers.cu").read_text()
    (tmp_path / "mine.cu").write_text(kernel.replace("frontier_numbers", "mine"))
    return tmp_path


def test_the_tutorial_has_the_tables_of_the_commands() -> None:
    made = [ROOT / "results/h200/reproduce/pmpp-trace.md", ROOT / "docs/site/explain.md"]
    sections = [part.partition("\n") for file in made for part in file.read_text().split("\n## ")[1:]]
    bodies = {heading: body.strip() for heading, _, body in sections}
    text = (ROOT / "docs" / "tutorial.md").read_text()
    quoted = re.findall(r"<!-- table: (.+?) -->\n\n(.*?)\n\n<!-- end of table -->", text, re.DOTALL)
    assert len(quoted) == text.count("<!-- table: ") >= 9
    assert all(bodies[title] == table for title, table in quoted)


def test_the_tutorial_shows_lines_of_the_kernels() -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text()
    quoted = re.findall(r"<!-- code: (.+?) -->\n\n```cuda\n(.*?)\n```", text, re.DOTALL)
    assert len(quoted) == text.count("<!-- code: ") == 4
    for name, code in quoted:
        source = [line.strip() for line in (CUDA_SRC / name).read_text().splitlines()]
        assert "\n".join(line.strip() for line in code.splitlines()) in "\n".join(source), name


def test_the_tutorial_draws_each_step_of_push_pull_and_queue() -> None:
    steps = module_of_the_site("steps")
    assert steps.PICTURE.read_text() == steps.render(), "python docs/site/steps.py"
    graph = load("pmpp-example")
    levels = reference_levels(graph, 0)
    assert steps.work("push", graph, levels, 1) == ({1, 2}, {(1, 3), (1, 4), (2, 5), (2, 6), (2, 7)})
    assert steps.work("pull", graph, levels, 2) == ({8}, {(3, 8)})
    assert "(pictures/pmpp-steps.svg)" in (ROOT / "docs" / "tutorial.md").read_text()


def test_the_readme_has_every_command() -> None:
    page = (ROOT / "README.md").read_text()
    assert re.findall(r"^\| `bfsbench ([a-z]+)` \| \w", page, re.MULTILINE) == [*COMMANDS]


def test_the_first_screen_of_the_readme_has_numbers_in_its_table_and_commands_alone() -> None:
    first = (ROOT / "README.md").read_text().split("\n## ")[0]
    assert first.count("```\n") == 4 and "](results/h200/bars.png)" in first
    programs = re.findall(r"^\| (.*?) \| [CG]PU \|", first, re.MULTILINE)
    assert programs == ["BLEST", "GSWITCH", "GAP", "PASGAL", "Gunrock"], "all that ran on many graphs"
    prose = re.sub(r"```.*?```|^[|!].*?$", "", first, flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"\d", re.sub("H200|L2", "", prose))


def test_the_first_screen_of_the_readme_names_the_limits_of_its_table() -> None:
    first, own, rest = (ROOT / "README.md").read_text().split("\n## ")[:3]
    assert own.startswith("Your own CUDA program") and "bfsbench check program.cu\n```" in own
    assert "fit into an H200's L2 cache" in first and "`resident_parts`" in first
    assert re.search(r"measured on 20\d\d-\d\d-\d\d .*, at commits [0-9a-f]{7}", rest)


LINK = re.compile(r"\]\(([^)\s#:]*)(?:#([^)\s]+))?\)")


@pytest.mark.parametrize("folder", [".", "docs", "results"])
def test_links_of_pages_work_in_a_plain_checkout(folder: str) -> None:
    pages = sorted((ROOT / folder).glob("*.md"))
    assert pages
    broken = []
    for page in pages:
        for path, anchor in LINK.findall(
            re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
        ):
            target = page.parent / path if path else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append((page.name, path, anchor))
    assert not broken


def anchors(page: Path) -> set[str]:
    """Returns the anchors that the headings of a page have on GitHub and in the site."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


BROKEN_WORDS = """() => [...document.querySelectorAll("article :is(th, td)")].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const range = document.createRange(), broken = [];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    for (const word of node.data.matchAll(/[0-9][0-9.,]*|[A-Za-z]+/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  return broken;
})"""
"""Returns the words and numbers in tables of a page that are broken over two lines."""
BEYOND = "() => document.documentElement.scrollWidth - window.innerWidth"
"""Returns by how many pixels a page is wider than the window."""


@pytest.mark.exhaustive
def test_tables_of_the_site_break_no_word_and_widen_no_page(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra 'docs' builds the site")
    playwright_api = pytest.importorskip("playwright.sync_api", reason="the extra 'browser' opens pages")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(tmp_path)], cwd=ROOT, check=True)
    program, needed = chromium()
    options = {"executable_path": program, "args": ["--no-sandbox", "--disable-gpu"], "env": {**needed}}
    colours = set()
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(**options)
        for scheme, width in (("light", 1920), ("dark", 1280), ("light", 390)):
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            for path in sorted(tmp_path.rglob("index.html")):
                page.goto(path.as_uri())
                page.wait_for_function("document.fonts.status === 'loaded'")
                assert (page.evaluate(BROKEN_WORDS), max(0, page.evaluate(BEYOND))) == ([], 0), path
            colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2


def test_the_example_has_at_most_twelve_lines(mine: Path) -> None:
    lines = (mine / "mine.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 12


def test_the_example_passes_the_tests_of_variants(mine: Path, cache: Path) -> None:
    (mine / "pytest" / "d").mkdir(parents=True)
    (mine / "pytest" / "d" / "compiled").symlink_to((cache / "native").resolve())
    words = ("-n", "0", "-q", "-k", "mine", "-o", f"cache_dir={mine / 'pytest'}", "--rootdir", str(ROOT))
    python(mine, "-m", "pytest", *words, str(ROOT / "tests" / "test_variants.py"))


def test_the_example_is_swept_like_the_others(mine: Path) -> None:
    words = "run --variant mine --dataset path(n=9) --backend cpu --block 32,64 --repeats 1 --out r.csv"
    assert "2 points: 2 ok" in python(mine, "-m", "bfsbench", *words.split())


@pytest.mark.exhaustive
@pytest.mark.parametrize(("page", "template"), PAGES.items())
def test_pages_say_what_the_rows_say(page: str, template: str) -> None:
    text = fill_in(ROOT / "docs" / "text" / template, ROOT / "results", COMMANDS)
    assert (ROOT / page).read_text() == text, f"bfsbench text docs/text/{template} --out {page}"


@pytest.mark.exhaustive
def test_pages_of_the_papers_experiments_say_what_the_rows_say() -> None:
    results, checked = ROOT / "results", 0
    for rows in sorted(results.glob("*/reproduce/*.csv")):
        if rows.stem not in bundled() or (experiment := find(rows.stem)).needs_graphs:
            continue
        text = render(tables(read_outcome(experiment, [rows], {}, results)), "markdown")
        page = rows.with_suffix(".md")
        assert page.read_text().startswith(text), f"bfsbench reproduce {rows.stem} --rows {rows} --out DIR"
        checked += 1
    assert checked


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = jupytext.read(path)
    nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(ROOT)}}).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 4 and "assert" in code[-1].source
    assert all(cell.execution_count and cell.outputs for cell in code[:-1])


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_as_a_script(path: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout, done.stderr
