"""Lists all builds of the project's kernels, for the scripts that compile them.

    python tests/benchmarks/kernel_builds.py

Prints the builds of the package that Python imports, as JSON. The macros of a build come from that package's
own host loops, which are constructed on a device that compiles nothing. A class is found by its name in
whichever module declares it, so that this script lists builds of commits with different modules.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np

import bfsbench

PACKAGE = Path(bfsbench.__file__).parent
_VERTICES, _DEGREE = 1 << 13, 8
_LIMITS = SimpleNamespace(
    warp_size=32,
    memory=1 << 30,
    max_threads_per_block=1024,
    max_grid=2**31 - 1,
    num_multiprocessors=132,
    max_threads_per_multiprocessor=2048,
    max_blocks_per_multiprocessor=32,
    blocks_per_cluster=16,
    shared_memory_per_block=48 << 10,
    shared_memory_per_block_optin=227 << 10,
    shared_memory_per_multiprocessor=228 << 10,
    reserved_shared_memory=1 << 10,
)
"""Limits of an H200."""


@dataclass(frozen=True)
class Build:
    """A kernel file and the macros that it is compiled with."""

    file: str
    """Its name without ``.cu``."""
    setting: str
    """What differs from the defaults, such as ``TILE_SIZE=64``, and ``wide`` for 64-bit offsets."""
    macros: tuple[tuple[str, int | float | str], ...]
    child_kernels: bool = False

    def __str__(self) -> str:
        return f"{self.file} {self.setting}".strip()


class _ModuleAsked(Exception):  # noqa: N818
    """A host loop asks its device for a module."""

    def __init__(self, source: Path, defines: dict[str, Any]) -> None:
        self.source, self.defines = source, defines


def _ask(source: Path, defines: dict[str, Any], **_options: Any) -> None:
    raise _ModuleAsked(source, defines)


class _Graph:
    """A regular graph with rows that fit records, on a device that allocates and compiles nothing."""

    def __init__(self, wide: bool) -> None:
        offsets = np.arange(_VERTICES + 1, dtype=np.int64 if wide else np.int32) * _DEGREE
        arrays = {"row_offsets": offsets, "column_offsets": offsets}
        self.device, self.column_offsets = MagicMock(limits=_LIMITS, module=_ask), offsets
        self.host_graph = SimpleNamespace(**arrays, num_vertices=_VERTICES, num_edges=int(offsets[-1]))

    def once(self, make: Callable[[_Graph], Any]) -> Any:
        return make(self)


class NotDeclaredError(Exception):
    """The package lacks a declaration."""


@cache
def declared(declaration: str) -> Any:
    """Returns what the package declares by words such as ``def all_variants``. Raises NotDeclaredError."""
    pattern = re.compile(rf"^{re.escape(declaration)}\b", re.MULTILINE)
    for file in sorted(PACKAGE.rglob("*.py")):
        if pattern.search(file.read_text()):
            words = [PACKAGE.name, *file.relative_to(PACKAGE).with_suffix("").parts]
            module = importlib.import_module(".".join(words).removesuffix(".__init__"))
            return getattr(module, re.split(r"\W", declaration)[1])
    raise NotDeclaredError(f"no module of {PACKAGE} has '{declaration}'")


_HELPERS: dict[str, Callable[[Any, _Graph], Any]] = {
    "class ExpectedAnswer": lambda made, graph: made(graph.device, np.zeros(1, np.int32)),
    "class TreeCheck": lambda made, graph: made(graph.device, 1, None, None, 1, False),
    "class DeviceParents": lambda made, graph: made(graph, np.zeros(1, np.int32)),
    "class Growing": lambda made, graph: made(graph, 4096),
    "class _Packing": lambda made, graph: made(graph, SimpleNamespace(sizes=np.ones(1))),
    "def likely_parents_first": lambda made, graph: made(graph),
    "def with_records": lambda made, graph: made(graph),
    "def kernel(device": lambda made, graph: made(graph.device, ""),
}
"""Host code that asks for the kernel files which are not a variant's own."""


def listed() -> Iterator[Build]:
    """Yields the package's builds. Each file is built at the defaults and with every other value of each
    knob, with narrow and with wide offsets. Builds of different settings can have equal macros."""
    for wide in (False, True):
        graph, suffix = _Graph(wide), " wide" if wide else ""
        for variant in declared("def all_variants")().values():
            if hasattr(variant, "source_files") and variant.name in {f.stem for f in variant.source_files()}:
                for setting, macros in _macros(variant, graph):
                    yield Build(
                        variant.name, setting + suffix, tuple(sorted(macros.items())), variant.child_kernels
                    )
        for declaration, ask in _HELPERS.items():
            try:
                ask(declared(declaration), graph)
            except _ModuleAsked as asked:
                yield Build(asked.source.stem, suffix, tuple(sorted(asked.defines.items())))
            except NotDeclaredError:
                continue  # by this commit


def _macros(variant: Any, graph: _Graph) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the settings of a variant, with the macros that its host loop defines for each."""
    changes: list[tuple[str, dict[str, Any], dict[str, Any]]] = [("", {}, {})]
    for knob in variant.knobs:
        others = (value for value in knob.choices or (knob.minimum, knob.maximum) if value != knob.default)
        changes += [(f"{knob.name}={value}", {knob.name: value}, {}) for value in others]
    changes.append(("block=384", {}, {"block": 384}))
    changes += [(name, {}, {name: True}) for name in ("tracks", "counter_buffer") if _has(variant, name)]
    for setting, knobs, given in changes:
        block = given.pop("block", variant.usual_block)
        values = variant.knob_values(knobs)
        program = variant(SimpleNamespace(graph=graph, grid=None, block=block, knobs=values))
        vars(program).update(given)
        try:
            yield setting, program.defines()
        except declared("class LaunchError"):
            continue  # records of short rows have no place beside a tree or wide offsets


def _has(variant: Any, name: str) -> bool:
    return bool(variant.counters) if name == "counter_buffer" else hasattr(variant, name)


def all_builds() -> list[Build]:
    """Returns the builds of the imported package, without builds that repeat the macros of another build."""
    found: dict[object, Build] = {}
    for build in listed():
        found.setdefault((build.file, build.macros), build)
    return list(found.values())


def compile_cubin(build: Build, cuda_src: Path, arch: str, target: Path) -> str:
    """Compile for an architecture (``sm_90``). Returns the output of nvcc and ptxas.

    Raises RuntimeError with their output if they fail, and for a file that does not exist.
    """
    source = next(cuda_src.rglob(f"{build.file}.cu"), None)
    if source is None:
        raise RuntimeError(f"{build}: there is no {build.file}.cu")
    options = f"-cubin -arch={arch} -std=c++17 -O3 -Xptxas=-v".split()
    command = [str(declared("def find_nvcc")()), *options, "-o", str(target)]
    command += [f"-I{folder}" for folder in (source.parent, cuda_src / "common", cuda_src)]
    command += [f"-D{name}={value}" for name, value in build.macros]
    if build.child_kernels:
        command.append("-rdc=true")
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{build} for {arch}: {done.stderr.strip()}")
    return done.stderr


if __name__ == "__main__":
    print(json.dumps([asdict(build) for build in listed()]))
