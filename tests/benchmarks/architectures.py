"""Compiles all kernels for all architectures that the project supports, and shows what they spill.

    python -m tests.benchmarks.architectures [--arch 7.5]... [--file NAME]... [--all] [--jobs N]

Needs an nvcc, of a CUDA toolkit or from PyPI (pip install 'bfsbench[nvcc]'), and no GPU. Prints a line for
each build that does not compile and each kernel that spills registers; the exit code is 1 if one does not
compile.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from bfsbench.support.errors import ToolchainError
from bfsbench.support.paths import CUDA_SRC
from bfsbench.support.toolchain import LOWEST_COMPUTE_CAPABILITY, find_nvcc
from tests.benchmarks.kernel_builds import Build, all_builds, compile_cubin

ARCHITECTURES = ("{}.{}".format(*LOWEST_COMPUTE_CAPABILITY), "8.0", "8.9", "9.0", "10.0", "12.0")
FIRST_WITH_CLUSTERS = 9.0
_SPILLS = re.compile(r"Function properties for (\w+)\n.*?(\d+) bytes spill stores, (\d+) bytes spill loads")


def builds_for(architecture: str, usual_only: bool) -> Iterator[Build]:
    """Yields the builds for an architecture. Builds with clusters are left out where it has no clusters."""
    seen = set()
    for build in all_builds():
        macros = dict(build.macros)
        size = macros.get("CLUSTER_SIZE", 1)
        if int(size) > 1 and float(architecture) < FIRST_WITH_CLUSTERS:
            continue
        kind = (build.file, macros["WIDE_OFFSETS"])
        if kind not in seen or not usual_only:
            seen.add(kind)
            yield build


def findings(build: Build, architecture: str) -> tuple[bool, list[str]]:
    """Returns whether a build compiles, and lines about its errors or spills."""
    with tempfile.TemporaryDirectory() as work:
        arch = f"sm_{architecture.replace('.', '')}"
        try:
            printed = compile_cubin(build, CUDA_SRC, arch, Path(work) / "kernels.cubin")
        except RuntimeError as error:
            return False, [str(error)]
    return True, [
        f"{architecture}: {build}: {kernel} spills {stores} bytes, loads {loads}"
        for kernel, stores, loads in _SPILLS.findall(printed)
        if int(stores) or int(loads)
    ]


@click.command(help=__doc__)
@click.option("--arch", "chosen", multiple=True, help="Compute capability, such as 9.0; by default all.")
@click.option("--file", "files", multiple=True, help="Only this kernel file.")
@click.option("--all", "everything", is_flag=True, help="Every value of every knob, not only the usual ones.")
@click.option("--jobs", default=1, show_default=True)
def main(chosen: tuple[str, ...], files: tuple[str, ...], everything: bool, jobs: int) -> None:
    try:
        find_nvcc()
    except ToolchainError as error:
        raise click.ClickException(str(error)) from None
    work = [
        (build, architecture)
        for architecture in chosen or ARCHITECTURES
        for build in builds_for(architecture, not everything)
        if not files or build.file in files
    ]
    failed = 0
    with ThreadPoolExecutor(jobs) as pool:
        for compiled, lines in pool.map(lambda item: findings(*item), work):
            failed += not compiled
            for line in lines:
                print(line, flush=True)
    print(f"{len(work)} builds compiled, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
