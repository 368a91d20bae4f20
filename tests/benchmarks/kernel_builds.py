"""All builds of the project's kernels, for the scripts that compile all of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bfsbench.toolchain import find_nvcc
from bfsbench.variants import all_variants
from bfsbench.variants.base import KernelProgram, KernelVariant
from bfsbench.variants.short_rows import RECORD

_MACROS: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "adaptive": {
        "CLUSTER_SIZE": (16, 1, 2, 4, 8),
        "SHORT_ROWS": (0, 1),
        "MANY_VERTICES": (0, 1),
    },  # their defaults depend on the graph
    "bfs4k": {"CHILD_KERNELS": (1, 0)},
    "apsp_fw": {"TRACKS": (0, 1)},
    "apsp_fw_blocked": {"TRACKS": (0, 1)},
    "apsp_min_plus": {"TRACKS": (0, 1)},
    "resident_parts": {"BLOCK": (512, 384), "GROUPS_A_THREAD": (2,)},
}
"""Values of macros that host loops define, the usual one first."""
_OTHER_FILES: Mapping[str, Mapping[str, int]] = {
    "grow_parts": {},
    "likely_parents": {"LONG_ROW": 1024},
    "pack_parts": {"TABLE_BITS": 13, "TABLE": 8192, "MAX_GHOSTS": 6144},
    "parents": {"NO_PARENT": -1},
    "probe": {"CHAINS": 32},
    "short_rows": {"RECORD": RECORD, "RECORDS": 2},
    "tree_check": {"NO_PARENT": -1},
}
"""Kernel files that are not of a variant's name, and the macros they need."""


@dataclass(frozen=True)
class Build:
    """A kernel file and the macros that it is compiled with."""

    file: str
    """Its name without ``.cu``."""
    macros: tuple[tuple[str, int | float | str], ...]
    child_kernels: bool = False

    def __str__(self) -> str:
        return " ".join([self.file, *(f"{name}={value}" for name, value in self.macros)])


def all_builds() -> Iterator[Build]:
    """Each file with its usual macros, and with every other value of each; narrow and wide offsets."""
    for name, variant in all_variants().items():
        if not issubclass(variant, KernelProgram):
            continue
        axes: dict[str, tuple[int | float | str, ...]] = {
            knob.name: (knob.default, *(value for value in knob.choices if value != knob.default))
            for knob in variant.knobs
            if knob.compile_time
        }
        if issubclass(variant, KernelVariant) and variant.counters:
            axes["COUNTERS"] = (0, 1)
        for file in variant.source_files():
            if file.stem == name:
                axes |= {macro: (value,) for macro, value in _fixed(variant).items()}
                yield from _builds(name, {**axes, **_MACROS.get(name, {})}, variant.child_kernels)
    for name, macros in _OTHER_FILES.items():
        yield from _builds(name, {macro: (value,) for macro, value in macros.items()})


def _fixed(variant: type[KernelProgram]) -> dict[str, int]:
    """Macros that are the same in all builds of a variant."""
    layers = variant.layer_numbers() if issubclass(variant, KernelVariant) else {}
    return {**variant.constants, **layers}


def _builds(
    file: str, axes: Mapping[str, tuple[int | float | str, ...]], child_kernels: bool = False
) -> Iterator[Build]:
    usual = {name: values[0] for name, values in axes.items()}
    changes = [{name: value} for name, values in axes.items() for value in values[1:]]
    for wide in (0, 1):
        for change in ({}, *changes):
            if wide and change.get("SHORT_ROWS"):
                continue  # not for such graphs
            widths = {"WIDE_OFFSETS": wide}
            if file == "adaptive":
                widths |= {"CLUSTER_PARTS": 2048 >> wide}
            yield Build(file, tuple({**usual, **change, **widths}.items()), child_kernels)


def compile_cubin(build: Build, cuda_src: Path, arch: str, target: Path) -> str:
    """Compile for an architecture (``sm_90``). Returns what nvcc and ptxas printed.

    Raises RuntimeError with that if they fail.
    """
    source = next(cuda_src.rglob(f"{build.file}.cu"))
    command = [
        str(find_nvcc()),
        "-cubin",
        f"-arch={arch}",
        "-std=c++17",
        "-O3",
        "-Xptxas=-v",
        "-o",
        str(target),
    ]
    command += [f"-I{folder}" for folder in (source.parent, cuda_src / "common", cuda_src)]
    command += [f"-D{name}={value}" for name, value in build.macros]
    if build.child_kernels:
        command.append("-rdc=true")
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{build} for {arch}: {done.stderr.strip()}")
    return done.stderr
