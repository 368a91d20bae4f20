// Warp functions with which lanes exchange values, such as __shfl_sync. Each lane in the mask stores one
// word. The last lane that arrives at the function computes the results of all lanes.
#pragma once

#include <cstdint>
#include <cstring>

#include "state.h"

namespace emu {

enum class Collective : unsigned char {
    sync,
    shuffle,
    ballot,
    match_any,
    match_all,
    add,
    minimum,
    maximum,
    bit_and,
    bit_or,
    bit_xor,
};

// Exchanges values among the lanes in `mask`. Returns the calling lane's result. For a shuffle, this is the
// word that lane `source` has passed. Error messages name the source line `from`.
EMU_API uint64_t warp_collective(unsigned mask, Collective kind, uint64_t value, CallSite from, unsigned source = 0);

template <class T>
inline uint64_t to_word(T value) {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}

template <class T>
inline T from_word(uint64_t word) {
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
}

// Shuffles a value of any size, as a sequence of words of 8 bytes.
template <class T>
inline T shuffle(unsigned mask, T value, unsigned source, CallSite from) {
    if constexpr (sizeof(T) <= sizeof(uint64_t)) {
        return from_word<T>(warp_collective(mask, Collective::shuffle, to_word(value), from, source));
    } else {
        static_assert(std::is_trivially_copyable_v<T>, "shuffles copy the bytes of values");
        for (size_t at = 0; at < sizeof value; at += sizeof(uint64_t)) {
            char* part = reinterpret_cast<char*>(&value) + at;
            size_t bytes = sizeof value - at < sizeof(uint64_t) ? sizeof value - at : sizeof(uint64_t);
            uint64_t word = 0;
            memcpy(&word, part, bytes);
            word = warp_collective(mask, Collective::shuffle, word, from, source);
            memcpy(part, &word, bytes);
        }
        return value;
    }
}

// Reduces 32-bit values over the lanes in `mask`. Signed values are sign-extended to 64 bits, and unsigned
// values are zero-extended. So one signed 64-bit comparison is right for both kinds of values.
template <class T>
inline T reduce(unsigned mask, Collective kind, T value, CallSite from) {
    return static_cast<T>(warp_collective(mask, kind, static_cast<uint64_t>(static_cast<int64_t>(value)), from));
}

}  // namespace emu

namespace emu {
// Returns a mask of the warp's lanes that call this function together from the source line `from`.
EMU_API unsigned active_lanes(CallSite from);
}  // namespace emu
inline unsigned __activemask(emu::CallSite from = EMU_HERE) { return emu::active_lanes(from); }

EMU_OWN inline void __syncwarp(unsigned mask = ~0u, emu::CallSite from = EMU_HERE) {
    emu::note_barrier(EMU_SITE);
    emu::warp_collective(mask, emu::Collective::sync, 0, from);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, emu::CallSite from = EMU_HERE) {
    return static_cast<unsigned>(emu::warp_collective(mask, emu::Collective::ballot, predicate != 0, from));
}
inline int __any_sync(unsigned mask, int predicate, emu::CallSite from = EMU_HERE) { return __ballot_sync(mask, predicate, from) != 0; }
inline int __all_sync(unsigned mask, int predicate, emu::CallSite from = EMU_HERE) { return __ballot_sync(mask, !predicate, from) == 0; }

// A `width` below 32 divides the warp into segments. __shfl_sync wraps around inside the lane's segment. The
// other shuffles return the lane's own value if the source is outside the segment. Only __shfl_xor_sync may
// also read from earlier segments, as in CUDA.
template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = warpSize,
                     emu::CallSite from = EMU_HERE) {
    unsigned first = emu::lane() & ~(width - 1u);
    return emu::shuffle(mask, value, first + (source & (width - 1u)), from);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                        emu::CallSite from = EMU_HERE) {
    unsigned lane = emu::lane();
    return emu::shuffle(mask, value, (lane & (width - 1u)) < delta ? lane : lane - delta, from);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                          emu::CallSite from = EMU_HERE) {
    unsigned lane = emu::lane();
    return emu::shuffle(mask, value, width - 1u - (lane & (width - 1u)) < delta ? lane : lane + delta, from);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize,
                         emu::CallSite from = EMU_HERE) {
    unsigned lane = emu::lane(), source = (lane ^ lane_mask) % emu::kWarpSize;
    return emu::shuffle(mask, value, source > (lane | (width - 1u)) ? lane : source, from);
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, emu::CallSite from = EMU_HERE) {
    return static_cast<unsigned>(emu::warp_collective(mask, emu::Collective::match_any, emu::to_word(value), from));
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* all_equal, emu::CallSite from = EMU_HERE) {
    unsigned lanes =
        static_cast<unsigned>(emu::warp_collective(mask, emu::Collective::match_all, emu::to_word(value), from));
    *all_equal = lanes != 0;
    return lanes;
}

template <class T>
inline T __reduce_add_sync(unsigned mask, T value, emu::CallSite from = EMU_HERE) {
    return emu::reduce(mask, emu::Collective::add, value, from);
}
template <class T>
inline T __reduce_min_sync(unsigned mask, T value, emu::CallSite from = EMU_HERE) {
    return emu::reduce(mask, emu::Collective::minimum, value, from);
}
template <class T>
inline T __reduce_max_sync(unsigned mask, T value, emu::CallSite from = EMU_HERE) {
    return emu::reduce(mask, emu::Collective::maximum, value, from);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, emu::CallSite from = EMU_HERE) {
    return emu::reduce(mask, emu::Collective::bit_and, value, from);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, emu::CallSite from = EMU_HERE) {
    return emu::reduce(mask, emu::Collective::bit_or, value, from);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, emu::CallSite from = EMU_HERE) {
    return emu::reduce(mask, emu::Collective::bit_xor, value, from);
}
