// CUDA's qualifiers and attributes, most of which mean nothing here. `__shared__`, launches,
// `__launch_bounds__` and `__cluster_dims__` are handled by the translator before the compiler sees the text.
#pragma once

#define __CUDA_ARCH__ 900
#define __CUDA_ON_CPU__ 1

#ifdef EMU_COUNT
#define __global__ __attribute__((flatten))  // what a kernel calls is laid out in it, as by nvcc
#else
#define __global__
#endif
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)

#undef __forceinline__
#undef __noinline__
#undef __align__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) alignas(n)

#if !defined(__clang__)
#define __builtin_assume(condition) ((void)0)
#endif
#define __builtin_align__(n) alignas(n)
