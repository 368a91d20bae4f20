// CUDA's qualifiers and attributes. Most of them have no effect in the emulator. The translator handles
// `__shared__`, launches, `__launch_bounds__` and `__cluster_dims__` before the compiler runs.
#pragma once

#define __CUDA_ARCH__ 900
#define __CUDA_ON_CPU__ 1

#ifdef EMU_PROGRAM_MODE  // for programs the translator reads these qualifiers in the preprocessed text
#else
#define __device__
#define __constant__
#endif
#ifdef EMU_PROGRAM
#elif defined(EMU_COUNT)
#define __global__ __attribute__((flatten))  // `flatten` inlines all calls into the kernel, as nvcc does
#else
#define __global__
#endif
#define __host__
#define __managed__
#define __grid_constant__
#ifndef EMU_PROGRAM
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#endif
#define __maxnreg__(...)

#undef __forceinline__
#undef __align__
#ifdef EMU_PROGRAM  // g++ refuses a pointer to a function that it must always inline
#define __forceinline__ inline
#else
#define __forceinline__ inline __attribute__((always_inline))
#endif
#ifndef EMU_PROGRAM  // headers of the C++ library use the name __noinline__ as an attribute
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#endif
#ifdef EMU_PROGRAM  // programs may write __align__ after a type, where alignas is not allowed
#define __align__(n) __attribute__((aligned(n)))
#else
#define __align__(n) alignas(n)
#endif

#if !defined(__clang__)
#define __builtin_assume(condition) ((void)0)
#endif
#define __builtin_align__(n) alignas(n)
