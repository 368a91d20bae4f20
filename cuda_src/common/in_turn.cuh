// Things of which a few take turns, such as a counter that is read, one that is added to and one that is emptied.
#pragma once

// The index is that of a round, however large.
template <class T, int count>
struct in_turn {
    T all[count];

    template <class Round>
    __device__ __forceinline__ T &operator[](Round round) { return all[round % count]; }
    template <class Round>
    __device__ __forceinline__ const T &operator[](Round round) const { return all[round % count]; }
};
