#include <cuda_runtime.h>
#include <cassert>
int devices_of_host_part() {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    assert(error == cudaSuccess);
    return count;
}
