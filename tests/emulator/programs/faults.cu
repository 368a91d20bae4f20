// One fault each, chosen by its number.
#include <cstdio>
#include <cstdlib>

__global__ void race(int *x) {
    x[0] = threadIdx.x;  // race
}
__global__ void outside(int *x) {
    if (threadIdx.x < 17) x[threadIdx.x] = 1;  // outside
    if (threadIdx.x == 3) x[2] = x[20];  // outside again
}
__global__ void right(int *x) {
    if (threadIdx.x < 16) x[threadIdx.x] = 1;
}
__global__ void heap(int *x) {
    if (threadIdx.x) return;
    int *own = static_cast<int *>(malloc(8));
    own[0] = 1;
    x[0] = own[2];  // heap
    free(own);
}
__global__ void spins(int *x) {
    while (x[0] == 0) {  // spins
    }
    x[1] = 1;
}
__global__ void computes(unsigned y, int *x) {
    while (y != 0) y = y * 2 + 1;  // computes
    x[0] = y;
}
int overflow(int depth) {
    volatile char room[4096];
    room[0] = depth;
    return overflow(depth + 1) + room[0];
}

int main(int argc, char **argv) {
    int *x, host[32] = {};
    cudaMalloc(&x, 64);  // leak
    int wanted = atoi(argv[1]);
    if (wanted == 1) race<<<1, 64>>>(x);
    if (wanted == 2) outside<<<1, 64>>>(x);
    if (wanted == 3) host[0] = x[1];  // host access
    if (wanted == 4) cudaMemcpy(x, host, 128, cudaMemcpyHostToDevice);  // bad copy
    if (wanted == 5) cudaMemcpy(host, x, 64, cudaMemcpyDeviceToHost);  // uninitialised copy
    if (wanted == 6) right<<<1, 2000>>>(x);  // unseen error
    if (wanted == 7) heap<<<1, 32>>>(x);
    if (wanted >= 10 && wanted < 15) race<<<1, 64>>>(x);
    if (wanted == 10) *static_cast<volatile int *>(nullptr) = 1;  // null
    if (wanted == 11) abort();
    if (wanted == 12) wanted = overflow(0);
    if (wanted == 13) cudaMemset(x, 0, 4), spins<<<1, 32>>>(x);
    if (wanted == 14) computes<<<1, 32>>>(1, x);
    if (wanted == 15) right<<<1, 64>>>(host);
    if (wanted == 16) right<<<1, 64>>>(nullptr);
    right<<<1, 64>>>(x);
    if (wanted != 8) cudaFree(x);
    printf("done\n");
    return 5;
}
