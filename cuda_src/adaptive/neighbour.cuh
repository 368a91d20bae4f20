// The entries of the array of column indices. With SHORT_ROWS, two bits of an entry say how many records the
// neighbour has. A record has four entries. Entries without an arc are NO_ARC.
#pragma once

constexpr int NO_ARC = -1, TWO_RECORDS = 1 << 31, NO_RECORD = 1 << 30, ID_BITS = NO_RECORD - 1;

#if SHORT_ROWS
__device__ __forceinline__ bool is_arc(int entry) { return entry != NO_ARC; }
// Returns vertex 0 for NO_ARC, so that a load by it stays in bounds.
__device__ __forceinline__ int neighbour_of(int entry) { return is_arc(entry) ? entry & ID_BITS : 0; }
#else
__device__ __forceinline__ bool is_arc(int) { return true; }
__device__ __forceinline__ int neighbour_of(int entry) { return entry; }
#endif
