// The entries of the array of column indices. An entry is the id of a neighbour. With SHORT_ROWS, two further bits
// say how many records of the neighbour a search must read: 0, 1 or 2. A record has four entries (short_rows.cuh).
// If a record has fewer arcs, its other entries are NO_ARC.
#pragma once

constexpr int NO_ARC = -1, TWO_RECORDS = 1 << 31, NO_RECORD = 1 << 30, ID_BITS = NO_RECORD - 1;

#if SHORT_ROWS
__device__ __forceinline__ bool is_arc(int entry) { return entry != NO_ARC; }
// Returns the id of a neighbour. For NO_ARC it returns 0, so that the result is a valid index in any
// case.
__device__ __forceinline__ int neighbour_of(int entry) { return is_arc(entry) ? entry & ID_BITS : 0; }
#else
__device__ __forceinline__ bool is_arc(int) { return true; }
__device__ __forceinline__ int neighbour_of(int entry) { return entry; }
#endif
