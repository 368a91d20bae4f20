"""Builds the programs of entries. A build gets the source at the declared commit, changes it and compiles it.

In the cache, ``entries/NAME/bin`` has the built files, and ``entries/NAME/record.json`` describes the build.
The folder ``entries/NAME`` can be copied to a machine that has no internet access or no compiler.
"""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bfsbench.entries.declaration import Build, Entry
from bfsbench.support import storage, toolchain
from bfsbench.support.errors import ToolchainError, UsageError

RECORD = "record.json"


def record_of(entry: Entry) -> dict[str, object]:
    """Returns the content of ``record.json`` of an entry's build. Returns an empty dict if there is no build,
    or if the declaration has changed since the build."""
    try:
        found = json.loads((entry.folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("declaration") == _declaration(entry) else {}


def made_files(entry: Entry) -> list[Path]:
    """Returns the paths of the files that the build of an entry makes. The files may be missing."""
    return [entry.folder / "bin" / Path(made).name for made in entry.build.makes] if entry.build else []


def missing(entry: Entry) -> str:
    """Returns a message with the command that builds the entry. Returns an empty string if the entry is built
    or needs no build."""
    there = all(file.is_file() for file in made_files(entry))
    if entry.build is None or (there and record_of(entry)):
        return ""
    why = "has changed since it was built" if there else "is not built"
    return f"entry {entry.name} {why}: run 'bfsbench entry build {entry.name}'"


def build(entry: Entry, source: Path | None = None, tell: Callable[[str], None] = print) -> Path:
    """Build the program of an entry from its git repository, or from the files beside its TOML file. If
    ``source`` is given, use this clone of the repository. ``tell`` prints progress messages. Returns the path
    of ``record.json``, which describes the build.

    Raises UsageError if there is nothing to build, if the cache cannot be written, if the commit or a file
    cannot be obtained, or if a change does not apply. Raises ToolchainError if git or a compiler is missing,
    if a command fails, or if the commands do not make a declared file. The previous build stays until the new
    build is complete.
    """
    declared = entry.build
    if declared is None:
        raise UsageError(f"entry {entry.name} has nothing to build")
    storage.require_writable(entry.folder)
    with storage.locked(entry.folder / ".lock"):
        work = entry.folder / "source"
        shutil.rmtree(work, ignore_errors=True)
        _get(entry, declared, source, work, tell)
        for change in declared.changes:
            _apply(work / change.file, change.old, change.new)
        for name in declared.add:
            try:
                shutil.copy(entry.file.parent / name, work)
            except OSError as error:
                file = entry.file.parent / name
                raise UsageError(f"cannot add {file} to the source: {error.strerror or error}") from error
        commands, compilers = _commands(entry)
        for command in commands:
            tell(command)
            _run(command, work, entry.name)
        return _keep(entry, declared, work, {"commands": commands, "compilers": compilers})


def _get(entry: Entry, declared: Build, source: Path | None, work: Path, tell: Callable[[str], None]) -> None:
    """Put the source of the declared commit into the new folder ``work``. Without a repository, make an empty
    folder. Raises UsageError if the commit cannot be obtained."""
    if not declared.repository:
        if source is not None:
            raise UsageError(
                f"entry {entry.name} is built from the files beside {entry.file}: leave out --source"
            )
        work.mkdir()
        return
    origin = declared.repository if source is None else str(source.resolve())
    if source is not None and not source.is_dir():
        raise UsageError(f"--source: there is no folder {source}")
    tell(f"cloning {origin}")
    _git(["clone", "--quiet", "--no-checkout", origin, str(work)], None, f"cannot clone {origin}")
    absent = f"{origin} has no commit {declared.commit}"
    _git(["checkout", "--quiet", declared.commit], work, absent)
    if declared.submodules:
        _git(["submodule", "update", "--quiet", "--init", "--recursive"], work, "cannot get submodules")


def _git(words: list[str], folder: Path | None, failed: str) -> None:
    git = shutil.which("git")
    if git is None:
        raise ToolchainError("git is not installed: it gets the source of entries")
    quiet = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run([git, *words], cwd=folder, env=quiet, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        # In git's output, advice follows the line that begins with "fatal:".
        fatal = (line for line in lines if line.startswith("fatal:"))
        raise UsageError(f"{failed}: {next(fatal, lines[-1] if lines else 'git failed')}")


def _apply(file: Path, old: str, new: str) -> None:
    """Replace each occurrence of the text ``old`` by ``new`` in a source file. Raises UsageError if the file
    cannot be read or does not contain ``old``."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"a change does not apply: cannot read {file.name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"a change does not apply: {file.name} is not UTF-8") from error
    if old not in text:
        raise UsageError(f"a change does not apply: {file.name} has no '{old}'")
    file.write_text(text.replace(old, new), encoding="utf-8")


def _commands(entry: Entry) -> tuple[list[str], dict[str, str]]:
    """Returns the shell commands of the build, with the commands of the compilers inserted. Also returns a
    dictionary that maps the names of the compilers to their versions. Raises ToolchainError if a compiler is
    missing."""
    assert entry.build is not None
    compilers: dict[str, Callable[[], str]] = {
        "cxx": lambda: shlex.join(toolchain.compiler()),
        "cc": c_compiler,
        "nvcc": lambda: shlex.quote(str(toolchain.find_nvcc())),
    }
    used = [name for name in compilers if f"{{{name}}}" in " ".join(entry.build.run)]
    found = {name: compilers[name]() for name in used}
    commands = [entry.filled(command, **found) for command in entry.build.run]
    return commands, {name: _version(command) for name, command in found.items()}


def c_compiler() -> str:
    """Returns the command that runs the C compiler. If there is none, returns the command that compiles C
    with the C++ compiler. Raises ToolchainError if neither compiler is found."""
    for name in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        if shutil.which(name):
            return name
    return f"{shlex.join(toolchain.compiler())} -x c"


def _version(command: str) -> str:
    lines = toolchain.version_lines(*(word for word in shlex.split(command) if word not in ("-x", "c")))
    return lines[-1] if "nvcc" in command else lines[0]


def _run(command: str, work: Path, name: str) -> None:
    done = subprocess.run(
        command, cwd=work, shell=True, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        log = work / "build.log"
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
        reason = toolchain.first_error(done.stderr or done.stdout)
        raise ToolchainError(f"cannot build {name}: {reason.strip()} (all of it: {log})")


def _keep(entry: Entry, declared: Build, work: Path, noted: dict[str, object]) -> Path:
    """Copy the built files into the cache, and write ``record.json``, which describes the build. Returns the
    path of ``record.json``. Raises ToolchainError if a declared file was not built."""
    for made in declared.makes:
        if not (work / made).is_file():
            raise ToolchainError(f"cannot build {entry.name}: the commands did not make {made}")
    fresh = storage.part_of(entry.folder / "bin")
    fresh.mkdir()
    for made in declared.makes:
        shutil.copy2(work / made, fresh)
    record = {
        "declaration": _declaration(entry),
        "commit": declared.commit,
        "repository": declared.repository,
        **noted,
        "built_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    storage.publish(fresh, entry.folder / "bin")
    storage.write(entry.folder / RECORD, json.dumps(record, indent=2).encode())
    return entry.folder / RECORD


def _declaration(entry: Entry) -> str:
    """Returns a hash of the table ``build`` of the TOML file, and of the files that the build adds to the
    source. The table and the files determine the result of the build."""
    assert entry.build is not None
    digest = hashlib.sha256(msgspec.json.encode(entry.build))
    for name in entry.build.add:
        file = entry.file.parent / name
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()[:16]
