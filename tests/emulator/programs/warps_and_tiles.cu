// Matrix fragments, tiles of several warps, latches, and numbers within a word.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/latch>
#include <cuda/semaphore>
#include <mma.h>

#include <cassert>

#include "expect.h"

namespace cg = cooperative_groups;
namespace wmma = nvcuda::wmma;

constexpr int kM = 32, kN = 8, kK = 16;

template <class T, class Sum>
__global__ void product(const T *a, const T *b, Sum *c) {
    wmma::fragment<wmma::matrix_a, kM, kN, kK, T, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, kM, kN, kK, T, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, kM, kN, kK, Sum> sum;
    wmma::fill_fragment(sum, Sum(3));
    wmma::load_matrix_sync(left, a, kK);
    wmma::load_matrix_sync(right, b, kK);
    wmma::mma_sync(sum, left, right, sum);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + Sum(1);
    wmma::store_matrix_sync(c, sum, kM, wmma::mem_col_major);
}

template <class T, class Sum>
void multiply() {
    T *a, *b;
    Sum *c;
    DO(cudaMallocManaged(&a, kM * kK * sizeof(T)));
    DO(cudaMallocManaged(&b, kK * kN * sizeof(T)));
    DO(cudaMallocManaged(&c, kM * kN * sizeof(Sum)));
    for (int i = 0; i < kM * kK; ++i) a[i] = T(i % 5 - 2);
    for (int i = 0; i < kK * kN; ++i) b[i] = T(i % 7 - 3);
    product<<<1, 32>>>(a, b, c);
    DO(cudaDeviceSynchronize());
    for (int row = 0; row < kM; ++row) {
        for (int column = 0; column < kN; ++column) {
            int sum = 4;
            for (int k = 0; k < kK; ++k) sum += ((row * kK + k) % 5 - 2) * ((column * kK + k) % 7 - 3);
            TRUE(float(c[column * kM + row]) == sum);
        }
    }
    DO(cudaFree(a));
    DO(cudaFree(b));
    DO(cudaFree(c));
}

__global__ void tiles(int *out) {
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int rank = tile.thread_rank();
    assert(cg::reduce(tile, rank, cg::plus<int>()) == 2016 && cg::exclusive_scan(tile, 1) == rank);
    assert(cg::inclusive_scan(tile, rank, cg::greater<int>()) == rank);
    assert(tile.shfl(int(threadIdx.x), 5) == int(tile.meta_group_rank()) * 64 + 5);
    assert(tile.any(rank == 40) && !tile.all(rank == 40) && tile.meta_group_size() == 4);
    if (tile.meta_group_rank() == 1) {  // only the threads of one tile wait
        for (int i = 0; i < 3; ++i) {
            if (rank == i) out[i] = i ? out[i - 1] + 1 : 10;
            tile.sync();
        }
    }
    auto warp = cg::tiled_partition<32>(tile);
    auto quarter = cg::tiled_partition<8>(warp);
    assert(warp.meta_group_size() == 2 && warp.meta_group_rank() == threadIdx.x / 32 % 2);
    assert(quarter.meta_group_size() == 4 && quarter.meta_group_rank() == threadIdx.x % 32 / 8);
    cg::thread_block_tile<8> any_tile = quarter;
    assert(any_tile.meta_group_rank() == quarter.meta_group_rank());
    cg::invoke_one(block, [&] { atomicAdd(out + 3, 1); });
}

__global__ void waiting(int *out) {
    __shared__ char places[2][16];
    auto &latch = *reinterpret_cast<cuda::latch<cuda::thread_scope_block> *>(places[0]);
    auto &semaphore = *reinterpret_cast<cuda::binary_semaphore<cuda::thread_scope_block> *>(places[1]);
    if (threadIdx.x == 0) new (&latch) cuda::latch<cuda::thread_scope_block>(32);
    if (threadIdx.x == 0) new (&semaphore) cuda::binary_semaphore<cuda::thread_scope_block>(1);
    __syncthreads();
    if (threadIdx.x < 32) latch.count_down();
    latch.wait();
    semaphore.acquire();
    out[4] += 1;
    semaphore.release();
}

__global__ void words() {
    assert(__viaddmax_s32(3, -9, -7) == -6 && __viaddmin_u16x2(0x00010002, 0x00030004, 0x00050005) == 0x00040005);
    assert(__vimax3_s16x2(0x0001fffe, 0x0002ffff, 0x00000000) == 0x00020000 && __vimin_s32_relu(-4, 3) == 0);
    bool high, low;
    assert(__vibmin_s16x2(0x00010005, 0xffff0007, &high, &low) == 0xffff0005 && !high && low);
    assert(__fns(0x16, 0, 2) == 2 && __fns(0x16, 31, -1) == 4 && __fns(0, 0, 1) == ~0u);
    __half one = __float2half(1), none = __float2half(0.f / 0.f);
    assert(!__heq(one, none) && !__hne(one, none) && __hequ(one, none) && __hltu(one, none) && __hgeu(one, one));
    assert(__half2float(__hfma_relu(one, __hneg(one), __float2half(0.5f))) == 0 && __half2float(__hmul_sat(one, __float2half(3))) == 1);
    assert(__half2float(__hmax_nan(one, __float2half(2))) == 2 && __hisnan(__hmax_nan(one, none)));
}

int main() {
    multiply<__half, float>();
    multiply<__half, __half>();
    multiply<__nv_bfloat16, float>();
    multiply<signed char, int>();
    int *out;
    DO(cudaMallocManaged(&out, 5 * sizeof(int)));
    for (int i = 0; i < 5; ++i) out[i] = 0;
    tiles<<<1, 256>>>(out);
    waiting<<<1, 64>>>(out);
    words<<<1, 1>>>();
    DO(cudaDeviceSynchronize());
    TRUE(out[2] == 12 && out[3] == 1 && out[4] == 64);
    DO(cudaFree(out));
    printf("%d failures\n", failures);
}
