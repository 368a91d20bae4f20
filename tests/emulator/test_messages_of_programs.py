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
