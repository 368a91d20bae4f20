// Copies of a variable, of which each round uses a different one. With three copies of a counter, threads can
// read the first copy, add to the second and empty the third in one round. Then one barrier per round is
// enough.
#pragma once

// The operator [] takes the number of the round.
template <class T, int count>
struct in_turn {
    T all[count];

    template <class Round>
    __device__ __forceinline__ T &operator[](Round round) { return all[round % count]; }
    template <class Round>
    __device__ __forceinline__ const T &operator[](Round round) const { return all[round % count]; }
};
