// A block of the search by parts: what it holds in shared memory, and its share of a step. See resident_parts.cu.
//
// The frontier is bits. A level sets the bit of each neighbour that it finds, reached or not, and the thread that has
// these 32 bits in the next level takes those that are new: so nothing is claimed, counted or queued, and a level is
// three dependent accesses to shared memory (bits, row, bit of a neighbour) and a barrier. Bits are set in one of two
// bitmaps while those in the other are taken.
#pragma once

#include "block_memory.cuh"
#include "prefix_sum.cuh"
#include "profile.cuh"

#define GROUPS_AT_A_TIME 4  // of levels that a warp reads
#define COPIES_AT_A_TIME 4  // of 16 bytes that a thread loads of a part

struct block_search {
    const partition &parts;
    const slot_layout &layout;
    const block_memory &in;
    block_state &own;
    int *place_levels;
    stopwatch watch;
    unsigned *next_bitmap = nullptr;
    int step = 0;
    int level = 0;            // all up to this are right
    unsigned num_ghosts = 0;  // groups of ghosts of all parts that the block holds
    unsigned given_out = 0;   // parts, modulo the blocks
    unsigned now = 0;         // which bits have been found at the level at hand
    bool crowded = false;     // the block holds more parts than have room
    bool busy = false;

    __device__ __forceinline__ unsigned *found() const { return in.found + now * layout.groups(); }

    // Begin a step whose active parts are in a bitmap: read the ghosts of the parts that the block holds, take parts that
    // have become active, give up those that are no longer. Clears another bitmap. False if no part is active.
    __device__ __forceinline__ bool begin_step(const unsigned *bitmap, unsigned *cleared) {
        const unsigned thread = threadIdx.x, words = layout.bitmap_words;
        const int p = thread < layout.slots ? own.parts[thread] : block_state::NO_PART;
        const unsigned first = thread < words ? load_relaxed((const int *)&bitmap[thread]) : 0;
        const unsigned of_own = p != block_state::NO_PART ? load_relaxed((const int *)&bitmap[p / 32]) : 0;
        int seen = read_levels(0, num_ghosts) ? block_state::BUSY : 0;
        for (unsigned w = thread; w < words; w += blockDim.x) {
            const unsigned bits = w == thread ? first : load_relaxed((const int *)&bitmap[w]);
            const unsigned fresh = bits & ~in.active[w];
            in.active[w] = bits, in.fresh[w] = fresh;
            seen |= (bits ? block_state::ANY : 0) | (fresh ? block_state::FRESH : 0);
            if (blockIdx.x == 0) store_relaxed((int *)&cleared[w], 0);
        }
        if (p != block_state::NO_PART && !(of_own >> p % 32 & 1)) {
            own.parts[thread] = block_state::NO_PART;
            seen |= block_state::ENDED;
        }
        if (thread < layout.slots) own.woken[thread] = 0;
        if (seen) atomicOr(&own.seen[step % 2], seen);
        __syncthreads();
        seen = own.seen[step % 2];
        if (thread == 0) own.seen[(step + 1) % 2] = 0;
        if (seen & block_state::FRESH) take_fresh();
        busy = seen & block_state::BUSY;
        if (crowded || seen & (block_state::FRESH | block_state::ENDED)) change_parts();
        return seen & block_state::ANY;
    }

    // The levels of a step, in more than one round if not all parts of the block have room.
    __device__ __forceinline__ void run_step() {
        for (bool several = false;; several = true) {
            watch.add(counted::parts, step, num_parts());
            if (busy) run_levels();
            const bool last = own.waiting.size == 0;
            crowded = several || !last;
            if (crowded) set_aside();
            if (last) return;
            change_parts();
        }
    }

    // Read the levels of these groups. For whole warps; true for one lane of those that find a vertex at this level.
    __device__ __forceinline__ bool read_levels(unsigned begin, unsigned end) const {
        const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
        bool any = false;
        for (unsigned i = begin + threadIdx.x / WARP; i < end; i += GROUPS_AT_A_TIME * warps) {
            int levels[GROUPS_AT_A_TIME];
            unsigned groups[GROUPS_AT_A_TIME];
#pragma unroll
            for (int k = 0; k < GROUPS_AT_A_TIME; ++k) {
                levels[k] = UNREACHED;
                if (i + k * warps >= end) continue;
                groups[k] = in.to_read[i + k * warps];
                const int home = in.homes[groups[k]];
                const int place = home == NO_PLACE ? (int)in.words[groups[k] * PLACES + lane] : home + (int)lane;
                if (place != NO_PLACE) levels[k] = load_relaxed(&place_levels[place]);
            }
#pragma unroll
            for (int k = 0; k < GROUPS_AT_A_TIME; ++k) {
                if (i + k * warps >= end) break;
                const unsigned before = __ballot_sync(ALL_LANES, (unsigned)levels[k] < (unsigned)level);
                const unsigned frontier = __ballot_sync(ALL_LANES, levels[k] == level);
                if (lane > 0) continue;
                in.reached[groups[k]] = before, found()[groups[k]] = frontier;
                any |= frontier != 0;
            }
        }
        return any;
    }

    // Give out the parts that have become active.
    __device__ __forceinline__ void take_fresh() {
        for (unsigned base = 0; base < layout.bitmap_words; base += blockDim.x) {
            const unsigned w = base + threadIdx.x;
            unsigned fresh = w < layout.bitmap_words ? in.fresh[w] : 0;
            int total, turn = exclusive_sum_of_block(__popc(fresh), total);
            for (; fresh; fresh &= fresh - 1, ++turn) {
                if ((given_out + turn) % gridDim.x != blockIdx.x) continue;
                own.waiting.put(atomicAdd(&own.waiting.size, 1), w * 32 + __ffs(fresh) - 1);
            }
            given_out = (given_out + total) % gridDim.x;
        }
        __syncthreads();
    }

    __device__ __forceinline__ int num_parts() const {
        int number = 0;
        for (unsigned s = 0; s < layout.slots; ++s) number += own.parts[s] != block_state::NO_PART;
        return number;
    }

    // Give free slots to parts that wait, load these, and read their levels.
    __device__ __forceinline__ void change_parts() {
        const long long began = watch.now();
        if (threadIdx.x == 0) {
            own.loaded = 0;
            for (unsigned s = 0; s < layout.slots; ++s) {
                own.is_new[s] = false;
                while (own.parts[s] == block_state::NO_PART && own.waiting.size > 0) {
                    const int p = own.waiting.pop();
                    if (!(in.active[p / 32] >> p % 32 & 1)) continue;  // it has ended while it waited
                    own.parts[s] = p, own.is_new[s] = true, own.woken[s] = 0;
                    ++own.loaded;
                }
            }
            watch.add(counted::loads, step, own.loaded);
        }
        __syncthreads();
        if (own.loaded > 0) busy = true;
        for (unsigned s = 0; s < layout.slots && own.loaded > 0; ++s)
            if (own.is_new[s]) load(s);
        __syncthreads();
        list_groups();
        __syncthreads();
        if (own.loaded > 0) watch.most(counted::load_cycles, step, began);
    }

    // Load a part into a slot. Local ids become ids in the block.
    __device__ __forceinline__ void load(unsigned slot) {
        const int number = own.parts[slot];
        const part shape = parts.parts[number];
        const unsigned group = slot * layout.slot_groups, id = group * PLACES, shift = id * 0x10001u;
        const uint4 *quads = (const uint4 *)(parts.quads + shape.first), *words = (const uint4 *)(parts.words + shape.first);
        uint4 *quads_to = (uint4 *)(in.quads + id), *words_to = (uint4 *)(in.words + id);
        const unsigned pairs = shape.ids / 2, all = pairs + shape.ids / 4;
        for (unsigned i = threadIdx.x; i < all; i += COPIES_AT_A_TIME * blockDim.x) {
            uint4 copy[COPIES_AT_A_TIME];
#pragma unroll
            for (int k = 0; k < COPIES_AT_A_TIME; ++k) {
                const unsigned n = i + k * blockDim.x;
                if (n < all) copy[k] = n < pairs ? quads[n] : words[n - pairs];
            }
#pragma unroll
            for (int k = 0; k < COPIES_AT_A_TIME; ++k) {
                const unsigned n = i + k * blockDim.x;
                if (n >= all) break;
                const uint4 c = copy[k];
                if (n < pairs)
                    quads_to[n] = make_uint4(c.x + shift, c.y + shift, c.z + shift, c.w + shift);
                else
                    words_to[n - pairs] = c;
            }
        }
        for (unsigned i = threadIdx.x; i < layout.slot_groups; i += blockDim.x) {
            const bool is_own = i < padded(shape.own) / PLACES;
            in.homes[group + i] = is_own ? shape.first_place + (int)(i * PLACES) : NO_PLACE;
            in.reached[group + i] = in.found[group + i] = in.found[layout.groups() + group + i] = 0;
        }
        for (unsigned i = threadIdx.x; i < READERS; i += blockDim.x)
            own.readers[slot][i] = parts.readers[(size_t)number * READERS + i];
        if (threadIdx.x == 0) own.shapes[slot] = shape;
    }

    // List the groups of ghosts, those of new parts last, and read these and the own vertices of new parts.
    __device__ __forceinline__ void list_groups() {
        unsigned end = 0, begin = 0;
        for (int kind = 0; kind < 3; ++kind) {  // ghosts known and new, and new own vertices
            for (unsigned s = 0; s < layout.slots; ++s) {
                if (own.parts[s] == block_state::NO_PART || own.is_new[s] != (kind > 0)) continue;
                const unsigned groups = padded(own.shapes[s].own) / PLACES;
                const unsigned first = s * layout.slot_groups + (kind < 2 ? groups : 0);
                const unsigned number = kind < 2 ? padded(own.shapes[s].ghosts) / PLACES : groups;
                for (unsigned i = threadIdx.x; i < number; i += blockDim.x) in.to_read[end + i] = (unsigned short)(first + i);
                end += number;
            }
            if (kind == 0) begin = end;
            if (kind == 1) num_ghosts = end;
        }
        __syncthreads();
        read_levels(begin, end);
    }

    // Run the levels of a step in the parts that are in the block's memory.
    __device__ __forceinline__ void run_levels() {
        const long long began = watch.now();
        for (int k = 0; k < parts.hops; ++k) {
            run_level(k);
            __syncthreads();
            now ^= 1;
        }
        end_levels();
        watch.most(counted::level_cycles, step, began);
    }

    // Expand the vertices that are found at a level.
    __device__ __forceinline__ void run_level(int k) const {
        unsigned *found = this->found(), *next = in.found + (now ^ 1) * layout.groups();
        for (unsigned g = threadIdx.x; g < layout.groups(); g += blockDim.x) {
            const unsigned bits = found[g], reached = in.reached[g];
            const int home = in.homes[g];
            if (bits == 0) continue;
            found[g] = 0;
            in.reached[g] = reached | bits;
#pragma unroll 1
            for (unsigned fresh = bits & ~reached; fresh; fresh &= fresh - 1) {
                const unsigned bit = __ffs(fresh) - 1;
                expand(g * PLACES + bit, next);
                if (k > 0 && home != NO_PLACE) store_relaxed(&place_levels[home + (int)bit], level + k);
            }
        }
    }

    // Set the bits of the neighbours.
    __device__ __forceinline__ void expand(unsigned id, unsigned *next) const {
        const quad row = in.quads[id];
        if (!(row.ids[0] & IN_QUADS)) return set_bits(row, next);
#pragma unroll 1
        for (unsigned i = row.ids[0] & ~IN_QUADS; i <= row.ids[1]; ++i) set_bits(in.quads[i], next);
    }
    __device__ __forceinline__ void set_bits(const quad &row, unsigned *next) const {
#pragma unroll
        for (int k = 0; k < 4; ++k) atomicOr(&next[row.ids[k] / 32], 1u << row.ids[k] % 32);
    }

    // Own vertices that the last level has found get their level, and parts that read them become active. The next step
    // expands them.
    __device__ __forceinline__ void end_levels() const {
        bool any = false;
        for (unsigned g = threadIdx.x; g < layout.groups(); g += blockDim.x) {
            const unsigned bits = found()[g];
            const int home = in.homes[g];
            if (bits == 0 || home == NO_PLACE) continue;
            for (unsigned fresh = bits & ~in.reached[g]; fresh; fresh &= fresh - 1) {
                const unsigned bit = __ffs(fresh) - 1;
                store_relaxed(&place_levels[home + (int)bit], level + parts.hops);
                tell_readers(in.words[g * PLACES + bit], g / layout.slot_groups);
                any = true;
            }
        }
        if (any) atomicOr(&own.seen[(step + 1) % 2], block_state::BUSY);
    }

    // Make parts active that read an own vertex.
    __device__ __forceinline__ void tell_readers(unsigned readers, unsigned slot) const {
        for (unsigned left = readers & ~atomicOr(&own.woken[slot], readers); left; left &= left - 1)
            wake(own.readers[slot][__ffs(left) - 1], next_bitmap, parts.number);
    }

    // Have all parts that the block holds wait for the next round, or step if there is none. What they have found is in
    // global memory.
    __device__ __forceinline__ void set_aside() {
        __syncthreads();
        for (unsigned g = threadIdx.x; g < 2 * layout.groups(); g += blockDim.x) in.found[g] = 0;
        if (threadIdx.x == 0) {
            for (unsigned s = 0; s < layout.slots; ++s) {
                if (own.parts[s] != block_state::NO_PART) own.later.put(own.later.size++, own.parts[s]);
                own.parts[s] = block_state::NO_PART;
            }
            for (bool last = own.waiting.size == 0; last && own.later.size > 0;) {
                const int p = own.later.pop();
                own.waiting.put(own.waiting.size++, p);
            }
        }
        num_ghosts = 0;
        __syncthreads();
    }
};
