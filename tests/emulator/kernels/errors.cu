// Kernels that must be reported.
extern "C" __global__ void divergent_barrier(int *out) {
    __shared__ int word;
    if (threadIdx.x < 16) {
        __syncthreads();
        word = 1;
    } else {
        __syncthreads();
    }
    out[0] = word;
}

extern "C" __global__ void barrier_against_warp(int *out) {
    if (threadIdx.x < 16) {
        __syncthreads();
    } else {
        out[0] = __ballot_sync(0xffffffffu, 1);
    }
}

extern "C" __global__ void outside_mask(int *out) { out[threadIdx.x] = __ballot_sync(0x0000fffeu, 1); }

extern "C" __global__ void outside_source(int *out) {
    if (threadIdx.x < 4) out[threadIdx.x] = __shfl_sync(0x0000000fu, 1, 9);
}

extern "C" __global__ void mismatch(int *out) {
    if (threadIdx.x % 2) {
        out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
    } else {
        out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
    }
}

extern "C" __global__ void different_masks(int *out) {
    if (threadIdx.x == 0) {
        __syncwarp(0x3u);
    } else if (threadIdx.x == 1) {
        __syncwarp(0x7u);
    }
    out[threadIdx.x] = 1;
    __syncwarp();
}

extern "C" __global__ void trap(int n) {
    if (blockIdx.x == 2 && threadIdx.x == 5 && n) __trap();
}

extern "C" __global__ void wild(int *out, int n) {
    if (threadIdx.x == 3) *(int *)(long long)(n + 16) = 1;
    out[threadIdx.x] = 1;
}

__device__ __noinline__ int deep(int n) {
    volatile int frame[64];
    frame[n & 63] = n;
    return n ? deep(n - 1) + frame[n & 63] : 0;
}
extern "C" __global__ void recurse(int *out, int n) { out[threadIdx.x] = deep(n); }

extern "C" __global__ void divide(int *out, int n) { out[threadIdx.x] = 7 / n; }

extern "C" __global__ void __launch_bounds__(128) bounded(int *out) { out[threadIdx.x] = 1; }

extern "C" __global__ void optional(int *out, const int *maybe) { *out = maybe ? *maybe : -1; }

extern "C" __global__ void hog(int *out) {
    __shared__ int words[12000];
    words[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = words[threadIdx.x];
}

// Writes one element wherever it is told, in the buffer or not.
extern "C" __global__ void clear_byte(signed char* out, int place) { out[place] = 0; }

extern "C" __global__ void write_at(int* out, long long place, int value) {
    if (threadIdx.x == 5) out[place] = value;
}
