// What users write, right and, where `wrong` is set, with a fault. The line of a fault has its name behind it.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>

namespace cg = cooperative_groups;

// All threads store and fence, one takes a ticket behind a barrier; those of the last block fence and read.
extern "C" __global__ void last_block(int *in, int *out, int wrong) {
    __shared__ bool last;
    out[1 + blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;  // stored
    if (!wrong) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&out[0], 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    int sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x) sum += out[1 + i];  // read by the last
    in[threadIdx.x] = sum;
}

// A reduction of a warp by volatile words, as before GPUs scheduled each thread by itself.
extern "C" __global__ void volatile_words(int *in, int *out, int wrong) {
    __shared__ int memory[64];
    volatile int *words = memory;
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    for (int d = 16; d > 0; d /= 2) {
        if (threadIdx.x < d) words[threadIdx.x] += words[threadIdx.x + d];  // by volatile words
        if (!wrong) __syncwarp();
    }
}

// Two lanes may store to a word, but not before all have read it.
extern "C" __global__ void store_and_read(int *in, int *out, int wrong) {
    __shared__ int word[2];
    const int warp = threadIdx.x / 32;
    word[warp] = threadIdx.x;  // benign race between stores: any may remain
    if (!wrong) __syncwarp();
    if (word[warp] == threadIdx.x) out[threadIdx.x] = 1;  // read with stores
}

extern "C" __global__ void ended_lanes(int *in, int *out, int wrong) {
    if (wrong && threadIdx.x >= 40) return;
    int sum = threadIdx.x < 40 ? 1 : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);  // from an ended lane
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum;
}

extern "C" __global__ void misaligned(int *in, int *out, int wrong) {
    const int4 four = *reinterpret_cast<const int4 *>(in + 4 * (threadIdx.x % 4) + (wrong ? 1 : 0));  // four at once
    out[threadIdx.x] = four.x;
}

extern "C" __global__ void misaligned_intrinsic(int *in, int *out, int wrong) {
    out[threadIdx.x] = __ldg(reinterpret_cast<const int2 *>(in + 2 * (threadIdx.x % 4) + (wrong ? 1 : 0))).x;  // two
}

extern "C" __global__ void row_end(int *in, int *out, int wrong) {
    __shared__ int rows[8][8];
    const int row = threadIdx.x / 8, column = threadIdx.x % 8;
    rows[row][column] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = rows[row % 7][column + (wrong && column == 7)];  // past the row
}

extern "C" __global__ void own_array(int *in, int *out, int wrong) {
    int mine[4];
    for (int i = 0; i < (wrong ? 5 : 4); ++i) mine[i] = in[i];  // past the thread's own
    out[threadIdx.x] = mine[in[threadIdx.x] & 3];
}

extern "C" __global__ void read_only(int *in, int *out, int wrong) {
    in[threadIdx.x] = threadIdx.x;
    __syncthreads();
    const int *from = wrong ? in : out;
    const int found = __ldg(&from[63 - threadIdx.x]);  // read-only
    __syncthreads();
    out[threadIdx.x] = found;
}

extern "C" __global__ void standard_atomics(int *in, int *out, int wrong) {
    __shared__ cuda::atomic<int, cuda::thread_scope_block> arrived;
    if (threadIdx.x == 0) arrived = 0;
    __syncthreads();
    ++arrived;
    if (threadIdx.x > 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(in[0]);
    if (blockIdx.x == 0) {
        out[0] = arrived.load();  // handed over
        flag.store(1, wrong ? cuda::memory_order_relaxed : cuda::memory_order_release);
    } else {
        while (flag.load(cuda::memory_order_acquire) == 0) __nanosleep(100);
        out[blockIdx.x] = out[0];  // taken
    }
}

// Of 16 lanes each: their sum, and the sums before and up to each.
extern "C" __global__ void of_tiles(int *in, int *out, int wrong) {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int mine = tile.thread_rank(), most = cg::reduce(tile, mine, cg::greater<int>());
    const int before = cg::exclusive_scan(tile, mine), with = cg::inclusive_scan(tile, mine, cg::plus<int>());
    out[threadIdx.x] = 10000 * cg::reduce(tile, mine, cg::plus<int>()) + 100 * (with - before) + most;
}

// By functions of the C library, with a size that is not known beforehand.
extern "C" __global__ void copied(int *in, int *out, int wrong) {
    __shared__ int memory[64];
    if (threadIdx.x == 0) memset(memory, 0, blockDim.x * sizeof(int));
    __syncthreads();
    if (threadIdx.x == 0) memcpy(memory, in, blockDim.x * sizeof(int));  // copied by one
    if (!wrong) __syncthreads();
    out[threadIdx.x] = memory[threadIdx.x];  // read with the copy
}

extern "C" __global__ void copied_past(int *in, int *out, int wrong) {
    if (threadIdx.x == 0) memcpy(out, in + 64, (wrong ? 65 : 64) * sizeof(int));  // past the end
}
