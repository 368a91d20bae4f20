"""Tests of whole CUDA programs, which ``bfsbench nvcc`` builds as plain, watched and counting programs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from signal import SIGABRT, SIGSEGV

import pytest
from click.testing import CliRunner

from bfsbench.cli import main
from bfsbench.emulator import Finding
from bfsbench.emulator.nvcc import build, cccl_options, curand_options, parse
from bfsbench.emulator.program_run import HostFinding, ProgramReport, Runs, built, run
from bfsbench.support.errors import ToolchainError, UsageError

PROGRAMS = Path(__file__).parent / "programs"
USUAL = ("-O3", "-std=c++17", "-arch=sm_60", "-Xcompiler", "-Wall", "--extended-lambda", "-lineinfo")
FAULTS = PROGRAMS / "faults.cu"
THREE_LAUNCHES = PROGRAMS / "three_launches.cu"


def line_of(mark: str, file: Path = FAULTS) -> int:
    lines = enumerate(file.read_text().splitlines(), 1)
    (number,) = (i for i, line in lines if line.endswith(f"// {mark}"))
    return number


@pytest.fixture(scope="module")
def faults() -> Iterator[Path]:
    """The program with faults, built for race detection."""
    with built([FAULTS], (), "watched") as program:
        yield program


def output(program: Path, *arguments: str) -> str:
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 86), (
        done.stderr
    )  # 86: a watched program has findings, and some programs contain faults
    return done.stdout


OUTPUTS = {
    "launches": "cudaSuccess\n",
    "async": "0 failures\n",
    "graphs": "0 failures\n",
    "warps_and_tiles": "0 failures\n",
    "cub": "0 failures\n",
    "language": "14 34 32 34 4 64 cudaSuccess\n",
    "runtime_api": "0 failures\n",
    "inline_ptx": "0 failures, 128 64 cudaSuccess\n",
    "textures": "0 failures\n",
    "texture_references": "0 failures\n",
    "spellings": "largest 2147483647 31 2 5 7 31 8 64 0.25\n",
}
"""The output of each program that has no mistakes."""
RIGHT = OUTPUTS.keys() - {"launches", "runtime_api", "texture_references"}
"""The programs in which nothing is found."""


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_programs_use_is_there(name: str) -> None:
    with built([PROGRAMS / f"{name}.cu"], USUAL, "plain") as program:
        assert output(program) == OUTPUTS[name]


@pytest.mark.parametrize("name", OUTPUTS)
def test_watched_programs_do_the_same_and_right_ones_have_no_findings(name: str) -> None:
    with built([PROGRAMS / f"{name}.cu"], USUAL, "watched") as program:
        assert output(program) == OUTPUTS[name]
        if name in RIGHT:
            report = run(program, [], 1, quiet=True, stop=False)
            assert not report.failures and not report.all_findings()


def test_textures_are_counted() -> None:
    with built([PROGRAMS / "textures.cu"], USUAL, "counting") as program:
        assert output(program) == OUTPUTS["textures"]
        report = run(program, [], 0, quiet=True, stop=False)
    by_line = {of.line.text(): of.kind for of in report.counts if of.line and of.kind != "barrier"}
    assert by_line["surf3Dwrite(value + 1, surface, x, y, z);"] == "store"
    assert by_line["int value = surf3Dread<int>(surface, x, y, z);"] == "load"


def test_thrust_shares_memory_with_kernels(capfd: pytest.CaptureFixture[str]) -> None:
    if not cccl_options():
        pytest.skip("the headers of nvidia-cuda-cccl are not installed")
    with built([PROGRAMS / "thrust.cu"], (), "plain") as program:
        assert output(program) == "6 508\nmade up: cudaErrorInvalidValue: invalid argument, 1\n"
    with pytest.raises(ToolchainError), built([PROGRAMS / "thrust.cu"], (), "watched"):
        pass
    assert "vectors of thrust are neither watched nor counted" in capfd.readouterr().err


def test_thrust_may_use_memory_of_the_device() -> None:
    if not cccl_options():
        pytest.skip("the headers of nvidia-cuda-cccl are not installed")
    with built([PROGRAMS / "thrust_pointers.cu"], (), "watched") as program:
        report = run(program, [], 1, quiet=True, stop=False)
    assert (report.status, report.all_findings()) == (0, [])


@pytest.mark.parametrize("header", ["sort.h", "iterator/transform_iterator.h"])
def test_headers_of_thrust_include_what_older_versions_included(tmp_path: Path, header: str) -> None:
    if not cccl_options():
        pytest.skip("the headers of nvidia-cuda-cccl are not installed")
    included = f"#include <thrust/{header}>\n#include <thrust/copy.h>\nthrust::system_error *error;\n"
    used = "auto count(int *a, int *b) { return thrust::distance(a, b); }\n"
    (tmp_path / "p.cu").write_text(included + used)
    build(parse(["-c", str(tmp_path / "p.cu"), "-o", str(tmp_path / "p.o")]))


@pytest.mark.parametrize(
    ("header", "library"), [("cublas_v2.h", "cuBLAS"), ("curand.h", "cuRAND without NVIDIA's headers .*")]
)
def test_a_missing_library_is_named(tmp_path: Path, header: str, library: str) -> None:
    (tmp_path / "p.cu").write_text(f"#include <{header}>\nint main() {{}}\n")
    with pytest.raises(ToolchainError, match=f"{library} is not supported"):
        build(parse(["-c", str(tmp_path / "p.cu"), "-o", str(tmp_path / "p.o")]))


def test_a_generator_of_the_host_is_refused(tmp_path: Path) -> None:
    lines = [
        "using curandGenerator_t = int;",
        "int curandCreateGenerator(curandGenerator_t *generator, int kind);",
    ]
    lines.append("int main() { int generator; return curandCreateGenerator(&generator, 100); }")
    (tmp_path / "p.cu").write_text("\n".join(lines))
    with pytest.raises(ToolchainError, match=r"p\.cu:3: error: curandCreateGenerator is not supported"):
        build(parse(["-c", str(tmp_path / "p.cu"), "-o", str(tmp_path / "p.o")]))


def test_the_headers_of_curand_are_found_and_translated(tmp_path: Path) -> None:
    if curand_options():
        pytest.skip("other headers of cuRAND are installed")
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "curand_kernel.h").write_text(
        "__device__ inline float log2_of(float x) {\n"
        '    float y; asm("lg2.approx.f32.ftz %0, %1;" : "=f"(y) : "f"(x)); return y;\n'
        "}\ninline libraryPropertyType property = MINOR_VERSION;\n"
    )
    (folder / "driver_types.h").write_text("#error the toolkit's own headers are not used\n")
    source = tmp_path / "p.cu"
    source.write_text(
        "#include <curand_kernel.h>\n#include <driver_types.h>\n#include <cstdio>\n"
        '__global__ void k() { printf("%g\\n", log2_of(8)); }\nint main() { k<<<1, 1>>>(); }\n'
    )
    words = ["nvcc", str(source), "-lcurand", "-o", str(tmp_path / "p")]
    command = [sys.executable, "-m", "bfsbench", *words]
    subprocess.run(command, env=os.environ | {"CUDA_HOME": str(tmp_path)}, check=True)
    assert output(tmp_path / "p") == "3\n"


def test_files_are_compiled_apart_and_linked(tmp_path: Path) -> None:
    objects = []
    for name in ("part_one.cu", "part_two.cu", "part_three.cpp"):
        objects.append(str(tmp_path / f"{name}.o"))
        options = ["-dc", "-rdc=true", "-gencode", "arch=compute_70,code=sm_70", "-I", str(PROGRAMS)]
        build(parse([*options, "-DPLUS=5", str(PROGRAMS / name), "-o", objects[-1]]))
    build(parse([*objects, "-lcudart", "-lm", "-o", str(tmp_path / "program")]))
    assert output(tmp_path / "program") == "70 1\n"


@pytest.mark.parametrize("mode", ["plain", "watched", "counting"])
def test_macros_may_have_names_of_the_emulators_own_headers(tmp_path: Path, mode: str) -> None:
    source = tmp_path / "macros.cu"
    source.write_text(
        "#include <cooperative_groups.h>\n#include <cuda_runtime.h>\n#include <cstdio>\n#include <vector>\n"
        "__global__ void sum(int *x) { x[threadIdx.x] = A + B + F + Index(1) + i; }\n"
        "int main() {\n    int *x, y[threads];\n    cudaMalloc(&x, sizeof y);\n    sum<<<1, threads>>>(x);\n"
        "    cudaMemcpy(y, x, sizeof y, cudaMemcpyDeviceToHost);\n    cudaFree(x);\n"
        "#ifdef NEVER\n    y[0] = 0;\n#endif\n"
        '    printf("%d %d", y[0], y[threads - 1]);\n}\n'
    )
    macros = ("A=1", "B=2", "F=3", "i=4", "Index(x)=x+5", "FAST", "threads=64", "NEVER")
    options = [*(word for macro in macros for word in ("-D", macro)), "-U", "NEVER"]
    with built([source], options, mode) as program:
        assert output(program).startswith("16 16")


def test_macros_may_have_names_of_one_letter_beside_cub(tmp_path: Path) -> None:
    headers = ("cub/cub.cuh", "cuda_fp16.h", "mma.h")
    text = "".join(f"#include <{header}>\n" for header in headers)
    (tmp_path / "p.cu").write_text(text + "int sum = A + B + C + D + F + H + K + N + P + V;\n")
    words = [f"-D{name}=1" for name in "ABCDFHKNPV"]
    build(parse([*words, "-c", str(tmp_path / "p.cu"), "-o", str(tmp_path / "p.o")]))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("cudaIpcMemHandle_t handle;", "cudaIpcMemHandle_t is not supported (memory of several processes)"),
        ("auto f = [] { cuCtxCreate(0, 0, 0); };", "cuCtxCreate is not supported (the driver API)"),
        (
            "auto f = [] { cudaGraphDebugDotPrint(0, 0, 0); };",
            "cudaGraphDebugDotPrint is not supported (a part of CUDA graphs)",
        ),
        (
            "__global__ void k() { __nv_fp128_add(1, 2); }",
            "__nv_fp128_add is not supported (a function for kernels)",
        ),
        ("int x = sizeof(cub::BlockMergeSort<int, 1>);", "cub::BlockMergeSort is not supported"),
        ('__global__ void k() { asm("tcgen05.alloc;"); }', "inline PTX is not emulated: tcgen05.alloc;"),
        ("#include <cufft.h>", "cuFFT is not supported"),
        ("#include <cuda_fp8.h>", "floating point of 8 and fewer bits is not supported"),
        ("#include <cub/block/block_merge_sort.cuh>", "this part of cub is not supported"),
    ],
)
def test_what_is_missing_is_refused_with_its_line(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "p.cu").write_text(f"#include <cub/cub.cuh>\n{line}\n")
    with pytest.raises(ToolchainError) as refused:
        build(parse(["-c", str(tmp_path / "p.cu"), "-o", str(tmp_path / "x.o")]))
    assert str(refused.value) == f"{tmp_path / 'p.cu'}:2: {reason}"


def test_textures_that_are_missing_are_refused_with_their_lines(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refused = [
        "texture<double> reference;",
        "unsigned cubemap = cudaArrayCubemap;",
        "cudaMipmappedArray_t mipmaps;",
        "cudaResourceViewDesc view;",
        "void srgb(cudaTextureDesc &how) { how.sRGB = 1; }",
        "__global__ void lod(cudaTextureObject_t t, float *x) { *x = tex2DLod<float>(t, 0, 0, 0); }",
        "__global__ void wide(cudaTextureObject_t t, double *x) { *x = tex2D<double>(t, 0, 0); }",
        "__global__ void three(cudaTextureObject_t t, float3 *x) { *x = tex2D<float3>(t, 0, 0); }",
        "__global__ void write(cudaSurfaceObject_t s) { surf1Dwrite(1.0, s, 0); }",
    ]
    source = tmp_path / "refused.cu"
    source.write_text("\n".join(refused))
    with pytest.raises(ToolchainError):
        build(parse(["-c", str(source), "-o", str(tmp_path / "x.o")]))
    errors = capfd.readouterr().err
    assert [line for i, line in enumerate(refused, 1) if f"refused.cu:{i}:" not in errors] == []


@pytest.mark.parametrize("words", [["-lcublas"], ["-ptx"], ["--no-such-option"], ["-o"], ["missing.cu"], []])
def test_options_without_a_meaning_are_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        build(parse(words))


@pytest.mark.parametrize(
    "words", [["-Werror", "all-warnings"], ["-Werror=all-warnings"], ["-t", "0"], ["-arch=sm_90"]]
)
def test_values_of_ignored_options_are_no_files(words: list[str]) -> None:
    request = parse([*words, "-c", "x.cu"])
    assert (request.inputs, request.compiling) == ([Path("x.cu")], [])


@pytest.mark.parametrize("declared", ["int", "volatile int"])
def test_only_programs_with_volatile_call_the_runtime_at_each_block(tmp_path: Path, declared: str) -> None:
    kernel = f'__global__ void k({declared} *x) {{ x[0] = 1; asm volatile(""); }}'
    text = f"{kernel}\nint main() {{ k<<<1, 1>>>(nullptr); }}\n"
    (tmp_path / "p.cu").write_text(text)
    build(parse(["-c", str(tmp_path / "p.cu"), "-o", str(tmp_path / "p.o")]))
    assert (b"__sanitizer_cov_trace_pc" in (tmp_path / "p.o").read_bytes()) == (declared != "int")


def test_older_standards_than_cpp17_are_raised() -> None:
    words = [["-std=c++11"], ["--std", "gnu++14"], ["-std=c++20"]]
    assert [parse([*given, "x.cu"]).compiling for given in words] == [
        ["-std=c++17"],
        ["-std=gnu++17"],
        ["-std=c++20"],
    ]


@pytest.mark.parametrize("option", ["-I", "-isystem", "--include-path"])
def test_headers_of_a_cuda_toolkit_are_not_used(tmp_path: Path, option: str) -> None:
    (tmp_path / "cuda_runtime.h").write_text("#error the toolkit's header is included\n")
    (tmp_path / "p.cu").write_text("#include <cuda_runtime.h>\nint main() { cudaDeviceSynchronize(); }\n")
    build(parse(["-c", option, str(tmp_path), str(tmp_path / "p.cu"), "-o", str(tmp_path / "p.o")]))
    assert parse([option, str(PROGRAMS), "p.cu"]).preprocessor[1:] == [str(PROGRAMS)]


FOUND: dict[int, set[tuple[str, str | None]]] = {
    1: {("race", "race")},
    2: {("out of bounds", "outside"), ("out of bounds", "outside again")},
    3: {("host access", "host access")},
    4: {("bad copy", "bad copy")},
    5: {("uninitialised copy", "uninitialised copy")},
    6: {("unseen error", "unseen error")},
    7: {("out of bounds", "heap"), ("leak", None)},
    8: {("leak", "leak")},
    9: set(),
    17: {("out of bounds", "beyond the row")},
    18: {("misaligned access", "not in bytes")},
    19: {("out of bounds", "fetch")},
    20: {("bad copy", "bad part")},
    21: {("uninitialised read", "sample")},
    22: {("leak", "array")},
    27: {("bad free", "inside")},
    28: {("bad free", "no host memory")},
    29: {("bad free", "host memory")},
    30: {("bad free", "again")},
    31: {("bad copy", "freed")},
    32: {("bad copy", "symbol")},
    33: {("bad copy", "wide")},
    35: {("host access", "own copy")},
    36: {("host access", "own pair")},
    37: {("bad shuffle", "from nowhere")},
    38: set(),
    39: set(),
    41: set(),
    42: {("uninitialised read", "unwritten half")},
    43: set(),
    44: {("race", "unordered")},
    45: {("deadlock", "named barrier")},
    24: {("use after free", "sample")},
    25: {("race", "surface race")},
    26: {("stale read", "stale")},
}


def test_each_fault_is_found_at_its_line(faults: Path) -> None:
    for wanted, expected in FOUND.items():
        report = run(faults, [str(wanted)], 1, quiet=True, stop=False)
        found = {(one.fault, one.line and one.line.number) for one in report.host}
        found |= {(one.fault, one.actor.line and one.actor.line.number) for one in report.findings}
        assert found == {(fault, mark and line_of(mark)) for fault, mark in expected}, wanted
        assert report.status == 5
        assert report.clean == (not expected)
    (failure,) = run(faults, ["34"], 1, quiet=True, stop=False).failures
    assert "the launch is not cooperative" in failure
    (failure,) = run(faults, ["46"], 1, quiet=True, stop=False).failures
    assert "barrier 1: one thread names" in failure
    stopped = run(faults, ["2"], 1, quiet=True, stop=True)
    assert len(stopped.findings) == 1
    assert run(faults, ["41"], 1, quiet=True, stop=True).clean
    by_itself = subprocess.run([str(faults), "1"], capture_output=True, text=True, check=False)
    assert by_itself.returncode == 86
    assert by_itself.stdout == "done\n"
    assert f"faults.cu:{line_of('race')}" in by_itself.stderr
    assert subprocess.run([str(faults), "9"], capture_output=True, check=False).returncode == 5


@pytest.mark.parametrize(("fault", "number"), [(10, SIGSEGV), (11, SIGABRT), (12, SIGSEGV)])
def test_a_program_that_a_signal_kills_still_reports(faults: Path, fault: int, number: int) -> None:
    report = run(faults, [str(fault)], 1, quiet=True, stop=False)
    by_itself = subprocess.run([str(faults), str(fault)], capture_output=True, text=True, check=False)
    assert report.status == 128 + number
    assert [one.actor.line.number for one in report.findings if one.actor.line] == [line_of("race")]
    (death,) = [*report.failures, *(one.what for one in report.host)]
    assert death.startswith("a signal kills the program: ") and not report.clean
    if fault == 10:
        assert [one.line and one.line.number for one in report.host] == [line_of("null")]
    assert "a signal kills the program" in by_itself.stderr
    assert f"faults.cu:{line_of('race')}" in by_itself.stderr


@pytest.mark.parametrize(("fault", "mark", "what"), [(13, "spins", "plain read"), (14, "computes", "loop")])
def test_a_loop_without_end_is_found_at_its_line(faults: Path, fault: int, mark: str, what: str) -> None:
    report = run(faults, [str(fault)], 1, quiet=True, stop=False)
    (endless,) = [one for one in report.findings if one.fault == "endless"]
    assert (endless.actor.what, endless.actor.line and endless.actor.line.number) == (what, line_of(mark))
    assert report.status == 5


@pytest.mark.parametrize(("fault", "words"), [(15, "is it a pointer of the host?"), (16, "a null pointer")])
def test_a_pointer_to_no_buffer_is_told(faults: Path, fault: int, words: str) -> None:
    report = run(faults, [str(fault)], 1, quiet=True, stop=False)
    assert {one.fault for one in report.findings} == {"out of bounds"}
    assert all(words in one.where for one in report.findings)


def test_a_destroyed_texture_is_refused(faults: Path) -> None:
    (failure,) = run(faults, ["23"], 1, quiet=True, stop=False).failures
    assert failure.endswith("tex2D: the object is destroyed")


@pytest.mark.parametrize("stop", [False, True])
def test_launches_after_a_fault_are_checked(stop: bool) -> None:
    with built([THREE_LAUNCHES], (), "watched") as program:
        for seed in (1, 2, 3):
            report = run(program, [], seed, quiet=True, stop=stop)
            assert report.status == 0
            divergent, outside = report.findings
            assert (divergent.fault, outside.fault) == ("divergent barrier", "out of bounds")
            places = [line and line.number for line in divergent.lines]
            assert places == [line_of(half, THREE_LAUNCHES) for half in ("first half", "second half")]
            assert any("assertion" in failure for failure in report.failures)
            assert not any("illegal" in failure for failure in report.failures)


def test_faults_name_their_arrays() -> None:
    runs = Runs()
    with built([PROGRAMS / "arrays.cu"], (), "watched") as program:
        for seed in (1, 2):
            runs.add(run(program, [], seed, quiet=True, stop=False))
    found = {(one.fault, one.where): of for one, of in runs.findings.values() if isinstance(one, Finding)}
    assert found == {
        ("race", "element 3 of 'x' (16 elements of 4 bytes, allocated at arrays.cu:21)"): 2,
        ("race", "element 1 of 'y' (8 elements of 4 bytes, allocated at arrays.cu:22)"): 2,
        ("race", "element 5 of the shared variable 'part' (32 elements of 4 bytes)"): 2,
        ("race", "element 2 of the shared variable 'other' (4 elements of 4 bytes)"): 2,
        ("race", "element 6 of the __device__ variable 'table' (8 elements of 4 bytes)"): 2,
        ("out of bounds", "element 9 of 'after' (9 elements of 8 bytes, allocated at arrays.cu:23)"): 2,
        ("out of bounds", "index 4 of the array 'other' of type 'int [4]'"): 2,
    }


ALLOCATIONS = PROGRAMS / "allocations.cu"


def test_faults_name_buffers_by_the_calls_that_allocate_them() -> None:
    with built([ALLOCATIONS], (), "watched") as program:
        report = run(program, [], 1, quiet=True, stop=False)
    both, one = line_of("two calls", ALLOCATIONS), line_of("one of two calls", ALLOCATIONS)
    unordered = line_of("unordered", ALLOCATIONS)
    assert {one.where for one in report.findings} == {
        "element 4 of 'managed' (4 elements of 4 bytes, allocated at allocations.cu:8)",
        f"element 4 of a buffer (4 elements of 4 bytes, allocated at allocations.cu:{unordered})",
        "element 4 of 'pinned' (4 elements of 4 bytes, allocated at allocations.cu:10)",
        f"element 4 of 'left' (4 elements of 4 bytes, allocated at allocations.cu:{both})",
        f"element 5 of 'right' (5 elements of 4 bytes, allocated at allocations.cu:{both})",
        f"element 4 of a buffer (4 elements of 4 bytes, allocated at allocations.cu:{one})",
    }
    leaks = {(one.fault, one.what, one.line and one.line.number) for one in report.host}
    assert leaks == {
        ("leak", "16 bytes are never freed ('managed')", line_of("leak", ALLOCATIONS)),
        ("leak", "16 bytes are never freed ('left')", both),
        ("leak", "20 bytes are never freed ('right')", both),
    }


def test_check_says_that_the_rest_of_an_ended_launch_is_unchecked() -> None:
    checked = CliRunner().invoke(main, ["check", str(THREE_LAUNCHES), "--seeds", "1"])
    assert "The rest of this launch was not checked." in checked.stdout
    assert checked.exit_code == 1


def test_failures_that_differ_in_their_threads_are_one() -> None:
    runs = Runs()
    for thread in (3, 17):
        failure = f"kernel 'k', block (0,0,0), thread ({thread},0,0): assertion failed, p.cu:7"
        runs.add(ProgramReport(failures=[failure]))
    runs.add(ProgramReport(failures=["kernel 'k': assertion failed, p.cu:8"]))
    assert list(runs.failures.values()) == [2, 1]


def test_check_says_how_to_declare_a_race() -> None:
    for number, has_race in (("1", True), ("2", False)):
        checked = CliRunner().invoke(main, ["check", str(FAULTS), "--seeds", "1", "--", number])
        assert ("// benign race: REASON" in checked.stdout) == has_race
        assert "no __syncthreads()" not in checked.stdout


@pytest.mark.parametrize(("mode", "error"), [("watched", "no error"), ("plain", "an illegal memory access")])
def test_only_unwatched_programs_get_the_error_of_a_fault(tmp_path: Path, mode: str, error: str) -> None:
    source = tmp_path / "beyond.cu"
    source.write_text(
        "#include <cstdio>\n__global__ void beyond(int *x) { x[4] = 1; }\nint main() {\n    int *x;\n"
        "    cudaMalloc(&x, 16);\n    beyond<<<1, 1>>>(x);\n"
        '    printf("%s", cudaGetErrorString(cudaDeviceSynchronize()));\n}\n'
    )
    with built([source], (), mode) as program:
        assert output(program).startswith(error)


def test_a_launch_without_dynamic_shared_memory_is_named(tmp_path: Path) -> None:
    source = tmp_path / "forgotten.cu"
    source.write_text(
        "__global__ void fill() {\n    extern __shared__ int all[];\n    all[threadIdx.x] = 1;\n}\n"
        "__global__ void both(int *x) {\n    extern __shared__ int all[];\n    __shared__ int part[8];\n"
        "    part[threadIdx.x] = x[0];\n    all[5] = part[threadIdx.x];\n}\n"
        "int main() {\n    int *x;\n    cudaMalloc(&x, 4);\n    cudaMemset(x, 0, 4);\n"
        "    fill<<<1, 1>>>();\n    both<<<1, 1>>>(x);\n    cudaFree(x);\n}\n"
    )
    shown = CliRunner().invoke(main, ["check", str(source), "--seeds", "1"]).stdout
    for element in (0, 5):
        assert f"on element {element} of dynamic shared memory (the launch asked for 0 bytes)" in shown


def test_check_says_that_no_barrier_orders_accesses_to_shared_memory(tmp_path: Path) -> None:
    source = tmp_path / "reverse.cu"
    source.write_text(
        "__global__ void reverse(int *x) {\n    __shared__ int all[64];\n"
        "    all[threadIdx.x] = x[threadIdx.x];\n    x[threadIdx.x] = all[63 - threadIdx.x];\n}\n"
        "int main() {\n    int *x;\n    cudaMalloc(&x, 256);\n    cudaMemset(x, 0, 256);\n"
        "    reverse<<<1, 64>>>(x);\n    cudaFree(x);\n}\n"
    )
    *_, why, how = CliRunner().invoke(main, ["check", str(source), "--seeds", "1"]).stdout.splitlines()
    assert "no __syncthreads() or other barrier orders their accesses" in why
    assert "// benign race: REASON" in how


def test_threads_of_several_dimensions_have_coordinates(tmp_path: Path) -> None:
    source = tmp_path / "shapes.cu"
    source.write_text(
        "__global__ void shapes(int *x) {\n"
        "    if (blockIdx.x + 2 * blockIdx.y + 4 * blockIdx.z == 5 && threadIdx.x == 3 && threadIdx.y == 1)\n"
        "        x[8] = 1;\n    __shared__ int s;\n    if (threadIdx.y < 2) s = threadIdx.y;\n}\n"
        "int main() {\n    int *x;\n    cudaMalloc(&x, 32);\n    cudaMemset(x, 0, 32);\n"
        "    shapes<<<dim3(2, 2, 2), dim3(4, 2)>>>(x);\n    cudaFree(x);\n}\n"
    )
    with built([source], (), "watched") as program:
        report = run(program, [], 1, quiet=True, stop=False)
    race, beyond = sorted(report.findings, key=lambda found: found.fault != "race")
    assert race.other is not None
    for actor in (race.actor, race.other, beyond.actor):
        x, y, z = (actor.block >> bit & 1 for bit in range(3))
        assert actor.who == f"thread ({actor.thread % 4},{actor.thread // 4},0) of block ({x},{y},{z})"
    assert beyond.actor.who == "thread (3,1,0) of block (1,0,1)"


def test_check_and_explain_take_programs() -> None:
    checked = CliRunner().invoke(main, ["check", str(FAULTS), "--seeds", "1", "--json", "--", "4"])
    assert checked.exit_code == 1
    result = json.loads(checked.output)
    assert result["exit_codes"] == [5]
    assert [one["fault"] for one in result["findings"]] == ["bad copy"]
    explained = CliRunner().invoke(main, ["explain", str(FAULTS), "--", "9"], env={"COLUMNS": "200"})
    assert explained.exit_code == 1
    assert "the program's exit code is 5" in explained.stderr
    assert "Prediction, not a measurement" in explained.output and "predicted" in explained.output
    assert "if (threadIdx.x < 16) x[threadIdx.x] = 1;" in explained.output
    ended = CliRunner().invoke(main, ["explain", str(THREE_LAUNCHES)])
    assert ended.exit_code == 1
    assert "divergent barrier: it waits at line" in ended.stderr
    assert "x[threadIdx.x] = 1;" in ended.stdout
    killed = CliRunner().invoke(main, ["explain", str(FAULTS), "--", "11"])
    assert killed.exit_code == 1
    assert "a signal kills the program: Aborted" in killed.stderr
    assert CliRunner().invoke(main, ["check", "push", "--", "4"]).exit_code == 2


def test_a_counting_program_counts_its_lines() -> None:
    with built([FAULTS], (), "counting") as program:
        report = run(program, ["9"], 0, quiet=True, stop=False)
    (launch,) = report.launches
    assert (launch.kernel, launch.blocks, launch.threads) == ("right", 1, 64)
    (stored,) = [of for of in report.counts if of.kind == "store"]
    assert (stored.executions, stored.lanes, stored.sectors) == (1, 16, 2)
    assert not any(isinstance(one, HostFinding) for one in report.findings)


LANES = PROGRAMS / "lanes.cu"


def test_lanes_that_reach_a_call_together_are_one_group() -> None:
    with built([LANES], (), "watched") as program:
        assert output(program) == "16 8 108\n"
        for seed in range(1, 5):
            (found,) = run(program, ["faults"], seed, quiet=True, stop=False).all_findings()
            assert found.fault == "race"
            assert {line and line.number for line in found.lines} == {line_of("without rank", LANES)}
    with built([LANES], (), "counting") as program:
        counts = run(program, [], 0, quiet=True, stop=False).counts
    atomics = {of.line.number: of.lanes for of in counts if of.kind == "atomic" and of.line}
    assert atomics == {line_of("group", LANES): 2, line_of("mask", LANES): 2}


STREAMS = PROGRAMS / "streams.cu"
RACES: dict[int, list[tuple[str, str]]] = {
    1: [("produce", "consume")],
    2: [("memset in a", "memset in b"), ("consume", "memset in b")],
    3: [("produce", "copy in b")],
    4: [("memset", "consume")],
    5: [("produce", "copy")],
    6: [("allocation", "produce"), ("produce", "free in a")],
    7: [("produce", "free")],
    8: [("symbol", "variable")],
    9: [("rows in a", "layers in b")],
    21: [("copy to pinned memory", "read pinned memory")],
    22: [("copy to pageable memory", "read pageable memory")],
    23: [("copy from pinned memory", "overwrite")],
    24: [("produce", "read managed memory")],
    25: [("managed", "read a managed variable")],
    26: [("produce", "read too early")],
}


def test_races_between_streams_are_found_with_both_lines() -> None:
    with built([STREAMS], (), "watched") as program:
        for wanted, expected in {0: [], **RACES}.items():
            report = run(program, [str(wanted)], 1, quiet=True, stop=False)
            assert (report.all_findings(), report.failures) == ([], []), wanted
            if not expected:
                continue
            report = run(program, [str(wanted), "without order"], 1, quiet=True, stop=False)
            found = [tuple(line and line.number for line in one.lines) for one in report.host]
            marks = [tuple(line_of(mark, STREAMS) for mark in both) for both in expected]
            assert sorted(found) == sorted(marks), wanted
            assert {one.fault for one in report.all_findings()} == {"race between streams"}
            if wanted == 1:
                launch = line_of("launch in a", STREAMS)
                words = f"kernel 'produce' in stream 1 (launched at streams.cu:{launch}) writes byte"
                assert words in report.host[0].what
                assert " bytes ('x', allocated at streams.cu:" in report.host[0].what
            if wanted == 21:
                assert "cudaMemcpyAsync in stream 1 writes byte 20 " in report.host[0].what
                assert "; the host reads it at streams.cu:" in report.host[0].what
