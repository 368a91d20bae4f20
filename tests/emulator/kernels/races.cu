// Wrong on purpose: each gives the right answer in the plain order of threads and blocks.
extern "C" __global__ void missing_barrier(int *out) {
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = t;
    out[blockIdx.x * 256 + t] = t ? s[t - 1] : 0;
}

extern "C" __global__ void assumed_block_order(int *a) {
    if (threadIdx.x == 0) a[blockIdx.x + 1] = a[blockIdx.x] + 1;
}

extern "C" __global__ void check_then_act(int *flag, int *winners) {
    if (*flag == 0) {
        *flag = 1;
        atomicAdd(winners, 1);
    }
}
