// Relaxed accesses: to words of global memory that one thread may write while another looks, where nothing orders the
// two. Neither is torn or answered by the L1 cache, and looks at a word never go back in time; other words say nothing by it.
#pragma once

__device__ __forceinline__ unsigned load_relaxed(const unsigned *word) {
    unsigned value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}
__device__ __forceinline__ unsigned long long load_relaxed(const unsigned long long *word) {
    unsigned long long value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}
__device__ __forceinline__ int load_relaxed(const int *word) {
    return (int)load_relaxed(reinterpret_cast<const unsigned *>(word));
}

__device__ __forceinline__ void store_relaxed(unsigned *word, unsigned value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ __forceinline__ void store_relaxed(unsigned long long *word, unsigned long long value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ __forceinline__ void store_relaxed(int *word, int value) {
    store_relaxed(reinterpret_cast<unsigned *>(word), (unsigned)value);
}
