// Asynchronous copies, barriers and pipelines.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "expect.h"

namespace cg = cooperative_groups;

__global__ void copies(const int *in, int *out) {
    __shared__ int part[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    block.sync();
    cuda::memcpy_async(block, part, in, cuda::aligned_size_t<16>(sizeof part), barrier);
    barrier.arrive_and_wait();
    int sum = part[63 - threadIdx.x];
    auto token = barrier.arrive();
    barrier.wait(token);
    cg::memcpy_async(block, part, in + 64, sizeof part);
    cg::wait(block);
    sum += part[63 - threadIdx.x];
    block.sync();
    auto pipe = cuda::make_pipeline(block, &state);
    pipe.producer_acquire();
    cuda::memcpy_async(part + threadIdx.x, in + 128 + threadIdx.x, sizeof(int), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    sum += part[63 - threadIdx.x];
    pipe.consumer_release();
    block.sync();
    __pipeline_memcpy_async(part + threadIdx.x, in + 192 + threadIdx.x, sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[63 - threadIdx.x] = sum + part[threadIdx.x];
}

// The first half of the block copies batches into two buffers. The other half sums them.
template <bool kByRole>
__global__ void specialised(const int *in, int *out, int batches) {
    __shared__ int buffers[2][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    const bool produces = threadIdx.x < 32;
    auto make = [&] {
        if constexpr (kByRole)
            return cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
        else
            return cuda::make_pipeline(block, &state, size_t{32});
    };
    auto pipe = make();
    int sum = 0;
    for (int batch = 0; batch < batches; ++batch) {
        int *buffer = buffers[batch % 2];
        if (produces) {
            pipe.producer_acquire();
            cuda::memcpy_async(buffer + threadIdx.x, in + batch * 32 + threadIdx.x, sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += buffer[63 - threadIdx.x];
            pipe.consumer_release();
        }
    }
    if (!produces) out[63 - threadIdx.x] = sum;
}

__global__ void converted(float x, int *out) { out[0] = __float2int_rz(x), out[1] = __float2int_rn(-x); }

int main() {
    int host[256], *in, *out;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    for (int i = 0; i < 256; ++i) host[i] = i * i;
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    copies<<<1, 64>>>(in, out);
    int results[64];
    cudaMemcpy(results, out, sizeof results, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 64; ++i) TRUE(results[i] == host[i] + host[64 + i] + host[128 + i] + host[192 + 63 - i]);
    for (auto kernel : {specialised<true>, specialised<false>}) {
        cudaMemset(out, 0, 32 * sizeof(int));
        kernel<<<1, 64>>>(in, out, 8);
        cudaMemcpy(results, out, 32 * sizeof(int), cudaMemcpyDeviceToHost);
        for (int i = 0; i < 32; ++i) {
            int sum = 0;
            for (int batch = 0; batch < 8; ++batch) sum += host[batch * 32 + i];
            TRUE(results[i] == sum);
        }
    }
    converted<<<1, 1>>>(1e20f, out);
    cudaMemcpy(results, out, 8, cudaMemcpyDeviceToHost);
    TRUE(results[0] == 2147483647 && results[1] == -2147483647 - 1);
    cudaFree(in), cudaFree(out);
    printf("%d failures\n", failures);
}
