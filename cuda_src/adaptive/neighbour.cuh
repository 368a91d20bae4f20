// What a column index says of a neighbour. With SHORT_ROWS that is more than its id: two bits say how many records its
// row has, and in a record with fewer than four arcs the other entries are NO_ARC.
#pragma once

constexpr int NO_ARC = -1, TWO_RECORDS = 1 << 31, NO_RECORD = 1 << 30, ID_BITS = NO_RECORD - 1;

#if SHORT_ROWS
__device__ __forceinline__ bool is_arc(int entry) { return entry != NO_ARC; }
// Vertex 0 if there is none.
__device__ __forceinline__ int neighbour_of(int entry) { return is_arc(entry) ? entry & ID_BITS : 0; }
#else
__device__ __forceinline__ bool is_arc(int) { return true; }
__device__ __forceinline__ int neighbour_of(int entry) { return entry; }
#endif
