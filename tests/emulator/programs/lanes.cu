// Lanes that call __activemask() or coalesced_threads() at one line form a group.
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;

__global__ void sizes(int *out) {
    if (threadIdx.x % 2) out[threadIdx.x] = __popc(__activemask());
    else if (threadIdx.x % 4) out[threadIdx.x] = cg::coalesced_threads().size();
    else out[threadIdx.x] = cg::coalesced_threads().size() + 100;
}

__global__ void with_group(const int *x, int *out, int *n) {
    if (x[threadIdx.x] % 3) return;
    cg::coalesced_group group = cg::coalesced_threads();
    int base = 0;
    if (group.thread_rank() == 0) base = atomicAdd(n, group.size());  // group
    out[group.shfl(base, 0) + group.thread_rank()] = x[threadIdx.x];
}

__global__ void with_mask(const int *x, int *out, int *n) {
    if (x[threadIdx.x] % 3) return;
    unsigned mask = __activemask(), lane = threadIdx.x % 32, first = __ffs(mask) - 1;
    int base = 0;
    if (lane == first) base = atomicAdd(n, __popc(mask));  // mask
    out[__shfl_sync(mask, base, first) + __popc(mask & ((1u << lane) - 1))] = x[threadIdx.x];
}

__global__ void without_rank(const int *x, int *out, int *n) {
    if (x[threadIdx.x] % 3) return;
    cg::coalesced_group group = cg::coalesced_threads();
    int base = 0;
    if (group.thread_rank() == 0) base = atomicAdd(n, group.size());
    out[group.shfl(base, 0)] = x[threadIdx.x];  // without rank
}

// All other threads wait for the thread that has the lock. This thread must not wait for them.
__global__ void locked(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1)) {}
    __threadfence();
    *sum += __popc(__activemask());
    __threadfence();
    atomicExch(lock, 0);
}

int main(int argc, char **) {
    int x[64], *in, *out, *counters, sum[64];
    for (int i = 0; i < 64; ++i) x[i] = i;
    cudaMalloc(&in, sizeof x);
    cudaMalloc(&out, sizeof x);
    cudaMalloc(&counters, 5 * sizeof(int));
    cudaMemset(counters, 0, 5 * sizeof(int));
    cudaMemcpy(in, x, sizeof x, cudaMemcpyHostToDevice);
    sizes<<<1, 64>>>(out);
    cudaMemcpy(x, out, sizeof x, cudaMemcpyDeviceToHost);
    printf("%d %d %d\n", x[1], x[2], x[4]);
    with_group<<<1, 64>>>(in, out, counters);
    with_mask<<<1, 64>>>(in, out, counters + 1);
    if (argc > 1) {
        without_rank<<<1, 64>>>(in, out, counters + 2);
        locked<<<1, 64>>>(counters + 3, counters + 4);
        cudaMemcpy(sum, counters, 5 * sizeof(int), cudaMemcpyDeviceToHost);
        printf("%d\n", sum[4]);
    }
    cudaFree(in);
    cudaFree(out);
    cudaFree(counters);
}
