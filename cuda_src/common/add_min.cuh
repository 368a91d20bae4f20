// The basic operation of kernels for all-pairs shortest paths. A distance becomes the minimum of itself and the
// length of a path through another vertex.
#pragma once

// Returns min(a + b, c). From compute capability 9.0 on, the intrinsic function compiles to one instruction.
__device__ __forceinline__ int add_min(int a, int b, int c) {
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ >= 12
    return __viaddmin_s32(a, b, c);
#else
    return min(a + b, c);
#endif
}
