"""Defines hooks of MkDocs, which add pages from outside ``docs`` and generated pages, and adapt links.

A page from outside ``docs`` is read at its place in the repository. Its path in the site is its path in the
repository.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import gallery  # noqa: E402  (it is beside this file, which MkDocs loads by its path)

from bfsbench.bench.options import DEFAULTS, OPTIONS  # noqa: E402
from bfsbench.support.errors import spelt  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

PLACED = ("SECURITY.md", "CHANGELOG.md", "results/README.md", "bfsbench/emulator/README.md")
"""Pages of the repository that the site shows."""

FOLDERS = ("results/h200", "results/h200/reproduce", "cuda_src")
"""Folders whose pages and pictures the site shows as well."""

_MANY = 9
"""A table whose lines have more than this number of bars is wide."""

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages from outside ``docs`` and the generated pages. Returns all files."""
    for path in _placed():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    files.append(File.generated(config, "gallery.md", content=gallery.page(ROOT / "results" / "h200")))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.py")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=_notebook(path)))
    reproduced = sorted(path.stem for path in (ROOT / "results/h200/reproduce").glob("*.md"))
    lines = "".join(f"- [{name}]({name}.md)\n" for name in reproduced)
    index = f"# The papers' tables and figures\n\nMade by `bfsbench reproduce NAME` on an H200.\n\n{lines}"
    files.append(File.generated(config, "results/h200/reproduce/README.md", content=index))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Returns the page with a table of options and with links that lead to pages of the site. A page with a
    wide table has no table of contents beside it, so that the table has more room."""
    if max((line.count("|") for line in markdown.splitlines() if line.startswith("|")), default=0) > _MANY:
        page.meta["hide"] = [*page.meta.get("hide", ()), "toc"]
    markdown = markdown.replace("<!-- options -->", _options())
    return _LINK.sub(lambda match: _link(match, page.file.src_uri, files), markdown)


def _options() -> str:
    """Returns a table of the measuring options, made from their declarations."""
    cells = [
        (f"`{name}`", f"`{DEFAULTS[name]!r}`", spelt(option.help, str)) for name, option in OPTIONS.items()
    ]
    rows = (" | ".join(row).join(("| ", " |")) for row in (("option", "default", "meaning"), *cells))
    head, *body = rows
    return "\n".join((head, "|---|---|---|", *body))


def _notebook(path: Path) -> str:
    """Returns a notebook in Jupytext's percent format as a page: its prose, and its cells as code."""
    parts = [f"*Open `docs/notebooks/{path.name}` in Jupyter with Jupytext to run it.*"]
    for cell in path.read_text(encoding="utf-8").split("\n# %%")[1:]:
        kind, _, body = cell.partition("\n")
        if "[markdown]" in kind:
            parts.append("\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines()))
        elif not body.startswith("assert"):  # cells with assertions are for the tests
            parts.append(f"```python\n{body.strip()}\n```")
    parts[:2] = parts[1::-1]  # the title comes first
    return "\n\n".join(parts) + "\n"


def _placed() -> list[str]:
    """Returns the paths of the pages and pictures from outside ``docs`` that belong to the site."""
    found = list(PLACED)
    for folder in FOLDERS:
        pattern = "*/*.md" if folder == "cuda_src" else "*.md"
        for file in (*(ROOT / folder).glob(pattern), *(ROOT / folder).glob("*.png")):
            found.append(file.relative_to(ROOT).as_posix())
    return sorted(found)


def _link(match: re.Match[str], source: str, files: Files) -> str:
    """Returns a link of the page ``source`` as it stands in the site.

    A link to a page or picture of the site leads there. A link to another file of the repository becomes its
    text and the file's path. All other links are unchanged, so that MkDocs reports missing targets.
    """
    picture, text, target = match.groups()
    path, _, anchor = target.partition("#")
    if not path or "://" in path or target.startswith("mailto:"):
        return match[0]
    folder = dirname(source)
    if files.get_file_from_path(normpath(join(folder, unquote(path)))):
        return match[0]
    # pages of docs are at the root of the site, one folder above their place in the repository
    inside = normpath(join("docs" if _is_of_docs(source) else "", folder, unquote(path)))
    if inside == "README.md":
        inside = "index.md"
    elif inside.startswith("docs/"):
        inside = inside.removeprefix("docs/")
    if files.get_file_from_path(inside):
        return f"{picture}[{text}]({relpath(inside, folder or '.')}{'#' + anchor if anchor else ''})"
    index = f"{inside}/README.md"
    if files.get_file_from_path(index):
        return f"[{text}]({relpath(index, folder or '.')})"
    return f"{text} (`{inside}`)" if (ROOT / inside).exists() else match[0]


def _is_of_docs(source: str) -> bool:
    return (ROOT / "docs" / source).exists()
