// Warp collectives. Every result of a lane goes to out[k * 32 + lane].
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define FULL 0xffffffffu

extern "C" __global__ void shuffles(const long long *in, long long *out, int width, int delta) {
    int lane = threadIdx.x & 31;
    long long x = in[lane];
    out[lane] = __shfl_sync(FULL, x, delta, width);
    out[32 + lane] = __shfl_up_sync(FULL, x, delta, width);
    out[64 + lane] = __shfl_down_sync(FULL, x, delta, width);
    out[96 + lane] = __shfl_xor_sync(FULL, x, delta, width);
    out[128 + lane] = __shfl_sync(FULL, (float)x, delta, width);
}

extern "C" __global__ void votes(const int *in, int *out) {
    int lane = threadIdx.x & 31, x = in[lane], equal;
    out[lane] = __ballot_sync(FULL, x & 1);
    out[32 + lane] = __any_sync(FULL, x == 3);
    out[64 + lane] = __all_sync(FULL, x >= 0);
    out[96 + lane] = __match_any_sync(FULL, x);
    out[128 + lane] = __match_all_sync(FULL, x > 100, &equal) == FULL && equal;
    out[160 + lane] = __reduce_add_sync(FULL, x);
    out[192 + lane] = __reduce_min_sync(FULL, x - 50);
    out[224 + lane] = __reduce_max_sync(FULL, (unsigned)(x - 50));
    out[256 + lane] = __reduce_and_sync(FULL, (unsigned)x);
    out[288 + lane] = __reduce_or_sync(FULL, (unsigned)x);
    out[320 + lane] = __reduce_xor_sync(FULL, (unsigned)x);
    unsigned mine = __activemask();
    out[352 + lane] = (mine >> lane & 1) ? __popc(mine) >= 1 : 0;
    __syncwarp();
}

// Tiles of four lanes that loop a different number of times each, as virtual warps do.
extern "C" __global__ void tiles(const int *rounds, int *out) {
    cg::thread_block_tile<4> tile = cg::tiled_partition<4>(cg::this_thread_block());
    int sum = 0;
    for (int r = 0; r < rounds[tile.meta_group_rank()]; ++r) {
        sum += tile.shfl(r + (int)tile.thread_rank(), r % 4);
        tile.sync();
    }
    out[threadIdx.x] = sum;
    out[blockDim.x + threadIdx.x] = tile.ballot(tile.thread_rank() != 1);
    out[2 * blockDim.x + threadIdx.x] = tile.shfl_down((int)threadIdx.x, 1) + tile.any(threadIdx.x == 5) + (int)tile.size();
}

// Halves of a warp in different collectives at the same time, then all together; some lanes leave early.
extern "C" __global__ void halves(int *out) {
    int lane = threadIdx.x & 31, x = 0;
    if (lane < 16) {
        for (int i = 0; i < 3; ++i) x = __shfl_xor_sync(0x0000ffffu, lane + i, 1);
    } else {
        x = __ballot_sync(0xffff0000u, lane & 1);
    }
    __syncwarp();
    if (lane >= 24) return;
    out[lane] = x + 1000 * __popc(__ballot_sync(0x00ffffffu, 1));
}

// An exclusive scan that would break if a fast lane could overwrite a word that a slow one has not read yet.
extern "C" __global__ void scan(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int x = i < n ? in[i] : 0, sum = x;
    for (int d = 1; d < 32; d <<= 1) {
        int y = __shfl_up_sync(FULL, sum, d);
        if (lane >= d) sum += y;
    }
    if (i < n) out[i] = sum - x;
}

// Appends with one atomic for the lanes that run together, whoever they are.
extern "C" __global__ void aggregate(int *count, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || i % 3) return;
    cg::coalesced_group active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(count, active.size());
    out[active.shfl(base, 0) + active.thread_rank()] = i;
}
