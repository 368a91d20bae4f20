// Checks for test programs. A check that fails prints its line and counts in `failures`.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>

inline int failures = 0;
#define IS(expected, call) \
    if (cudaError_t error = (call); error != expected) printf("line %d: %s\n", __LINE__, cudaGetErrorName(error)), ++failures
#define DO(call) IS(cudaSuccess, call)
#define TRUE(condition) \
    if (!(condition)) printf("line %d: %s\n", __LINE__, #condition), ++failures
