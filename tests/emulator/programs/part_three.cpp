#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cassert>
int devices_of_host_part() {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    assert(error == cudaSuccess);
    assert(__half2float(__float2half(0.5f)) == 0.5f && hrsqrt(__nv_bfloat16(4)) == 0.5f);
    return count;
}
