// A kernel writes behind the ends of several buffers.
__global__ void outside(int *x) { x[4] = 1; }

int main() {
    int *managed, *freed, *pinned;
    cudaMallocManaged(&managed, 16);  // leak
    cudaMallocManaged(&freed, 16);
    cudaMallocHost(&pinned, 16);
    outside<<<1, 1>>>(managed);
    outside<<<1, 1>>>(pinned);
    cudaFree(freed);
    cudaFreeHost(pinned);
}
