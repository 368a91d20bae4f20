// A block of the search by parts: what it holds in shared memory, and its share of a step. See resident_parts.cu.
//
// The frontier is bits. A level sets the bit of each neighbour that it finds, reached or not, and the thread that has
// these bits in the next level takes those that are new: so nothing is claimed, counted or queued, and a level is
// three dependent accesses to shared memory (bits, row, bit of a neighbour) and a barrier. Bits are set in one of two
// bitmaps while those in the other are taken. A word has few bits, as its thread takes one after the other.
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
    unsigned num_groups = 0;  // up to the last one of any part that the block holds
    unsigned given_out = 0;   // parts, modulo the blocks
    unsigned now = 0;         // which bits have been found at the level at hand
    bool busy = false;        // the block has something to do
    bool crowded = false;     // it holds more parts than have room
    bool postponed = false;   // it changes its parts when others need not wait for it

    __device__ __forceinline__ unsigned *found() const { return in.found + now * layout.groups() * WORDS; }

    // Begin a step whose active parts are in a bitmap: read the ghosts of the parts that the block holds, take parts that
    // have become active, give up those that are no longer. Clears another bitmap. False if no part is active.
    __device__ __forceinline__ bool begin_step(const unsigned *bitmap, unsigned *cleared) {
        const unsigned thread = threadIdx.x, words = layout.bitmap_words;
        const int p = thread < layout.slots ? own.parts[thread] : block_state::NO_PART;
        const unsigned first = thread < words ? load_relaxed((const int *)&bitmap[thread]) : 0;
        const unsigned of_own = p != block_state::NO_PART ? load_relaxed((const int *)&bitmap[p / 32]) : 0;
        int seen = read_levels(0, num_groups, false) ? block_state::BUSY : 0;
        for (unsigned w = thread; w < words; w += blockDim.x) {
            const unsigned bits = w == thread ? first : load_relaxed((const int *)&bitmap[w]), before = in.active[w];
            in.active[w] = bits, in.fresh[w] = bits & ~before, in.known[w] |= before;
            seen |= (bits ? block_state::ANY : 0) | (bits & ~before ? block_state::FRESH : 0);
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
        busy = seen & block_state::BUSY;
        const bool taken = seen & block_state::FRESH && take_fresh();
        const bool changed = taken || crowded || seen & block_state::ENDED;
        postponed = changed && !crowded && busy && (!taken || (parts.lead && step > 0));
        if (changed && !postponed) change_parts();
        return seen & block_state::ANY;
    }

    // The levels of a step, in more than one round if not all parts of the block have room.
    __device__ __forceinline__ void run_step() {
        for (bool several = false;; several = true) {
            watch.add(counted::parts, step, num_parts());
            if (busy) run_levels();
            if (postponed) return;
            const bool last = own.waiting.size == 0;
            crowded = several || !last;
            if (crowded) set_aside();
            if (last) return;
            change_parts();
        }
    }

    // Read the levels of ghosts in these groups, or of all vertices. For whole warps; true for some lanes of those that
    // find a vertex at this level.
    __device__ __forceinline__ bool read_levels(unsigned begin, unsigned end, bool own_too) const {
        const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
        bool any = false;
        for (unsigned first = begin + threadIdx.x / WARP; first < end; first += GROUPS_AT_A_TIME * warps) {
            int levels[GROUPS_AT_A_TIME], homes[GROUPS_AT_A_TIME];
#pragma unroll
            for (int k = 0; k < GROUPS_AT_A_TIME; ++k) {
                const unsigned g = first + k * warps;
                levels[k] = UNREACHED;
                homes[k] = g < end ? in.homes[g] : UNUSED;
                if (homes[k] >= 0 && !own_too) homes[k] = UNUSED;
                if (homes[k] == UNUSED) continue;
                const int place = homes[k] == NO_PLACE ? (int)in.words[g * PLACES + lane] : homes[k] + (int)lane;
                if (place != NO_PLACE) levels[k] = load_relaxed(&place_levels[place]);
            }
#pragma unroll
            for (int k = 0; k < GROUPS_AT_A_TIME; ++k) {
                if (homes[k] == UNUSED) continue;
                const unsigned before = __ballot_sync(ALL_LANES, (unsigned)levels[k] < (unsigned)level);
                const unsigned frontier = __ballot_sync(ALL_LANES, levels[k] == level);
                if (lane >= WORDS) continue;
                const unsigned word = (first + k * warps) * WORDS + lane, shift = lane * BITS;
                in.reached[word] = before >> shift & ((1u << BITS) - 1);
                found()[word] = frontier >> shift & ((1u << BITS) - 1);
                any |= frontier != 0;
            }
        }
        return any;
    }

    // Give out the parts that have become active. True if some are for this block.
    __device__ __forceinline__ bool take_fresh() {
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
        return own.waiting.size > 0;
    }

    __device__ __forceinline__ int num_parts() const {
        int number = 0;
        for (unsigned s = 0; s < layout.slots; ++s) number += own.parts[s] != block_state::NO_PART;
        return number;
    }

    // Give free slots to parts that wait, load these, and read the levels of what they have to do.
    __device__ __forceinline__ void change_parts() {
        const long long began = watch.now();
        __syncthreads();
        if (threadIdx.x == 0) assign_slots();
        __syncthreads();
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (own.is_new[s])
                load(s);
            else if (own.parts[s] == block_state::NO_PART)
                for (unsigned i = threadIdx.x; i < layout.slot_groups; i += blockDim.x)
                    in.homes[s * layout.slot_groups + i] = UNUSED;
        }
        __syncthreads();
        const bool at_once = !parts.lead || step == 0 || crowded;  // a new part may have something to do in this step
        num_groups = 0;
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (own.parts[s] == block_state::NO_PART) continue;
            const unsigned first = s * layout.slot_groups, end = first + own.shapes[s].ids / PLACES;
            if (own.is_new[s] && (at_once || own.is_known[s])) read_levels(first, end, own.is_known[s]);
            num_groups = end;
        }
        if (own.loaded > 0 && at_once) busy = true;
        __syncthreads();
        if (postponed) crowded = own.waiting.size > 0;
        if (own.loaded > 0) watch.most(counted::load_cycles, step, began);
    }

    // By one thread. Vertices of a part that has never been active are all unreached, unless one is the source.
    __device__ __forceinline__ void assign_slots() {
        own.loaded = 0;
        for (unsigned s = 0; s < layout.slots; ++s) {
            own.is_new[s] = false;
            while (own.parts[s] == block_state::NO_PART && own.waiting.size > 0) {
                const int p = own.waiting.pop();
                if (!(in.active[p / 32] >> p % 32 & 1)) continue;  // it has ended while it waited
                own.parts[s] = p, own.is_new[s] = true, own.woken[s] = 0;
                own.is_known[s] = step == 0 || in.known[p / 32] >> p % 32 & 1;
                ++own.loaded;
            }
        }
        watch.add(counted::loads, step, own.loaded);
    }

    // Load a part into a slot. Local ids become ids in the block.
    __device__ __forceinline__ void load(unsigned slot) {
        const int number = own.parts[slot];
        const part part = parts.parts[number];
        if (threadIdx.x < READERS) own.readers[slot][threadIdx.x] = parts.readers[(size_t)number * READERS + threadIdx.x];
        if (threadIdx.x == 0) own.shapes[slot] = part;
        const unsigned group = slot * layout.slot_groups, id = group * PLACES, shift = id * 0x10001u;
        const unsigned ghosts = padded(part.own) / PLACES, rest = ghosts + padded(part.ghosts) / PLACES;
        for (unsigned i = threadIdx.x; i < layout.slot_groups * WORDS; i += blockDim.x) {
            const unsigned word = group * WORDS + i, g = i / WORDS;
            in.reached[word] = in.found[word] = in.found[layout.groups() * WORDS + word] = 0;
            if (i % WORDS > 0) continue;
            in.homes[group + g] = g < ghosts ? part.first_place + (int)(g * PLACES) : g < rest ? NO_PLACE : UNUSED;
        }
        const uint4 *quads = (const uint4 *)(parts.quads + part.first), *words = (const uint4 *)(parts.words + part.first);
        uint4 *quads_to = (uint4 *)(in.quads + id), *words_to = (uint4 *)(in.words + id);
        const unsigned pairs = part.ids / 2, all = pairs + part.ids / 4;
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
        unsigned *found = this->found(), *next = in.found + (now ^ 1) * layout.groups() * WORDS;
        for (unsigned w = threadIdx.x; w < num_groups * WORDS; w += blockDim.x) {
            const unsigned bits = found[w], reached = in.reached[w];
            const int home = in.homes[w / WORDS];
            if (bits == 0) continue;
            found[w] = 0;
            in.reached[w] = reached | bits;
#pragma unroll 1
            for (unsigned fresh = bits & ~reached; fresh; fresh &= fresh - 1) {
                const unsigned id = w * BITS + __ffs(fresh) - 1;
                expand(id, next);
                if (k > 0 && home >= 0) store_relaxed(&place_levels[home + (int)(id % PLACES)], level + k);
            }
        }
    }

    // Set the bits of the neighbours.
    __device__ __forceinline__ void expand(unsigned id, unsigned *next) const {
        const quad row = in.quads[id];
        if (!(row.ids[0] & LONG_ROW)) return set_bits(row, next);
#pragma unroll 1
        for (unsigned i = row.ids[0] & ~LONG_ROW; i <= row.ids[1]; ++i) set_bits(in.quads[i], next);
    }
    __device__ __forceinline__ void set_bits(const quad &row, unsigned *next) const {
#pragma unroll
        for (int k = 0; k < 4; ++k) atomicOr(&next[row.ids[k] / BITS], 1u << row.ids[k] % BITS);
    }

    // Own vertices that the last level has found get their level, and parts that read them become active. The next step
    // expands them.
    __device__ __forceinline__ void end_levels() const {
        bool any = false;
        for (unsigned w = threadIdx.x; w < num_groups * WORDS; w += blockDim.x) {
            const unsigned bits = found()[w];
            const int home = in.homes[w / WORDS];
            if (bits == 0 || home < 0) continue;
            for (unsigned fresh = bits & ~in.reached[w]; fresh; fresh &= fresh - 1) {
                const unsigned id = w * BITS + __ffs(fresh) - 1;
                store_relaxed(&place_levels[home + (int)(id % PLACES)], level + parts.hops);
                tell_readers(in.words[id], w / (layout.slot_groups * WORDS));
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
        for (unsigned w = threadIdx.x; w < 2 * layout.groups() * WORDS; w += blockDim.x) in.found[w] = 0;
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
        num_groups = 0;
        __syncthreads();
    }
};
