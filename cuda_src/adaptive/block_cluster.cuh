// The barrier of a thread-block cluster, and access to the shared memory of the cluster's blocks. The host
// defines CLUSTER_SIZE. On devices without clusters, CLUSTER_SIZE is 1: each block is a cluster by itself, and
// __syncthreads is its barrier.
#pragma once

#if CLUSTER_SIZE > 1
#include <cooperative_groups.h>
#endif

__device__ __forceinline__ unsigned cluster_rank() { return blockIdx.x % CLUSTER_SIZE; }

// Wait for all threads of the cluster. Each thread releases and acquires. So after the barrier all threads of
// the cluster see what any of them wrote before it, in shared and in global memory.
__device__ __forceinline__ void cluster_sync() {
#if CLUSTER_SIZE > 1
    cooperative_groups::this_cluster().sync();
#else
    __syncthreads();
#endif
}

// Returns the address of a shared variable in the cluster's block number `rank`. The block must not have
// exited.
template <class T>
__device__ __forceinline__ T *in_block(T *variable, unsigned rank) {
#if CLUSTER_SIZE > 1
    return cooperative_groups::this_cluster().map_shared_rank(variable, rank);
#else
    return variable;
#endif
}
