"""The text translation, on its own and through the compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsbench.emulator import Emulator
from bfsbench.emulator.source_text import SourceText, split_at_commas
from bfsbench.emulator.translate import translate
from bfsbench.errors import LaunchError, ToolchainError
from tests.emulator.conftest import KERNELS


def write(folder: Path, text: str) -> Path:
    path = folder / "kernel.cu"
    path.write_text(text, encoding="utf-8")
    return path


def test_headers_comments_and_strings(device: Emulator) -> None:
    out = device.empty(32, np.int32)
    device.module(KERNELS / "includes.cu", {"OFFSET": 5}).kernel("with_header").bind(out, block=32)(1)
    assert out.download().tolist() == [6 + t for t in range(32)]


def test_a_changed_header_is_a_new_module(tmp_path: Path) -> None:
    header = tmp_path / "value.cuh"
    source = write(
        tmp_path, '#include "value.cuh"\nextern "C" __global__ void get(int* out) { *out = VALUE; }\n'
    )
    for value in (3, 4):
        header.write_text(f"#define VALUE {value}\n", encoding="utf-8")
        device = Emulator()
        out = device.signal()
        device.module(source, {}).kernel("get").bind(out, block=1)(1)
        assert out.read() == value
        device.close()


def test_lines_after_a_header_that_is_left_out(tmp_path: Path) -> None:
    """Its text has other lines, and so does the end of the branch."""
    (tmp_path / "seven.cuh").write_text("\n" * 7, encoding="utf-8")
    source = write(
        tmp_path,
        '#if ABSENT\n#include "seven.cuh"\n#else\n#define LINE __LINE__\n#endif\n'
        'extern "C" __global__ void get(int* out) { *out = 10 * LINE + __LINE__; }\n',
    )
    for absent in (0, 1):
        device = Emulator()
        out = device.signal()
        defines = {"ABSENT": absent, **({"LINE": 0} if absent else {})}
        device.module(source, defines).kernel("get").bind(out, block=1)(1)
        assert out.read() == (6 if absent else 66)
        device.close()


SKIPPED = """\ufeff#if 0
__shared__ nothing ( here { is ; read
asm("nonsense");
extern "C" __global__ void get(int* old, int number) { *old = 1; }
#elif defined(FAST)
extern "C" __global__ void get(int* out) { *out = 2; }
#else
template <class T> __global__ void typed(T* out) { *out = 3; }
template __global__ void typed<int>(int*);
extern "C" __global__ void __launch_bounds__(32) get(int* out);
namespace mine {
struct Three { int x; __device__ Three(int x) : x(x) {} };
extern "C" __global__ void get(int* out) {  // na\udcefve: not UTF-8
    __shared__ alignas(Three) char room[sizeof(Three)];
    *out = (new (room) Three(3'000 / 1'000))->x; // can't
}
}
#endif
"""


@pytest.mark.parametrize(("defines", "expected", "most_threads"), [({}, 3, 32), ({"FAST": 1}, 2, 1024)])
def test_what_the_preprocessor_leaves_out_is_not_read(
    tmp_path: Path, defines: dict[str, int], expected: int, most_threads: int
) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text(SKIPPED, encoding="utf-8", errors="surrogateescape")
    with Emulator() as device:
        out = device.signal()
        kernel = device.module(source, defines).kernel("get")
        kernel.bind(out, block=most_threads)(1)
        assert out.read() == expected
        with pytest.raises(LaunchError):
            kernel.bind(out, block=most_threads + 1)


def test_launches_are_rewritten(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        "template <int N> __global__ void k(int* p, int n) {}\n"
        'extern "C" __global__ void go(int* p) {\n'
        "    if (1 << 3 > 2 && p) k<4><<<dim3((*p + 63) / 64, f(1, 2)),\n"
        "        64>>>(p, g(p, 3));\n"
        "}\n",
    )
    translation = translate(source)
    assert translation.launches_kernels
    line = "::emu::launch<(k<4>)>(emu_kernels::k, ::emu::LaunchShape(dim3((*p + 63) / 64, f(1, 2)),"
    assert line in translation.text
    assert "64), p, g(p, 3));" in translation.text
    assert [k.name for k in translation.kernels.values() if k.c_linkage] == ["go"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("__shared__ int s[4];\n", 1, "inside a function"),
        ("\nvoid f() {\n  k<<<1, 2;\n}", 3, "a launch must read"),
        ('extern "C" __global__ void k(int a\n', 1, "never closed"),
        ("__device__ void f() { __shared__ int (*p)(); }", 1, "cannot read"),
    ],
)
def test_what_cannot_be_read_is_located(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(ToolchainError, match=rf"kernel\.cu:{line}: error: .*{message}"):
        translate(write(tmp_path, text))


DECLARED = """
#ifndef __CUDACC__
#error for nvcc
#endif
extern "C" __global__ auto get(int* out) -> void {  // in the manner of \\
    many a { file
    __shared__ union { int whole; unsigned char bytes[4]; } word;
    int volatile __shared__ before[sizeof(long) > 4 ? 2 : 1];
    __shared__ const int* __restrict__ from, *to;
    word.whole = 0;
    word.bytes[1] = 1;
    before[1] = 7;
    from = out;
    to = from + 1;
    *out = word.whole + before[1] + (int)(to - from);
}
"""


def test_shared_variables_are_declared_in_many_ways(tmp_path: Path) -> None:
    with Emulator(watched=True) as device:
        out = device.signal()
        device.module(write(tmp_path, DECLARED), {}).kernel("get").bind(out, block=1)(1)
        assert out.read() == 256 + 7 + 1
        assert device.findings() == []


ALLOCATED = "memory that kernels allocate is neither watched nor counted"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("int* p = (int*)malloc(4); *out = *p;", ALLOCATED),
        ("int* p = new int[*out]; *out = *p;", ALLOCATED),
        ("atomicAdd((size_t*)out, 1);", "no matching function for call to .atomicAdd"),
        ("atomicSub((unsigned long long*)out, 1ull);", "no matching function for call to .atomicSub"),
        ("__shared__ bool seen; atomicExch(&seen, true);", "no matching function for call to .atomicExch"),
    ],
)
def test_what_cannot_be_watched_or_is_not_cuda_is_located(
    tmp_path: Path, statement: str, message: str
) -> None:
    source = write(tmp_path, f'\nextern "C" __global__ void get(int* out) {{\n    {statement}\n}}\n')
    with Emulator(watched=True) as device, pytest.raises(ToolchainError, match=rf"kernel\.cu:3:.*{message}"):
        device.module(source, {}).kernel("get")


def test_missing_source(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"cannot read kernel source .*absent\.cu"):
        translate(tmp_path / "absent.cu")


@given(st.lists(st.text("ab+<> ", max_size=4).map(str.strip), min_size=1, max_size=5))
def test_commas_split_at_the_top_level_only(parts: list[str]) -> None:
    assert split_at_commas(", ".join(parts)) == parts
    nested = [f"f({part}, 1)" for part in parts]
    assert split_at_commas(",".join(nested)) == nested


@given(
    st.lists(
        st.sampled_from(
            ["int x;", "// comment", "/* a\n b */", '"a // b"', "'\\''", "\n", "#define A \\\n 1\n", "{}"]
        )
    )
)
def test_views_keep_every_position(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "views.cu"
    text = "\n".join(pieces)
    path.write_text(text, encoding="utf-8")
    source = SourceText(path)
    for view in (source.code, source.mask, source.statements):
        assert len(view) == len(text)
        assert [i for i, c in enumerate(view) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]
    assert "comment" not in source.code


@pytest.mark.parametrize(
    ("declaration", "call"),
    [
        ("__device__ int twice(int x);", "twice(1)"),
        ("struct Pair { int a; }; __device__ int twice(Pair x);", "twice(Pair{1})"),
        ("template <class T> __device__ T twice(T x);", "twice(1)"),
        (
            "namespace mine { struct Number { int a; __device__ int twice() const; }; }",
            "mine::Number{1}.twice()",
        ),
        ('extern "C" __device__ int twice(int x);', "twice(1)"),
        ("extern __device__ int twice;", "twice"),
    ],
)
def test_what_is_defined_nowhere_is_located(tmp_path: Path, declaration: str, call: str) -> None:
    (tmp_path / "given.cuh").write_text(f"// twice\n{declaration}\n")
    text = f'#include "given.cuh"\n\nextern "C" __global__ void k(int* out) {{ out[0] = {call}; }}\n'
    message = r"kernel\.cu:3: error: 'twice' is declared, but defined nowhere$"
    with Emulator() as device, pytest.raises(ToolchainError, match=message):
        device.module(write(tmp_path, text), {})
