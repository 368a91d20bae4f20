"""The compiler's warnings about kernels."""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bfsbench.emulator.library import INCLUDE
from bfsbench.emulator.translate import translate
from bfsbench.support.toolchain import compiler


def diagnose(
    source: Path, defines: Mapping[str, int | str], warnings: Sequence[str], include: Sequence[Path] = ()
) -> str:
    """Compile a ``.cu`` file as C++ with the given warning options. Returns the compiler's messages, or an
    empty string."""
    with tempfile.TemporaryDirectory() as work:
        text = Path(work) / f"{source.stem}.cpp"
        text.write_text(translate(source, include).text, encoding="utf-8")
        # Compilers do not warn about system headers. The compiler of ziglang does not support -fsyntax-only.
        headers = [word for folder in (INCLUDE, INCLUDE / "cuda") for word in ("-isystem", str(folder))]
        headers += [f"-I{folder}" for folder in (source.parent, *include)]
        macros = [f"-D{name}={value}" for name, value in defines.items()]
        emulated = ["-include", str(INCLUDE / "cuda_on_cpu.h"), "-c", str(text), "-o", f"{text}.o"]
        command = [*compiler(), "-std=c++17", *headers, *macros, *warnings, *emulated]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr
