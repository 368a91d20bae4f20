// "__shared__ in a string", <<<and a launch>>> (in a comment) are left alone.
#include "helper.cuh"
#include "helper.cuh" /* twice */

extern "C" {
__global__ void with_header(int *out) {
    const char *text = "__shared__ int x; k<<<1, 1>>>(y); // not a comment";
    volatile __shared__ int last[1 << 4], *where;
    where = last + (threadIdx.x ? 0 : 0);
    last[threadIdx.x & 15] = text[0] == '_';
    __syncthreads();
    out[threadIdx.x] = helped((int)threadIdx.x) + where[threadIdx.x & 15];
}
}
