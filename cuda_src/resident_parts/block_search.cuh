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

#ifndef GROUPS_AT_A_TIME
#define GROUPS_AT_A_TIME 8
#endif  // of levels that a warp reads
#ifndef COPIES_AT_A_TIME
#define COPIES_AT_A_TIME 8
#endif  // of 16 bytes that a thread loads of a part

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
    bool changes = false;     // of what the slots hold

    __device__ __forceinline__ unsigned *found() const { return in.found + now * layout.groups(); }

    // Begin a step whose active parts are in a bitmap, and after these the parts that may become active: read the ghosts of
    // the parts that the block runs, take parts that have become active, give up those that are no longer. Clears another
    // bitmap. False if no part is active.
    __device__ __forceinline__ bool begin_step(const unsigned *bitmap, unsigned *cleared) {
        const unsigned thread = threadIdx.x, words = layout.bitmap_words;
        const int p = thread < layout.slots ? own.parts[thread] : block_state::NO_PART;
        const unsigned first = thread < words ? load_relaxed((const int *)&bitmap[thread]) : 0;
        const unsigned soon = thread < words ? load_relaxed((const int *)&bitmap[words + thread]) : 0;
        const unsigned of_own = p != block_state::NO_PART ? load_relaxed((const int *)&bitmap[p / 32]) : 0;
        int seen = read_levels(0, num_ghosts) ? block_state::BUSY : 0;
        for (unsigned w = thread; w < words; w += blockDim.x) {
            seen |= w == thread ? sort(w, first, soon)
                                : sort(w, load_relaxed((const int *)&bitmap[w]), load_relaxed((const int *)&bitmap[words + w]));
            if (blockIdx.x == 0) store_relaxed((int *)&cleared[w], 0), store_relaxed((int *)&cleared[words + w], 0);
        }
        if (p != block_state::NO_PART && (of_own >> p % 32 & 1) != own.active[thread]) {
            if (own.active[thread])
                own.parts[thread] = block_state::NO_PART, own.active[thread] = false;
            else
                own.active[thread] = own.begins[thread] = true;
            seen |= block_state::CHANGED;
        }
        if (thread < layout.slots) own.woken[thread] = 0;
        if (seen) atomicOr(&own.seen[step % 2], seen);
        __syncthreads();
        seen = own.seen[step % 2];
        if (thread == 0) own.seen[(step + 1) % 2] = 0;
        if (seen & block_state::FRESH) take_fresh();
        busy = seen & block_state::BUSY;
        changes = crowded || own.ahead.size > 0 || seen & (block_state::FRESH | block_state::CHANGED);
        return seen & block_state::ANY;
    }

    // What becomes of 32 parts, of which these are active and these may be soon. Returns bits of block_state::seen.
    __device__ __forceinline__ int sort(unsigned w, unsigned active, unsigned soon) const {
        const unsigned ended = in.active[w] & ~active, known = in.known[w], held = in.held[w] & ~ended;
        const unsigned fresh = (active & ~held) | (AHEAD ? soon & ~known : 0);
        in.active[w] = active, in.fresh[w] = fresh, in.again[w] = fresh & known;
        in.held[w] = held | fresh, in.known[w] = known | fresh;
        return (active ? block_state::ANY : 0) | (fresh ? block_state::FRESH : 0);
    }

    // The levels of a step, in more than one round if not all parts of the block have room.
    __device__ __forceinline__ void run_step(long long began) {
        crowded = false;
        for (;;) {
            if (changes) change_parts();
            if (busy && !crowded) watch.most(counted::read_cycles, step, began);
            watch.add(counted::parts, step, num_parts());
            if (busy) run_levels();
            const bool last = own.waiting.size == 0;
            crowded |= !last;
            if (crowded) set_aside();
            if (last) return;
            changes = true;
        }
    }

    // Load parts that may become active, if there is room.
    __device__ __forceinline__ void load_ahead() {
        if (crowded || own.ahead.size == 0) return;
        __syncthreads();
        if (threadIdx.x == 0) {
            own.loads = 0;
            for (unsigned s = 0; s < layout.slots; ++s)
                if (own.parts[s] == block_state::NO_PART && own.ahead.size > 0) own.take(s, own.ahead.pop(), false);
            watch.add(counted::loads_ahead, step, own.loads);
        }
        __syncthreads();
        load_parts();
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

    // Give out the parts that have become active, or may.
    __device__ __forceinline__ void take_fresh() {
        for (unsigned base = 0; base < layout.bitmap_words; base += blockDim.x) {
            const unsigned w = base + threadIdx.x;
            unsigned fresh = w < layout.bitmap_words ? in.fresh[w] : 0;
            int total, turn = exclusive_sum_of_block(__popc(fresh), total);
            for (; fresh; fresh &= fresh - 1, ++turn) {
                if ((given_out + turn) % gridDim.x != blockIdx.x) continue;
                const unsigned bit = __ffs(fresh) - 1;
                part_list &list = in.active[w] >> bit & 1 ? own.waiting : own.ahead;
                const bool has_levels = step == 0 || in.again[w] >> bit & 1;
                list.put(atomicAdd(&list.size, 1), (int)(w * 32 + bit) | (has_levels ? block_state::HAS_LEVELS : 0));
            }
            given_out = (given_out + total) % gridDim.x;
        }
        __syncthreads();
    }

    __device__ __forceinline__ int num_parts() const {
        int number = 0;
        for (unsigned s = 0; s < layout.slots; ++s) number += own.active[s];
        return number;
    }

    __device__ __forceinline__ bool is_active(int entry) const {
        const int p = entry & ~block_state::HAS_LEVELS;
        return in.active[p / 32] >> p % 32 & 1;
    }

    // Give slots to parts that wait, load these, and read the levels of all that begin to be active.
    __device__ __forceinline__ void change_parts() {
        const long long began = watch.now();
        if (threadIdx.x == 0) fill_slots();
        __syncthreads();
        if (own.changed) busy = true;
        if (own.loads > 0) load_parts();
        __syncthreads();
        list_groups();
        if (own.loads > 0) watch.most(counted::load_cycles, step, began);
        __syncthreads();
        if (threadIdx.x < layout.slots) own.begins[threadIdx.x] = false;
    }

    // By one thread.
    __device__ __forceinline__ void fill_slots() {
        part_list &ahead = own.ahead;
        int kept = 0;
        for (int i = 0; i < ahead.size; ++i) {
            const int entry = ahead.get(i);
            if (is_active(entry))
                own.waiting.push(entry);
            else
                ahead.put(kept++, entry);
        }
        ahead.size = kept;
        own.loads = 0, own.changed = false;
        unsigned s = 0;
        while (own.waiting.size > 0) {
            while (s < layout.slots && own.active[s]) ++s;
            if (s == layout.slots) break;
            const int entry = own.waiting.pop();
            if (!is_active(entry)) continue;  // it has ended while it waited
            if (own.parts[s] != block_state::NO_PART) ahead.push(own.parts[s]);
            own.take(s, entry, true);
        }
        for (s = 0; s < layout.slots; ++s) own.changed |= own.begins[s];
        watch.add(counted::loads, step, own.loads);
    }

    __device__ __forceinline__ void load_parts() {
        for (unsigned s = 0; s < layout.slots; ++s)
            if (own.to_load[s]) load(s);
        __syncthreads();
        if (threadIdx.x < layout.slots) own.to_load[threadIdx.x] = false;
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

    // List the groups of ghosts, those of parts that begin to be active last; read these, and the own vertices of such
    // parts if they have levels. Who reads these parts' vertices may become active.
    __device__ __forceinline__ void list_groups() {
        unsigned end = 0, begin = 0;
        for (int kind = 0; kind < 3; ++kind) {  // ghosts known and new, and new own vertices
            for (unsigned s = 0; s < layout.slots; ++s) {
                if (!own.active[s] || own.begins[s] != (kind > 0) || (kind == 2 && !own.has_levels[s])) continue;
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
        if (!AHEAD || threadIdx.x >= READERS) return;
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (!own.begins[s]) continue;
            const int reader = own.readers[s][threadIdx.x];
            if (reader >= 0) wake(reader, next_bitmap + layout.bitmap_words, parts.number);
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
        unsigned *const found = this->found(), *const next = in.found + (now ^ 1) * layout.groups();
        const quad *const quads = in.quads;
        int *const levels = place_levels;
        for (unsigned g = threadIdx.x; g < layout.groups(); g += blockDim.x) {
            const unsigned bits = found[g], reached = in.reached[g];
            const int home = k > 0 ? in.homes[g] : NO_PLACE;
            if (bits == 0) continue;
            found[g] = 0;
            in.reached[g] = reached | bits;
            int *const here = levels + home;
            for (unsigned fresh = bits & ~reached; fresh != 0;) {
#if LEVEL_FORM == 2
                const unsigned high = highest(fresh), low = highest(fresh & -fresh);
                const row first = row_at(quads, g * PLACES + high), second = row_at(quads, g * PLACES + low);
                fresh &= ~(1u << high | 1u << low);
                set_bits(first, next);
                if (high != low) set_bits(second, next);
                if (home != NO_PLACE) store_relaxed(&here[high], level + k);
                if (home != NO_PLACE) store_relaxed(&here[low], level + k);
                if (goes_on(first)) set_rest(first, quads, next);
                if (goes_on(second)) set_rest(second, quads, next);
#else
                const unsigned bit = highest(fresh);
                const row found = row_at(quads, g * PLACES + bit);
                fresh &= ~(1u << bit);
                set_bits(found, next);
                if (home != NO_PLACE) store_relaxed(&here[bit], level + k);
                if (goes_on(found)) set_rest(found, quads, next);
#endif
            }
        }
    }

    // A quad as two words.
    struct row {
        unsigned low, high;
    };
    __device__ __forceinline__ static unsigned highest(unsigned bits) { return 31 - __clz(bits); }
    __device__ __forceinline__ static row row_at(const quad *quads, unsigned id) {
        const uint2 both = ((const uint2 *)quads)[id];
        return {both.x, both.y};
    }
    __device__ __forceinline__ static bool goes_on(row r) { return (int)r.high < 0; }  // IN_NEXT_QUAD

    // Set the bits of the neighbours in a quad. That of a next quad's id is set as well, which does nothing: no vertex has
    // it, and if it is taken for one, then a level after the neighbours in that quad were found.
    __device__ __forceinline__ static void set_bits(row r, unsigned *next) {
        atomicOr(&next[(r.low & 0xffff) / 32], 1u << (r.low & 31));
        atomicOr(&next[r.low >> 21], 1u << (r.low >> 16 & 31));
        atomicOr(&next[(r.high & 0xffff) / 32], 1u << (r.high & 31));
        atomicOr(&next[r.high >> 21 & 0x3ff], 1u << (r.high >> 16 & 31));
    }
    // And of those in the quads after it.
    __device__ __forceinline__ static void set_rest(row r, const quad *quads, unsigned *next) {
#pragma unroll 1
        do {
            r = row_at(quads, r.high >> 16 & ~IN_NEXT_QUAD);
            set_bits(r, next);
        } while (goes_on(r));
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

    // Have all parts that the block runs wait for the next round, or step if there is none. What they have found is in
    // global memory.
    __device__ __forceinline__ void set_aside() {
        __syncthreads();
        for (unsigned g = threadIdx.x; g < 2 * layout.groups(); g += blockDim.x) in.found[g] = 0;
        if (threadIdx.x == 0) {
            for (unsigned s = 0; s < layout.slots; ++s) {
                if (!own.active[s]) continue;
                own.later.push(own.parts[s] | block_state::HAS_LEVELS);
                own.parts[s] = block_state::NO_PART, own.active[s] = false;
            }
            for (bool last = own.waiting.size == 0; last && own.later.size > 0;) own.waiting.push(own.later.pop());
        }
        num_ghosts = 0;
        __syncthreads();
    }
};
