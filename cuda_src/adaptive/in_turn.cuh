// Copies of a variable, which successive rounds use in turn. With three copies of a counter, threads can read
// the first copy, add to the second copy and empty the third copy in one round. Then one barrier per round
// suffices.
#pragma once

// Copies of a variable of type T. The operator [] takes the number of the round, and returns the copy of that
// round.
template <class T, int count>
struct in_turn {
    T all[count];

    template <class Round>
    __device__ __forceinline__ T &operator[](Round round) { return all[round % count]; }
    template <class Round>
    __device__ __forceinline__ const T &operator[](Round round) const { return all[round % count]; }
};
