"""Tests of the messages with which ``check`` answers about whole programs."""

from pathlib import Path

from tests.commands import invoke, refused

ONE_THREAD_ENDS = """
__global__ void fill(int *out) {
    __shared__ int part[32];
    if (threadIdx.x == 8) out[64] = 1;
    part[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = part[(threadIdx.x + 1) % 32];
}
int main() {
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    fill<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    cudaFree(out);
}
"""


def test_check_says_that_other_findings_may_follow_from_a_first_fault(tmp_path: Path) -> None:
    program = tmp_path / "ends.cu"
    program.write_text(ONE_THREAD_ENDS)
    checked = invoke("check", program, "--seeds", 1)
    assert "out of bounds" in checked.stdout and "uninitialised read" in checked.stdout
    assert "The emulator ended 1 thread of a run" in checked.stdout
    stopped = invoke("check", program, "--seeds", 1, "--stop-at-first")
    assert "1 found" in stopped.stdout and "emulator ended" not in stopped.stdout


def test_check_says_where_words_for_a_program_go(tmp_path: Path) -> None:
    program = tmp_path / "ends.cu"
    program.write_text(ONE_THREAD_ENDS)
    assert refused(invoke("check", program, "500", "3")).endswith(f"as in '{program} -- 500 3'")


def test_an_access_outside_names_an_array_that_the_kernel_received(tmp_path: Path) -> None:
    program = tmp_path / "p.cu"
    program.write_text(
        "__global__ void store(int *x) { x[threadIdx.x + 300] = 1; }\n"
        "int main() {\n  int *x, *y;\n  cudaMalloc(&x, 400);\n  cudaMalloc(&y, 4000);\n"
        "  store<<<1, 1>>>(x);\n  cudaFree(x);\n  cudaFree(y);\n}\n"
    )
    found = invoke("check", program, "--seeds", 1).stdout
    assert "on element 300 of 'x' (100 elements of 4 bytes, allocated at p.cu:4)" in found
