// The levels of a step in the parts that a block has in its shared memory. See resident_parts.cu.
//
// The frontier is bits. A level sets the bit of each neighbour that it finds, reached or not, and the thread that has
// these 32 bits in the next level takes those that are new: so nothing is claimed, counted or queued, and a level is
// three dependent accesses to shared memory (bits, row, bit of a neighbour) and a barrier. Bits are set in one of two
// bitmaps while those in the other are taken.
//
// A level is bound by the instructions of its warps, about equally by their number and by their latency: hence rows of two
// words, the last of them a link where there are more, and a loop without other branches.
#pragma once

#include "block_memory.cuh"

// A thread has pieces of groups. The host defines PIECES_A_THREAD, the most of them.
#if PIECE_BITS == 8
typedef unsigned char piece;
#elif PIECE_BITS == 16
typedef unsigned short piece;
#else
typedef unsigned piece;
#endif
#define PIECES_A_GROUP (PLACES / PIECE_BITS)

#define GROUPS_AT_A_TIME 8  // of which a warp reads what others tell

struct block_levels {
    const partition &parts;
    const slot_layout &layout;
    const block_memory &in;
    const exchange &others;
    block_state &own;
    int *place_levels;
    stopwatch watch;
    int step = 0;
    int level = 0;     // all up to this are right
    unsigned now = 0;  // which bits have been found at the level at hand
    bool busy = false;  // vertices of the block's parts are at this level

    __device__ __forceinline__ unsigned *found() const { return in.found + now * layout.groups(); }
    __device__ __forceinline__ unsigned *bitmap_of(int step) const {
        return others.bitmaps + step % 3 * 2 * layout.bitmap_words;
    }
    __device__ __forceinline__ unsigned long long *at_level_of(int step) const {
        return others.at_level + (size_t)(step % 2) * (parts.num_places / PLACES);
    }

    // Read what others tell of the vertices of these groups. For whole warps; true for one lane of those that find a vertex
    // at this level.
    __device__ __forceinline__ bool read_groups(unsigned begin, unsigned end) const {
        const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
        const unsigned long long *at_level = at_level_of(step);
        bool any = false;
        for (unsigned i = begin + threadIdx.x / WARP; i < end; i += GROUPS_AT_A_TIME * warps) {
            unsigned long long told[GROUPS_AT_A_TIME];
            unsigned groups[GROUPS_AT_A_TIME];
            int places[GROUPS_AT_A_TIME];
#pragma unroll
            for (int k = 0; k < GROUPS_AT_A_TIME; ++k) {
                told[k] = 0;
                places[k] = 0;
                if (i + k * warps >= end) continue;
                groups[k] = in.to_read[i + k * warps];
                const int home = in.homes[groups[k]];
                places[k] = home == NO_PLACE ? (int)in.words[groups[k] * PLACES + lane] : home + (int)lane;
                if (places[k] != NO_PLACE) told[k] = load_relaxed(&at_level[places[k] / PLACES]);
            }
#pragma unroll
            for (int k = 0; k < GROUPS_AT_A_TIME; ++k) {
                if (i + k * warps >= end) break;
                const unsigned bit = places[k] % PLACES;
                const unsigned before = __ballot_sync(ALL_LANES, (unsigned)told[k] >> bit & 1);
                const unsigned frontier = __ballot_sync(ALL_LANES, (unsigned)(told[k] >> 32) >> bit & 1);
                if (lane > 0) continue;
                in.reached[groups[k]] = before, found()[groups[k]] = frontier;
                any |= frontier != 0;
            }
        }
        return any;
    }

    // Run the levels of a step, and tell others.
    __device__ __forceinline__ void run_levels() {
        const long long began = watch.now();
        if (busy) find_levels();
        end_levels();
        if (busy) watch.most(counted::level_cycles, step, began);
    }

    // Each thread has its pieces of groups in all levels.
    __device__ __forceinline__ void find_levels() {
        const unsigned pieces = layout.groups() * PIECES_A_GROUP, first = threadIdx.x;
        unsigned reached[PIECES_A_THREAD];
        int homes[PIECES_A_THREAD];
#pragma unroll
        for (int j = 0; j < PIECES_A_THREAD; ++j) {
            const unsigned i = first + j * blockDim.x;
            reached[j] = i < pieces ? ((const piece *)in.reached)[i] : 0;
            homes[j] = i < pieces ? in.homes[i / PIECES_A_GROUP] : NO_PLACE;
            if (homes[j] != NO_PLACE) homes[j] += i % PIECES_A_GROUP * PIECE_BITS;
        }
        unsigned *found = this->found(), *next = in.found + (now ^ 1) * layout.groups();
        for (int at = level, end = level + parts.hops; at < end; ++at) {
            unsigned bits[PIECES_A_THREAD];
#pragma unroll
            for (int j = 0; j < PIECES_A_THREAD; ++j) {
                const unsigned i = first + j * blockDim.x;
                bits[j] = i < pieces ? ((const piece *)found)[i] : 0;
            }
#pragma unroll
            for (int j = 0; j < PIECES_A_THREAD; ++j) {
                if (bits[j] == 0) continue;
                const unsigned i = first + j * blockDim.x, fresh = bits[j] & ~reached[j];
                ((piece *)found)[i] = 0;
                reached[j] |= bits[j];
                expand(in.quads, i * PIECE_BITS, fresh, next, at > level ? homes[j] : NO_PLACE, at);
            }
            __syncthreads();
            unsigned *const last = found;
            found = next, next = last;
        }
        now ^= parts.hops & 1;
#pragma unroll
        for (int j = 0; j < PIECES_A_THREAD; ++j)
            if (first + j * blockDim.x < pieces) ((piece *)in.reached)[first + j * blockDim.x] = (piece)reached[j];
        __syncthreads();
    }

    // Set the bits of the neighbours of vertices, and note their level.
    __device__ __forceinline__ void expand(const quad *quads, unsigned first, unsigned fresh, unsigned *next, int home,
                                           int level) const {
#if PIPELINED
        if (fresh == 0) return;
        unsigned bit = 31 - __clz(fresh);
        row r = row_at(quads, first + bit);
        for (;;) {
            fresh &= ~(1u << bit);
            const unsigned following = (31 - __clz(fresh)) & 31;
            const row after = row_at(quads, first + following);
            set_bits(r, next);
            if (home != NO_PLACE) place_levels[home + (int)bit] = level;
#pragma unroll 1
            while (r.goes_on()) {
                r = row_at(quads, r.next_quad());
                set_bits(r, next);
            }
            if (fresh == 0) break;
            bit = following, r = after;
        }
#else
        while (fresh != 0) {
            const unsigned bit = 31 - __clz(fresh);
            row r = row_at(quads, first + bit);
            fresh &= ~(1u << bit);
            set_bits(r, next);
            if (home != NO_PLACE) place_levels[home + (int)bit] = level;
#pragma unroll 1
            while (r.goes_on()) {
                r = row_at(quads, r.next_quad());
                set_bits(r, next);
            }
        }
#endif
    }

    // A quad as two words.
    struct row {
        unsigned low, high;

        __device__ __forceinline__ bool goes_on() const { return (int)high < 0; }  // IN_NEXT_QUAD
        __device__ __forceinline__ unsigned next_quad() const { return high >> 16 & ~IN_NEXT_QUAD; }
    };
    __device__ __forceinline__ static row row_at(const quad *quads, unsigned id) {
        const uint2 both = ((const uint2 *)quads)[id];
        return {both.x, both.y};
    }

    // Set the bits of the neighbours in a quad. That of a next quad's id is set as well, which does nothing: no vertex has
    // it, and if it is taken for one, then a level after the neighbours in that quad were found.
    __device__ __forceinline__ static void set_bits(row r, unsigned *next) {
        atomicOr(&next[(r.low & 0xffff) / 32], 1u << (r.low & 31));
        atomicOr(&next[r.low >> 21], 1u << (r.low >> 16 & 31));
        atomicOr(&next[(r.high & 0xffff) / 32], 1u << (r.high & 31));
        atomicOr(&next[r.high >> 21 & 0x3ff], 1u << (r.high >> 16 & 31));
    }

    // Tell of own vertices. Those that the last level has found get their level, and parts that read them become active;
    // the next step expands them.
    __device__ __forceinline__ void end_levels() const {
        bool any = false;
        for (unsigned g = threadIdx.x; g < layout.groups(); g += blockDim.x) {
            const unsigned reached = in.reached[g], slot = g / layout.slot_groups;
            const int home = in.homes[g];
            if (home == NO_PLACE || !own.slots[slot].runs) continue;
            const unsigned fresh = found()[g] & ~reached;
            store_relaxed(&at_level_of(step + 1)[home / PLACES], (unsigned long long)fresh << 32 | reached);
            for (unsigned left = fresh; left; left &= left - 1) {
                const unsigned bit = __ffs(left) - 1;
                place_levels[home + (int)bit] = level + parts.hops;
                tell_readers(in.words[g * PLACES + bit], slot);
                any = true;
            }
        }
        if (any) atomicOr(&own.seen[(step + 1) % 2], block_state::BUSY);
    }

    // Make parts active that read an own vertex.
    __device__ __forceinline__ void tell_readers(unsigned readers, unsigned slot) const {
        for (unsigned left = readers & ~atomicOr(&own.slots[slot].woken, readers); left; left &= left - 1)
            wake(own.slots[slot].readers[__ffs(left) - 1], bitmap_of(step + 1), parts.number);
    }
};
