#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/error.h>
#include <thrust/system_error.h>

__global__ void fill(int *x) { x[threadIdx.x] = 31 - threadIdx.x; }
int main() {
    thrust::device_vector<int> v(32);
    fill<<<1, 32>>>(thrust::raw_pointer_cast(v.data()));
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    thrust::sort(thrust::cuda::par.on(stream), v.begin(), v.end());
    cudaStreamDestroy(stream);
    thrust::sequence(v.begin(), v.begin() + 4, 3);  // no header names `sequence` or `cout`, as in real programs
    std::cout << v[3] << ' ' << thrust::reduce(thrust::device, v.begin(), v.end()) << '\n';
    try {
        throw thrust::system_error(cudaErrorInvalidValue, thrust::cuda_category(), "made up");
    } catch (const thrust::system_error &error) {
        std::cout << error.what() << ", " << error.code().value() << '\n';
    }
}
