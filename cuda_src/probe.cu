// probe: each kernel measures the highest rate at which a device performs one operation. The code in
// bfsbench/tools/probe.py times the kernels.
//
// Every kernel writes a result, by which the host checks the kernel's work. Results are copies, sums of values,
// counts of failures, or the last index of a chain. Each thread writes its own sum or count of failures, because
// adding up the values of all threads would take time in the measurement.
//
// The kernels `copy`, random_reads and random_bit_tests have signed loop counters. The compiler may assume that
// signed counters do not overflow. So it can compute the number of iterations before the loop, unroll the loop, and
// keep several accesses in flight.
#include "add_min.cuh"
#include "barrier.cuh"
#include "graph.cuh"

// Returns a scattered index below 2^bits for the index i. Different indices give different results, and
// neighbouring indices give distant results. The function multiplies by odd numbers and xors the upper half of the
// bits into the lower half. Each of these steps is invertible.
__device__ __forceinline__ unsigned scatter(unsigned i, int bits) {
    const unsigned mask = (1u << bits) - 1, half = (bits + 1) / 2;
    i = i * 0x9E3779B1u & mask;
    i ^= i >> half;
    i = i * 0x85EBCA6Bu & mask;
    return i ^ i >> half;
}

// Returns the index of the i-th random access. Every 2^bits consecutive accesses form a pass, which uses each
// index once. Each pass starts at a different index.
__device__ __forceinline__ unsigned place(unsigned i, int bits) {
    return scatter(i + (i >> bits) * 0x632BE5ABu, bits);
}

extern "C" __global__ void number(unsigned *numbers, int bits) {
    for (unsigned i = global_thread(); i < 1u << bits; i += grid_threads()) numbers[i] = i;
}

// Copies `copies` elements from one array to another. Both arrays have 2^bits elements, and copying wraps
// around at their end.
extern "C" __global__ void copy(const uint4 *__restrict__ from, uint4 *__restrict__ to, int bits, int copies) {
    const unsigned mask = (1u << bits) - 1;
    const int stride = grid_threads();
#pragma unroll 4
    for (int i = global_thread(); i < copies; i += stride) to[i & mask] = from[i & mask];
}

extern "C" __global__ void random_reads(const unsigned *__restrict__ numbers, int bits, int reads,
                                        unsigned long long *sums) {
    unsigned long long sum = 0;
    const int stride = grid_threads();
#pragma unroll 8
    for (int i = global_thread(); i < reads; i += stride) sum += numbers[place(i, bits)];
    sums[global_thread()] = sum;
}

extern "C" __global__ void random_bit_tests(const unsigned *__restrict__ bitmap, int bits, int tests,
                                            unsigned long long *sums) {
    unsigned long long sum = 0;
    const int stride = grid_threads();
#pragma unroll 8
    for (int i = global_thread(); i < tests; i += stride) {
        const unsigned bit = place(i, bits);
        sum += bitmap[bit >> 5] >> (bit & 31) & 1;
    }
    sums[global_thread()] = sum;
}

// Adds 1 to every word in each pass, by a compare-and-swap. A thread has its own words in all passes, so
// every compare-and-swap finds the value of the previous pass.
extern "C" __global__ void random_atomics(unsigned *words, int bits, int passes, unsigned long long *failures,
                                          int start) {
    unsigned failed = 0;
    for (unsigned value = start; value < start + passes; ++value)
        for (unsigned i = global_thread(); i < 1u << bits; i += grid_threads())
            failed += atomicCAS(&words[scatter(i, bits)], value, value + 1) != value;
    failures[global_thread()] = failed;
}

// Measures add-and-minimum operations in registers. Each thread runs CHAINS independent chains, to hide the latency
// of an operation. Each chain has a number, to which `rounds` operations add 1 each. The minimum with `bound` never
// takes effect. The host defines CHAINS.
template <class Operation>
__device__ __forceinline__ void run_chains(int rounds, int bound, unsigned *sums, Operation operation) {
    int numbers[CHAINS];
    for (int i = 0; i < CHAINS; ++i) numbers[i] = i;
    const int step = bound > 0;  // the compiler does not know this value, so it must compute the sums
#pragma unroll 4
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < CHAINS; ++i) numbers[i] = operation(numbers[i], step, bound);
    }
    unsigned sum = 0;
    for (int i = 0; i < CHAINS; ++i) sum += numbers[i];
    sums[global_thread()] = sum;
}

extern "C" __global__ void add_minima(int rounds, int bound, unsigned *sums) {
    run_chains(rounds, bound, sums, [](int a, int b, int c) { return min(a + b, c); });
}

extern "C" __global__ void add_minima_intrinsic(int rounds, int bound, unsigned *sums) {
    run_chains(rounds, bound, sums, [](int a, int b, int c) { return add_min(a, b, c); });
}

// Follows a chain of loads with one thread. Each load returns the index of the next load.
extern "C" __global__ void dependent_loads(const unsigned *__restrict__ next, int steps, unsigned *last) {
    unsigned at = 0;
    for (int step = 0; step < steps; ++step) at = next[at];
    *last = at;
}

extern "C" __global__ void barriers(grid_barrier *barrier, int rounds, unsigned *missed) {
    unsigned failed = 0;
    for (int round = 0; round < rounds; ++round) failed += !wait_for_all_blocks(barrier, 1 << 26);
    missed[global_thread()] = failed;
}

// Adds 1 to *count. Launches of one stream run one after another, so no atomic is needed.
extern "C" __global__ void count_launch(int *count) {
    if (threadIdx.x == 0) ++*count;
}
