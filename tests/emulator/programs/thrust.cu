#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

#include <cstdio>

__global__ void fill(int *x) { x[threadIdx.x] = 31 - threadIdx.x; }
int main() {
    thrust::device_vector<int> v(32);
    fill<<<1, 32>>>(thrust::raw_pointer_cast(v.data()));
    thrust::sort(thrust::device, v.begin(), v.end());
    printf("%d %d\n", (int)v[3], thrust::reduce(v.begin(), v.end()));
}
