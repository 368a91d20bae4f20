// Shared memory and block barriers.
extern "C" __global__ void scan(const int *in, int *out, int n) {
    __shared__ int s[2][256], total;
    int t = threadIdx.x, i = blockIdx.x * 256 + t, p = 0;
    s[p][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d <<= 1) {
        s[1 - p][t] = s[p][t] + (t >= d ? s[p][t - d] : 0);
        p = 1 - p;
        __syncthreads();
    }
    if (t == 255) total = s[p][t];
    __syncthreads();
    if (i < n) out[i] = s[p][t] + 1000000 * (total == s[p][255]);
}

// Two arrays in the dynamic part, and shared variables in a device function template.
template <int N>
__device__ int rotate(int x) {
    __shared__ __align__(64) int lane_words[1024];
    lane_words[threadIdx.x] = x;
    __syncthreads();
    int y = lane_words[(threadIdx.x + N) % blockDim.x];
    __syncthreads();
    return y;
}
extern "C" __global__ void reverse(int *a, int n) {
    extern __shared__ int words[];
    short *extra = (short *)(words + n);
    int t = threadIdx.x;
    words[t] = a[blockIdx.x * n + t];
    extra[t] = (short)t;
    __syncthreads();
    int x = words[n - 1 - t] + extra[n - 1 - t];
    a[blockIdx.x * n + t] = rotate<1>(x) - rotate<2>(0);
}

// Counts that every thread must see equal; threads that have left do not hold the others up.
extern "C" __global__ void counts(int *out) {
    int t = threadIdx.x;
    if (t >= 100) return;
    int odd = __syncthreads_count(t & 1), any = __syncthreads_or(t == 99), all = __syncthreads_and(t < 99);
    int every = __syncthreads_and(t < 100);
    out[t] = odd + 1000 * (any != 0) + 2000 * (all != 0) + 4000 * (every != 0);
}

extern "C" __global__ void indices(int *out) {
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 10000 + thread;
}

// Reports what shared memory holds when a block starts.
extern "C" __global__ void garbage(unsigned *out) {
    __shared__ unsigned word;
    if (threadIdx.x) return;
    out[blockIdx.x] = word;
    word = 0;
}
