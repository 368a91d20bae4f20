// Inline PTX. The kernel counts the results that are wrong.
#include <cstdio>

#define ADD(address, value) asm volatile("red.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory")
__device__ unsigned failures;
#define IS(expected, value)                                                                             \
    if ((value) != (expected)) printf("line %d, thread %u\n", __LINE__, threadIdx.x), atomicAdd(&failures, 1)

__global__ void memory(unsigned *word, unsigned *flag) {
    unsigned x, y, place;
    asm("mov.u32 %0, %%tid.x;" : "=r"(x));
    asm("{\n\t.reg .u32 t;\n\tmov.u32 t, %%ntid.x;\n\tadd.u32 %0, t, 1;\n\t}" : "=r"(y));
    IS(threadIdx.x, x);
    IS(33, y);
    asm("mov.u32 %0, %%ctaid.y;\n\tmov.u32 %1, %nctaid.y;" : "=r"(x), "=r"(y));
    IS(blockIdx.y, x);
    IS(2, y);
    ADD(word, 2);
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(place) : "l"(word + 1), "r"(1));
    if (place == 63) asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
    do {
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(x) : "l"(flag) : "memory");
    } while (!x);
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;\n\tbar.sync 0;" ::: "memory");
}

int main() {
    unsigned *x, words[3];
    cudaMalloc(&x, sizeof words);
    cudaMemset(x, 0, sizeof words);
    memory<<<dim3(1, 2), 32>>>(x, x + 2);
    cudaMemcpy(words, x, sizeof words, cudaMemcpyDeviceToHost);
    unsigned wrong;
    cudaMemcpyFromSymbol(&wrong, failures, sizeof wrong);
    printf("%u failures, %u %u %s\n", wrong, words[0], words[1], cudaGetErrorName(cudaGetLastError()));
    cudaFree(x);
}
