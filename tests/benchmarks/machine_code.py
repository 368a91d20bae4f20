"""Which kernels' machine code differs between two commits.

    python tests/benchmarks/machine_code.py OLD [NEW] [--arch sm_90] [--file NAME]... [--jobs N]

OLD and NEW are commits; NEW is the working tree if left out. All kernel files are compiled from both, with
every value of every compile-time knob, with narrow and with wide offsets, by the nvcc that is found.
Macros are those that the working tree's variants define. Prints a line for each build in which a kernel's
instructions, constants or shared memory differ; the exit code is then 1.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from elftools.elf.elffile import ELFFile

from bfsbench.paths import CUDA_SRC
from tests.benchmarks.kernel_builds import Build, all_builds, compile_cubin

_CODE = (".text.", ".rodata", ".nv.constant2", ".nv.constant3", ".nv.global.init", ".nv.shared.")
"""Prefixes of the sections with a kernel's instructions and constants, or its shared memory."""


def sources_at(commit: str | None, folder: Path) -> Path:
    """The kernels' folder at a commit, unpacked; that of the working tree for None."""
    if commit is None:
        return CUDA_SRC
    command = ["git", "-C", str(CUDA_SRC.parent), "archive", commit, "cuda_src"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise click.ClickException(f"git has no {commit}: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "cuda_src"


def machine_code(build: Build, cuda_src: Path, arch: str) -> dict[str, str]:
    """A digest of each section that makes up the kernels of a build."""
    with tempfile.TemporaryDirectory() as work:
        cubin = Path(work) / "kernels.cubin"
        compile_cubin(build, cuda_src, arch, cubin)
        with cubin.open("rb") as file:
            return {
                section.name: f"{section['sh_size']} bytes, {hashlib.sha256(section.data()).hexdigest()[:12]}"
                for section in ELFFile(file).iter_sections()
                if section.name.startswith(_CODE)
            }


def difference(build: Build, sides: tuple[Path, Path], arch: str) -> str:
    """What differs between two source folders, in a line; empty if nothing does."""
    try:
        old, new = (machine_code(build, side, arch) for side in sides)
    except (RuntimeError, StopIteration) as error:
        return f"{build}: {str(error) or 'not in both'}"
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    changes = (f"{name} ({old.get(name, 'absent')} -> {new.get(name, 'absent')})" for name in names)
    return f"{build}: {'; '.join(changes)}" if names else ""


@click.command(help=__doc__)
@click.argument("old")
@click.argument("new", required=False)
@click.option("--arch", default="sm_90", show_default=True)
@click.option("--file", "files", multiple=True, help="Only this kernel file.")
@click.option("--jobs", default=1, show_default=True)
def main(old: str, new: str | None, arch: str, files: tuple[str, ...], jobs: int) -> None:
    builds = [build for build in all_builds() if not files or build.file in files]
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(jobs) as pool:
        sides = sources_at(old, Path(work, "old")), sources_at(new, Path(work, "new"))
        differing = 0
        for line in pool.map(lambda build: difference(build, sides, arch), builds):
            differing += bool(line)
            if line:
                print(line, flush=True)
    print(f"{len(builds)} builds compared, {differing} differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
