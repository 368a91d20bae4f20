// The barrier of a thread-block cluster, and access to the shared memory of its blocks. The host defines CLUSTER_SIZE.
// It is 1 on devices without clusters: then each block is a cluster by itself, and its barrier is __syncthreads.
#pragma once

#if CLUSTER_SIZE > 1
#include <cooperative_groups.h>
#endif

__device__ __forceinline__ unsigned cluster_rank() { return blockIdx.x % CLUSTER_SIZE; }

// Wait for all threads of the cluster. Each thread releases and acquires, so all threads see after it what any of them
// wrote before it, in shared and in global memory.
__device__ __forceinline__ void cluster_sync() {
#if CLUSTER_SIZE > 1
    cooperative_groups::this_cluster().sync();
#else
    __syncthreads();
#endif
}

// Returns the address of a shared variable in the block of this rank. The block must not have exited.
template <class T>
__device__ __forceinline__ T *in_block(T *variable, unsigned rank) {
#if CLUSTER_SIZE > 1
    return cooperative_groups::this_cluster().map_shared_rank(variable, rank);
#else
    return variable;
#endif
}
