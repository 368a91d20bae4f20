// Runs the levels between two barriers (a step) for the parts that a block holds in shared memory. See
// resident_parts.cu.
//
// The frontier is a bitmap of the block's local ids. A level sets the bit of every neighbour of the frontier,
// whether the neighbour was reached or not. In the next level, each thread takes the new bits among the words for
// which it is responsible. So threads claim, count and queue nothing. A level costs a barrier and three dependent
// accesses to shared memory: bits, neighbours, and the bit of a neighbour. There are two bitmaps. In a level,
// threads take bits from one bitmap and set bits in the other. After the level, the bitmaps swap roles.
//
// The thread with the most new bits determines the time of a level. Two measures keep its chain of accesses
// short. The neighbours of a vertex are two words without an offset, and the last neighbour may be a link to
// more. Vertices that are close to each other have their bits in different words.
#pragma once

#include "block_memory.cuh"

// The host defines GROUPS_A_THREAD, the largest number of groups of PLACES local ids that one thread handles.

constexpr int HALF = PLACES / 2;  // number of ghosts of a group that a thread reads at a time

struct block_levels {
    const partition &parts;
    const slot_layout &layout;
    const block_memory &in;
    const exchange &others;
    block_state &own;
    int *place_levels;
    stopwatch watch;
    int step = 0;
    int level = 0;     // vertices up to this level have their right levels
    unsigned now = 0;  // index (0 or 1) of the bitmap that holds the current frontier
    bool busy = false;  // true if an own vertex or ghost of the block's parts may be at this level

    __device__ __forceinline__ unsigned *found() const { return in.found + now * layout.groups(); }
    __device__ __forceinline__ unsigned *bitmap_of(int step) const {
        return others.bitmaps + step % 3 * 2 * layout.bitmap_words;
    }
    __device__ __forceinline__ unsigned long long *at_level_of(int step) const {
        return others.at_level + (size_t)(step % 2) * (parts.num_places / PLACES);
    }

    // Reads the state of the ghosts of all parts that the block holds. A ghost is a vertex of another part. Returns
    // true if a ghost that this thread reads is at the current level.
    __device__ __forceinline__ bool read_all_ghosts() const {
        bool any = false;
        unsigned i = threadIdx.x;
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (own.slots[s].number == part_slot::NO_PART) continue;
            const unsigned halves = 2 * padded(own.slots[s].shape.ghosts) / PLACES;
            for (; i < halves; i += blockDim.x) any |= read_ghosts(s, i);
            i -= halves;
        }
        return any;
    }

    // Reads the state of half a group of ghosts (HALF ghosts) of the part in a slot. A ghost is a vertex of another
    // part. `i` is the index of the half group. Ghosts are numbered in order of their places, and neighbouring
    // threads read ghosts with neighbouring numbers. Returns true if one of these ghosts is at the current level.
    __device__ __forceinline__ bool read_ghosts(unsigned slot, unsigned i) const {
        const part &shape = own.slots[slot].shape;
        const unsigned groups = padded(shape.ghosts) / PLACES, half = i >= groups, group = half ? i - groups : i;
        const unsigned first = slot * layout.slot_groups + padded(shape.own) / PLACES;
        const unsigned *places = in.words + first * PLACES + half * HALF * groups + group;
        const unsigned long long *at_level = at_level_of(step);
        unsigned long long told[HALF];
        unsigned bits[HALF];
#pragma unroll
        for (int k = 0; k < HALF; ++k) {
            const int place = (int)places[k * groups];
            bits[k] = place % PLACES;
            told[k] = place == NO_PLACE ? 0 : load_relaxed(&at_level[place / PLACES]);
        }
        unsigned before = 0, frontier = 0;
#pragma unroll
        for (int k = 0; k < HALF; ++k) {
            before |= ((unsigned)told[k] >> bits[k] & 1) << k;
            frontier |= ((unsigned)(told[k] >> 32) >> bits[k] & 1) << k;
        }
        ((unsigned short *)(in.reached + first))[2 * group + half] = (unsigned short)before;
        ((unsigned short *)(found() + first))[2 * group + half] = (unsigned short)frontier;
        return frontier != 0;
    }

    // Reads from global memory the stored state of the vertices that the part in a slot owns.
    __device__ __forceinline__ void read_own(unsigned slot) const {
        const unsigned first = slot * layout.slot_groups;
        const unsigned long long *at_level = at_level_of(step) + own.slots[slot].shape.first_place / PLACES;
        for (unsigned i = threadIdx.x; i < padded(own.slots[slot].shape.own) / PLACES; i += blockDim.x) {
            const unsigned long long told = load_relaxed(&at_level[i]);
            in.reached[first + i] = (unsigned)told, found()[first + i] = (unsigned)(told >> 32);
        }
    }

    // Runs K levels of the search. Then stores, for other blocks, the state of the vertices that the block's
    // parts own.
    __device__ __forceinline__ void run_levels() {
        const long long began = watch.now();
        if (busy) find_levels();
        end_levels();
        if (busy) watch.most(counted::level_cycles, step, began);
    }

    // Runs `hops` levels. In all these levels, a thread is responsible for the same groups of local ids.
    __device__ __forceinline__ void find_levels() {
        const unsigned groups = layout.groups(), first = threadIdx.x;
        unsigned reached[GROUPS_A_THREAD];
        int homes[GROUPS_A_THREAD];
#pragma unroll
        for (int j = 0; j < GROUPS_A_THREAD; ++j) {
            const unsigned g = first + j * blockDim.x;
            reached[j] = g < groups ? in.reached[g] : 0;
            homes[j] = g < groups ? in.homes[g] : NO_PLACE;
        }
        unsigned *found = this->found(), *next = in.found + (now ^ 1) * groups;
        for (int at = level, end = level + parts.hops; at < end; ++at) {
            unsigned bits[GROUPS_A_THREAD];
#pragma unroll
            for (int j = 0; j < GROUPS_A_THREAD; ++j) {
                const unsigned g = first + j * blockDim.x;
                bits[j] = g < groups ? found[g] : 0;
            }
#pragma unroll
            for (int j = 0; j < GROUPS_A_THREAD; ++j) {
                if (bits[j] == 0) continue;
                const unsigned g = first + j * blockDim.x, fresh = bits[j] & ~reached[j];
                found[g] = 0;
                reached[j] |= bits[j];
                expand(g * PLACES, fresh, next, at > level ? homes[j] : NO_PLACE, at);
            }
            __syncthreads();
            unsigned *const last = found;
            found = next, next = last;
        }
        now ^= parts.hops & 1;
#pragma unroll
        for (int j = 0; j < GROUPS_A_THREAD; ++j)
            if (first + j * blockDim.x < groups) in.reached[first + j * blockDim.x] = reached[j];
        __syncthreads();
    }

    // Sets the bits of the neighbours of new vertices, and stores the levels of the new vertices. Bit i of `fresh`
    // stands for the vertex with the local id first + i. The level of this vertex goes to index home + i of the
    // level array. If `home` is NO_PLACE, the function stores no levels. In this case end_levels() has already
    // stored the levels, or the ids belong to ghosts or to further quads of vertices with more than four neighbours.
    __device__ __forceinline__ void expand(unsigned first, unsigned fresh, unsigned *next, int home, int level) const {
        while (fresh != 0) {
            const unsigned bit = 31 - __clz(fresh);
            row r = row_at(first + bit);
            fresh &= ~(1u << bit);
            set_bits(r, next);
            if (home != NO_PLACE) place_levels[home + (int)bit] = level;
#pragma unroll 1
            while (r.goes_on()) {
                r = row_at(r.next_quad());
                set_bits(r, next);
            }
        }
    }

    // A quad of the adjacency list of a vertex: four local ids of 16 bits, in two words.
    struct row {
        unsigned low, high;

        // Returns whether the fourth id has the flag IN_NEXT_QUAD, so that the list continues in a further quad.
        __device__ __forceinline__ bool goes_on() const { return (int)high < 0; }
        __device__ __forceinline__ unsigned next_quad() const { return high >> 16 & ~IN_NEXT_QUAD; }
    };
    __device__ __forceinline__ row row_at(unsigned id) const {
        const uint2 both = ((const uint2 *)in.quads)[id];
        return {both.x, both.y};
    }

    // Sets the bits of the four ids in a quad (neighbours of a vertex). If the fourth id is a link
    // to a further quad, its bit is set too, so the next level expands the further quad again.
    // This does no harm, because the neighbours in the further quad have been found already.
    __device__ __forceinline__ static void set_bits(row r, unsigned *next) {
        atomicOr(&next[(r.low & 0xffff) / 32], 1u << (r.low & 31));
        atomicOr(&next[r.low >> 21], 1u << (r.low >> 16 & 31));
        atomicOr(&next[(r.high & 0xffff) / 32], 1u << (r.high & 31));
        atomicOr(&next[r.high >> 21 & 0x3ff], 1u << (r.high >> 16 & 31));
    }

    // Stores, for other blocks, the state of the vertices that the block's parts own. Vertices that the last
    // level found get their level here, and the parts that read these vertices become active. The next call
    // of run_levels() expands the vertices.
    __device__ __forceinline__ void end_levels() const {
        bool any = false;
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (!own.slots[s].runs) continue;
            const part &shape = own.slots[s].shape;
            unsigned readers = 0;
            unsigned long long *told = at_level_of(step + 1) + shape.first_place / PLACES;
            for (unsigned i = threadIdx.x; i < padded(shape.own) / PLACES; i += blockDim.x) {
                const unsigned g = s * layout.slot_groups + i, reached = in.reached[g], fresh = found()[g] & ~reached;
                store_relaxed(&told[i], (unsigned long long)fresh << 32 | reached);
                for (unsigned left = fresh; left; left &= left - 1) {
                    const unsigned id = i * PLACES + __ffs(left) - 1;
                    place_levels[shape.first_place + id] = level + parts.hops;
                    readers |= in.words[s * layout.slot_groups * PLACES + id];
                }
            }
            if (readers) tell_readers(readers, s), any = true;
        }
        if (any) atomicOr(&own.seen[(step + 1) % 2], block_state::BUSY);
    }

    // Makes readers of the part in slot `slot` active in the next step. A part's readers are the part itself
    // and all parts in which one of its vertices is a ghost. Bit k of `readers` selects
    // reader number k of the part.
    __device__ __forceinline__ void tell_readers(unsigned readers, unsigned slot) const {
        for (unsigned left = readers & ~atomicOr(&own.slots[slot].woken, readers); left; left &= left - 1)
            wake(own.slots[slot].readers[__ffs(left) - 1], bitmap_of(step + 1), parts.number);
    }
};
