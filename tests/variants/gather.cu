// Two parts of `merrill` alone: gathering into a sink that counts, and culling of a given list.
#define WIDE_OFFSETS 0
#include "merrill/culling.cuh"

// Notes the place of each neighbour, and the number of places of each reservation.
struct recording_sink {
    int *places;  // by neighbour; -1 before
    int *times;   // by neighbour
    int *reserved;
    int *num_reservations;

    __device__ unsigned long long reserve(edge_t count) const {
        reserved[atomicAdd(num_reservations, 1)] = count;
        return atomicAdd(num_reservations + 1, (int)count);
    }
    __device__ void put(unsigned long long place, unsigned stride, int (&neighbours)[BATCH]) const {
        for (unsigned k = 0; k < BATCH; ++k) {
            if (neighbours[k] == NONE) continue;
            places[neighbours[k]] = place + k * stride;
            atomicAdd(&times[neighbours[k]], 1);
        }
    }
};

// Runs in one block. counts[0] is the number of reservations, and counts[1] the number of places in all of them.
extern "C" __global__ void gather_lists(const int *row_offsets, const int *column_indices, int *places, int *times,
                                        int *reserved, int *counts, int num_lists) {
    extern __shared__ edge_t stage[];
    const recording_sink sink = {places, times, reserved, counts};
    for (unsigned first = 0; first < num_lists; first += blockDim.x) {
        const unsigned i = first + threadIdx.x;
        gather(column_indices, i < num_lists ? row_offsets[i] : 0, i < num_lists ? row_offsets[i + 1] : 0, stage, sink);
    }
}

// Runs in one block. Vertices that are culled become NONE.
extern "C" __global__ void cull(int *vertices, int count) {
    extern __shared__ int memory[];
    const duplicate_filter duplicates(memory, memory + (blockDim.x + WARP - 1) / WARP * WARP_TABLE_SIZE);
    for (unsigned first = 0; first < count; first += blockDim.x) {
        const unsigned i = first + threadIdx.x;
        const int kept = duplicates.filter(i < count ? vertices[i] : NONE);
        if (i < count) vertices[i] = kept;
        __syncthreads();
    }
}
