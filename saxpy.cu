
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;
    for (int i = first; i < first + UNROLL && i < n; ++i) y[i] = a * x[i] + y[i];
}
