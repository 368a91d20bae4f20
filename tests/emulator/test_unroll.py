"""Which loops are divided as nvcc unrolls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfsbench.emulator.translate import translate

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
    source = tmp_path / "loops.cu"
    source.write_text(KERNEL.replace("LOOP", loop))
    return translate(source, unrolls=True).text


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
    source = tmp_path / "loops.cu"
    source.write_text(KERNEL.replace("LOOP", DIVIDED[0]))
    assert DIVIDED[0] in translate(source).text
