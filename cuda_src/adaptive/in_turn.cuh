// Copies of a variable that take turns by rounds. With three counters, one can be read while a second one is added to
// and the third is emptied, with one barrier per round.
#pragma once

// The index is the number of the round.
template <class T, int count>
struct in_turn {
    T all[count];

    template <class Round>
    __device__ __forceinline__ T &operator[](Round round) { return all[round % count]; }
    template <class Round>
    __device__ __forceinline__ const T &operator[](Round round) const { return all[round % count]; }
};
