// Queues of vertices that many threads append to: in global memory, or a block's own in shared memory.
#pragma once

// The first min(*size, capacity) entries are there. An append to a full queue is counted but stores nothing, so an
// overflow shows in the size. Sizes are unsigned numbers, since duplicates may take them past 2^31.
struct vertex_queue {
    int *entries;
    unsigned capacity;
    int *size;
};

// Append a vertex; false if the queue is full. nvcc merges the increments of a warp's threads that append
// together into a single atomic, in shared and in global memory alike.
__device__ __forceinline__ bool append(const vertex_queue &queue, int vertex) {
    const unsigned position = atomicAdd(queue.size, 1);
    if (position >= queue.capacity) return false;
    queue.entries[position] = vertex;
    return true;
}

// Empty a block's queue into a global one, which costs a single atomic there. For all threads of the block:
// appends before the call are flushed, appends after it go to an empty queue. Entries that the global queue has
// no room for are counted in its size.
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
