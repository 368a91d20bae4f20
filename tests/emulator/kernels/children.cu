// Kernels that launch kernels.
extern "C" __global__ void child(int *out, int base, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[base + i], 1);
}

extern "C" __global__ void parent(int *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < 16) child<<<dim3((n + 63) / 64), dim3(64)>>>(out, t * n, n);
}

template <int STEP>
__global__ void note(int *log, int *position, int what) {
    log[atomicAdd(position, 1)] = what + STEP;
}

__global__ void nested(int *log, int *position, int what) {
    log[atomicAdd(position, 1)] = what;
    note<100><<<1, 1, 0, cudaStreamTailLaunch>>>(log, position, what);
    note<200><<<1, 1>>>(log, position, what);
}

// Order: its own entry, each child with its descendants, and last what was launched into the tail stream.
extern "C" __global__ void family(int *log, int *position) {
    note<900><<<1, 1, 0, cudaStreamTailLaunch>>>(log, position, 0);
    log[atomicAdd(position, 1)] = 1;
    nested<<<1, 1>>>(log, position, 2);
    nested<<<1, 1, 0>>>(log, position, 3);
}

// A loop without the host: each grid launches the next.
extern "C" __global__ void countdown(int *steps, int left) {
    *steps += 1;
    if (left > 1) countdown<<<1, 1, 0, cudaStreamTailLaunch>>>(steps, left - 1);
}

// Launches once a thread and counts refusals: out[0] ran, out[1] refused, out[2] the last error seen.
extern "C" __global__ void one(int *out) { atomicAdd(out, 1); }
extern "C" __global__ void many(int *out) {
    one<<<1, 1, 0, cudaStreamFireAndForget>>>(out);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        atomicAdd(&out[1], 1);
        out[2] = error;
    }
    if (cudaGetLastError() != cudaSuccess) out[3] = 1;
}

extern "C" __global__ void too_large(int *out) {
    one<<<1, 4096>>>(out);
    out[1] = cudaGetLastError() != cudaSuccess;
}
