// Relaxed loads and stores, for words that one thread may write while another thread reads or writes them.
// Each access is indivisible, and all threads see the values of one word in one order. Relaxed accesses do
// not order accesses to other words. On compute capability 9.0, a relaxed load and __ldcg compile to one
// machine instruction. But in the memory model of PTX, __ldcg is a weak load, so it does not replace a
// relaxed load.
#pragma once

// Loads a word from global memory with relaxed order, and returns its value.
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

// Stores a word with relaxed order, to global memory or to the shared memory of any block of the cluster.
__device__ __forceinline__ void store_relaxed(unsigned *word, unsigned value) {
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ __forceinline__ void store_relaxed(unsigned long long *word, unsigned long long value) {
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ __forceinline__ void store_relaxed(int *word, int value) {
    store_relaxed(reinterpret_cast<unsigned *>(word), (unsigned)value);
}

// Adds a value to a word in global memory with relaxed order. The function returns no result, so the thread does
// not wait for the old value.
__device__ __forceinline__ void add_relaxed(unsigned long long *word, unsigned long long value) {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
