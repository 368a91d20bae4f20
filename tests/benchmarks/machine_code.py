"""Shows the kernels whose machine code differs between two commits.

    python -m tests.benchmarks.machine_code OLD [NEW] [--arch sm_90] [--file NAME]... [--jobs N]

OLD and NEW are commits. Without NEW, the working tree is compared. The nvcc that is found compiles all kernel
files of both, with every value of every compile-time knob, with narrow and with wide offsets. The package of
a commit defines the macros of its builds (kernel_builds.py). Prints a line for each build in which a kernel's
instructions, constants or shared memory differ. The exit code is 1 if there is one.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from elftools.elf.elffile import ELFFile

from tests.benchmarks.kernel_builds import Build, compile_cubin

_ROOT = Path(__file__).parents[2]
_CODE = (".text.", ".rodata", ".nv.constant2", ".nv.constant3", ".nv.global.init", ".nv.shared.")
"""Prefixes of the sections with a kernel's instructions and constants, or its shared memory."""


def checkout(commit: str | None, folder: Path) -> Path:
    """Returns the project at a commit, unpacked into a folder. None stands for the working tree."""
    if commit is None:
        return _ROOT
    command = ["git", "-C", str(_ROOT), "archive", commit, "bfsbench", "cuda_src", "datasets.toml"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise click.ClickException(f"git has no {commit}: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def builds_of(root: Path) -> dict[tuple[str, str], Build]:
    """Returns the builds of a checkout's package by file and setting."""
    command = [sys.executable, str(_ROOT / "tests/benchmarks/kernel_builds.py")]
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"cannot list the builds of {root}: {done.stderr.strip()}")
    builds = (Build(**one | {"macros": tuple(map(tuple, one["macros"]))}) for one in json.loads(done.stdout))
    return {(build.file, build.setting): build for build in builds}


def machine_code(build: Build, cuda_src: Path, arch: str) -> dict[str, str]:
    """Returns a digest of each section that makes up the kernels of a build."""
    with tempfile.TemporaryDirectory() as work:
        cubin = Path(work) / "kernels.cubin"
        compile_cubin(build, cuda_src, arch, cubin)
        with cubin.open("rb") as file:
            return {
                section.name: f"{section['sh_size']} bytes, {hashlib.sha256(section.data()).hexdigest()[:12]}"
                for section in ELFFile(file).iter_sections()
                if section.name.startswith(_CODE)
            }


def difference(old: Build | None, new: Build | None, roots: tuple[Path, Path], arch: str) -> str:
    """Returns a line about the differences of two builds of one setting. It is empty if there is none."""
    if old is None or new is None:
        return f"{old or new}: only in {'NEW' if old is None else 'OLD'}"
    try:
        before, after = (
            machine_code(build, root / "cuda_src", arch)
            for build, root in zip((old, new), roots, strict=True)
        )
    except RuntimeError as error:
        return f"{new}: {error}"
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    changes = (f"{name} ({before.get(name, 'absent')} -> {after.get(name, 'absent')})" for name in names)
    return f"{new}: {'; '.join(changes)}" if names else ""


@click.command(help=__doc__)
@click.argument("old")
@click.argument("new", required=False)
@click.option("--arch", default="sm_90", show_default=True)
@click.option("--file", "files", multiple=True, help="Only this kernel file.")
@click.option("--jobs", default=1, show_default=True)
def main(old: str, new: str | None, arch: str, files: tuple[str, ...], jobs: int) -> None:
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(jobs) as pool:
        roots = checkout(old, Path(work, "old")), checkout(new, Path(work, "new"))
        before, after = map(builds_of, roots)
        pairs = {}  # settings with equal macros are compared once
        for key in {**before, **after}:
            if not files or key[0] in files:
                pair = before.get(key), after.get(key)
                pairs.setdefault((key[0], *(build and build.macros for build in pair)), pair)
        differing = 0
        for line in pool.map(lambda pair: difference(*pair, roots, arch), pairs.values()):
            differing += bool(line)
            if line:
                print(line, flush=True)
    print(f"{len(pairs)} builds compared, {differing} differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
