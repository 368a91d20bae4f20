// A kernel writes behind the ends of several buffers.
__global__ void outside(int *x) { x[4] = 1; }

static void use(cudaError_t, cudaError_t) {}

int main() {
    int *managed, *freed, *pinned;
    cudaMallocManaged(&managed, 16);  // leak
    cudaMallocManaged(&freed, 16);
    cudaMallocHost(&pinned, 16);
    int *left, *right, *first = nullptr, *second;
    cudaMalloc(&left, 16), cudaMalloc((void **)&right, 20);  // two calls
    if (first) cudaMalloc(&first, 16); cudaMalloc(&second, 16);  // one of two calls
    int *one, *two;
    use(cudaMalloc(&one, 16), cudaMalloc(&two, 16));  // unordered
    outside<<<1, 1>>>(managed);
    outside<<<1, 1>>>(one);
    cudaFree(one);
    cudaFree(two);
    outside<<<1, 1>>>(left);
    outside<<<1, 1>>>(right + 1);
    outside<<<1, 1>>>(second);
    cudaFree(second);
    outside<<<1, 1>>>(pinned);
    cudaFree(freed);
    cudaFreeHost(pinned);
}
