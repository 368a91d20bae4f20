// Kernels that launch kernels, in order and not: what a build that watches is to find.
#ifndef STREAM
#define STREAM cudaStreamFireAndForget
#endif
#ifndef AFTER
#define AFTER(word)
#endif

__global__ void child(int *data, int place) {
    if (threadIdx.x == 0) data[place] = data[place] + 1;  // child
}

// The child reads what its launcher, or what the launcher's block before a barrier, has written.
extern "C" __global__ void parent(int *data) {
    if (threadIdx.x == 1) data[0] = 7;  // parent before
    MEET;
    if (threadIdx.x == 0) child<<<1, 32, 0, STREAM>>>(data, 0);
    AFTER(data[0]);
}

extern "C" __global__ void siblings(int *data) {
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; ++i) child<<<1, 32, 0, STREAM>>>(data, 0);
}

extern "C" __global__ void blocks(int *data) {
    if (threadIdx.x == 0) child<<<1, 32, 0, STREAM>>>(data, 0);
}

extern "C" __global__ void refused(int *data, int asks) {
    if (threadIdx.x > 0) return;
    child<<<1, 4096>>>(data, 0);  // refused
    if (asks && cudaGetLastError() != cudaSuccess) data[1] = 1;
}
