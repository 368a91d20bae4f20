// The barrier of a thread-block cluster, and access to the shared memory of the cluster's blocks. The host
// defines CLUSTER_SIZE. On devices without clusters, CLUSTER_SIZE is 1. Then each block is a cluster by
// itself, and __syncthreads is the barrier of the cluster. Block 0 is then the first cluster, which runs
// small levels. The host lowers SMALL_PARTS, the largest level that the cluster runs, to 640 queue entries by
// default.
#pragma once

#if CLUSTER_SIZE > 1
#include <cooperative_groups.h>
#endif

__device__ __forceinline__ unsigned cluster_rank() { return blockIdx.x % CLUSTER_SIZE; }

// Waits for all threads of the cluster. Each thread releases when it arrives, and acquires when it leaves. So
// all threads of the cluster then see all earlier writes of the cluster's threads, in shared and in global
// memory.
__device__ __forceinline__ void cluster_sync() {
#if CLUSTER_SIZE > 1
    cooperative_groups::this_cluster().sync();
#else
    __syncthreads();
#endif
}

// Returns the address of a shared variable in block number `rank` of the cluster. That block must not have
// exited.
template <class T>
__device__ __forceinline__ T *in_block(T *variable, unsigned rank) {
#if CLUSTER_SIZE > 1
    return cooperative_groups::this_cluster().map_shared_rank(variable, rank);
#else
    return variable;
#endif
}
