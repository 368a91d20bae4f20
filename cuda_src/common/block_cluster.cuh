// The blocks of a thread-block cluster: their barrier, and each other's shared memory. The host defines CLUSTER_SIZE;
// where it is 1, a block is by itself, on devices without clusters too.
#pragma once

#if CLUSTER_SIZE > 1
#include <cooperative_groups.h>
#endif

__device__ __forceinline__ unsigned cluster_rank() { return blockIdx.x % CLUSTER_SIZE; }

// A barrier of all threads of the cluster. Each releases and acquires: what any of them wrote before it, in shared or
// global memory, all see after it.
__device__ __forceinline__ void cluster_sync() {
#if CLUSTER_SIZE > 1
    cooperative_groups::this_cluster().sync();
#else
    __syncthreads();
#endif
}

// Where a variable in shared memory is in another block of the cluster.
template <class T>
__device__ __forceinline__ T *in_block(T *variable, unsigned rank) {
#if CLUSTER_SIZE > 1
    return cooperative_groups::this_cluster().map_shared_rank(variable, rank);
#else
    return variable;
#endif
}
