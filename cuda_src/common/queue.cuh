// Queues to which many threads append vertices, in global memory or in a block's shared memory.
#pragma once

// A queue holds its first min(*size, capacity) entries. An append to a full queue stores nothing but adds to
// the size, so a size above the capacity shows an overflow. Kernels read the size as unsigned, because with
// duplicates it may exceed 2^31.
struct vertex_queue {
    int *entries;
    unsigned capacity;
    int *size;
};

// Appends a vertex to a queue. Returns false if the queue is full. If several threads of a warp append at the
// same time, nvcc merges their increments of the size into one atomic.
__device__ __forceinline__ bool append(const vertex_queue &queue, int vertex) {
    const unsigned position = atomicAdd(queue.size, 1);
    if (position >= queue.capacity) return false;
    queue.entries[position] = vertex;
    return true;
}

// Moves the entries of a block's queue to a global queue, with one atomic on the global queue. All threads of the
// block must call the function. The function begins and ends with a barrier of the block. So the function moves all
// entries that were appended before the call, and no entries that are appended after the call. Entries for which
// the global queue has no room are lost, but they are counted in its size.
__device__ __forceinline__ void flush(const vertex_queue &block_queue, const vertex_queue &global_queue) {
    __shared__ unsigned offset;
    __syncthreads();
    const unsigned count = min((unsigned)*block_queue.size, block_queue.capacity);
    if (threadIdx.x == 0) offset = atomicAdd(global_queue.size, count);
    __syncthreads();
    if (threadIdx.x == 0) *block_queue.size = 0;
    for (unsigned i = threadIdx.x; i < count && offset + i < global_queue.capacity; i += blockDim.x)
        global_queue.entries[offset + i] = block_queue.entries[i];
    __syncthreads();
}
