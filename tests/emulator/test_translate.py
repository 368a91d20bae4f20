"""Tests of the translation of kernel files to C++: unrolled loops and calls at basic blocks included."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.emulator import Count, Emulator, library
from bfsbench.emulator.library import BLOCK, without_idle_blocks
from bfsbench.emulator.translate import translate
from bfsbench.kernels.source import SourceText, split_at
from bfsbench.support.errors import LaunchError, ToolchainError
from tests.emulator.conftest import KERNELS, run_kernel, write


def result_of(source: Path, defines: Mapping[str, int] | None = None, **options: bool) -> int:
    """Returns the word that the kernel ``get`` of a file stores."""
    with Emulator(**options) as device:
        out = device.signal()
        device.module(source, defines or {}).kernel("get").bind(out, block=1)(1)
        found = out.read()
        assert not device.watched or device.findings() == []
        return found


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
        assert result_of(source) == value


def test_lines_after_a_header_that_is_left_out(tmp_path: Path) -> None:
    """Lines keep their numbers after a header in a branch of ``#if`` that the preprocessor skips, and after
    the whole ``#if``."""
    (tmp_path / "seven.cuh").write_text("\n" * 7, encoding="utf-8")
    source = write(
        tmp_path,
        '#if ABSENT\n#include "seven.cuh"\n#else\n#define LINE __LINE__\n#endif\n'
        'extern "C" __global__ void get(int* out) { *out = 10 * LINE + __LINE__; }\n',
    )
    for absent in (0, 1):
        defines = {"ABSENT": absent, **({"LINE": 0} if absent else {})}
        assert result_of(source, defines) == (6 if absent else 66)


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
    source = write(tmp_path, SKIPPED)
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
        ("__device__ void f() { __shared__ int (*p(int))[2]; }", 1, "cannot read"),
    ],
)
def test_what_cannot_be_read_is_located(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(ToolchainError, match=rf"kernel\.cu:{line}: error: .*{message}"):
        translate(write(tmp_path, text))


def test_shared_variables_are_declared_in_many_ways() -> None:
    assert result_of(KERNELS / "declared.cu", watched=True) == 256 + 7 + 1


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
    assert split_at(",", ", ".join(parts)) == parts
    nested = [f"f({part}, 1)" for part in parts]
    assert split_at(",", ",".join(nested)) == nested


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


KERNEL = """
__device__ int sum_of(const int *x) { int sum = 0; for (int i = 0; i < 3; i += 2) sum += x[i]; return sum; }
__device__ int first_of(const int *x) { return x[0]; }
extern "C" __global__ void kernel(const int *__restrict__ x, int *y, int begin, int end, int step) {
    if (end > begin) LOOP
    else y[0] = 1;
}
"""

DIVIDED = (
    "for (int e = begin; e < end; ++e) y[e] = 1;",
    "for (unsigned e = begin; e != end; e++) { if (x[e]) continue; y[e] = 1; }",
    "for (int e = x[begin]; e < x[begin + 1]; ++e) y[e] = first_of(x);",
    "for (int e = begin; e < min(begin, end); e += step) if (y[e]) y[e] = 1; else y[e] = 2;",
)
WHOLE = {
    "a bound that may change": "for (int e = begin; e < y[0]; ++e) y[e] = 1;",
    "a bound from a call": "for (int e = begin; e < first_of(x); ++e) y[e] = 1;",
    "two conditions": "for (int e = begin; e < end && e < 9; ++e) y[e] = 1;",
    "another step": "for (int e = begin; e < end; e += 2 * step) y[e] = 1;",
    "another exit": "for (int e = begin; e < end; ++e) if (y[e]) break;",
    "an inner loop": "for (int e = begin; e < end; ++e) while (y[e] < 3) ++y[e];",
    "an inner loop in a function": "for (int e = begin; e < end; ++e) y[e] = sum_of(x);",
    "a barrier": "for (int e = begin; e < end; ++e) __syncwarp();",
    "a pragma": "\n#pragma unroll 1\nfor (int e = begin; e < end; ++e) y[e] = 1;",
    "no variable of its own": "for (; begin < end; ++begin) y[begin] = 1;",
}


def translated(tmp_path: Path, loop: str) -> str:
    return translate(write(tmp_path, KERNEL.replace("LOOP", loop)), unrolls=True).text


@pytest.mark.parametrize("loop", DIVIDED)
def test_a_loop_that_counts_to_a_known_bound_is_divided(tmp_path: Path, loop: str) -> None:
    text = translated(tmp_path, loop)
    assert text.count("++emu_part < ") == 1
    (line,) = [line for line in text.splitlines() if "emu_part" in line]
    assert line.count("{") == line.count("}")
    assert text.splitlines()[text.splitlines().index(line) + 1].strip() == "else y[0] = 1;"


@pytest.mark.parametrize("loop", WHOLE.values(), ids=WHOLE)
def test_any_other_loop_stays_whole(tmp_path: Path, loop: str) -> None:
    assert loop in translated(tmp_path, loop)


@pytest.mark.parametrize(
    ("body", "parts"),
    [("sum |= x[e];", 4), ("{ y[e] = 1; }", 2), ("if (x[e]) sum = 1;", 2), ("sum += first_of(x);", 2)],
)
def test_a_body_that_only_computes_is_unrolled_twice(tmp_path: Path, body: str, parts: int) -> None:
    text = translated(tmp_path, f"{{ int sum = 0; for (int e = begin; e < end; ++e) {body} y[0] = sum; }}")
    assert f"++emu_part < {parts}" in text


@pytest.mark.parametrize("result", ["true", "0"])
def test_returning_a_constant_from_a_loop_is_marked(tmp_path: Path, result: str) -> None:
    text = translated(
        tmp_path, f"{{ auto f = [&] {{ while (begin < end) return {result}; return 1; }}; y[0] = f(); }}"
    )
    assert text.count(f"{{ ::emu::part(); return {result}; }}") == 1
    assert text.count("::emu::part") == 1


def test_only_builds_that_count_divide_loops(tmp_path: Path) -> None:
    assert DIVIDED[0] in translate(write(tmp_path, KERNEL.replace("LOOP", DIVIDED[0]))).text


LOOP = (KERNELS / "loop.s").read_text(encoding="utf-8")
"""Assembly of a kernel with a loop. A comment on the line of each call at a basic block names the block."""


def kept(assembly: str) -> list[str]:
    """Returns the comments on the lines of the calls at basic blocks that remain."""
    lines = without_idle_blocks(assembly).splitlines()
    return [line.partition("# ")[2] for line in lines if BLOCK in line]


@pytest.mark.parametrize(
    ("call", "remarks"),
    [
        (("# first", "# first"), ["first", "target", "source"]),
        # An access also tells where a lane jumps from.
        (("# source", "# source\n\tcall\t*__tsan_write4@GOTPCREL(%rip)"), ["first", "target"]),
        # The runtime must know where a lane leaves a loop.
        (
            ("# branch", "# branch\n\tcall\t*_ZN3emu4partEv@GOTPCREL(%rip)"),
            ["first", "target", "branch", "source"],
        ),
    ],
    ids=["plain loop", "access", "early exit"],
)
def test_calls_next_to_backward_jumps_are_kept(call: tuple[str, str], remarks: list[str]) -> None:
    assert kept(LOOP.replace(*call)) == remarks


ALL = ["first", "forward", "target", "branch", "source", "last"]


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("\tje\t.L3", "\tjmp\t*%rax"),  # to a computed address
        ("\tje\t.L3", "\tjmp\tother"),  # to another function
        ("\tcall\t*__tsan_read4@GOTPCREL(%rip)", "\tcall\tkernel"),  # of a watched function
        (".L2:\n", ".L2:\n\tje\t.L3\n"),  # two paths lead on from the target
        ("\tjne\t.L2", ".L5:\n\tjne\t.L2\n\tje\t.L5"),  # two paths lead to the source
    ],
)
def test_all_calls_are_kept_where_jumps_are_not_plain(line: str, instead: str) -> None:
    assert kept(LOOP.replace(line, instead)) == ALL


def test_a_function_that_another_one_calls_is_asked_where_it_ends() -> None:
    caller = LOOP.replace("kernel", "caller").replace("__tsan_read4@GOTPCREL(%rip)", "kernel")
    assert kept(LOOP + caller) == ["first", "target", "source", "last", *ALL]


def counts_of_loops() -> list[tuple[Count, ...]]:
    found = []
    with Emulator(counted=True) as device:
        x, y = (device.upload(np.arange(64, dtype=np.int32)) for _ in range(2))
        for name in ("divergent", "unrolled", "deep_stacks"):
            run_kernel(device, f"counted:{name}", x, y, block=64, blocks=2)
            device.synchronize()
            found.append(tuple(device.counts()[0]))
    return found


def test_counts_are_the_same_without_these_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = counts_of_loops()
    monkeypatch.setattr(library, "without_idle_blocks", lambda assembly: assembly)
    assert counts_of_loops() == counts
