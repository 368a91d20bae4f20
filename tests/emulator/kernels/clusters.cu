// Thread-block clusters: barriers over several blocks, and each other's shared memory.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#ifndef SIZE
#define SIZE 4
#endif

// Every block writes its rank into all blocks' shared memory, then reads the whole of its own.
extern "C" __global__ void __cluster_dims__(SIZE, 1, 1) exchange(int *out) {
    __shared__ int from[SIZE];
    extern __shared__ int dynamic[];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    if (threadIdx.x == 0) dynamic[0] = 100 + rank;
    cluster.sync();
    if (threadIdx.x < cluster.num_blocks()) {
        cluster.map_shared_rank(from, threadIdx.x)[rank] = rank * 10 + blockIdx.x / SIZE;
    }
    cluster.sync();
    int next = (rank + 1) % SIZE;
    if (threadIdx.x == 0) {
        int sum = *cluster.map_shared_rank(dynamic, next);
        for (int r = 0; r < SIZE; ++r) sum += 1000 * from[r];
        out[blockIdx.x] = sum;
    }
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(SIZE, 1, 1) split_barrier(int *out) {
    __shared__ int word;
    cg::cluster_group cluster = cg::this_cluster();
    int sum = 0;
    for (int r = 0; r < 5; ++r) {
        if (threadIdx.x == 0) word = blockIdx.x + r;
        cluster.barrier_arrive();
        cluster.barrier_wait();
        sum += *cluster.map_shared_rank(&word, (cluster.block_rank() + r) % SIZE);
        cluster.sync();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Wrong: a block may end while another still reads its shared memory.
extern "C" __global__ void __cluster_dims__(SIZE, 1, 1) leaves_early(int *out) {
    __shared__ int word;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) word = blockIdx.x;
    cluster.sync();
    if (cluster.block_rank() == 0) return;
    __nanosleep(1000);
    if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&word, 0);
}
