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

#define GROUPS_AT_A_TIME 8  // whose levels a warp reads
#define COPIES_AT_A_TIME 8  // of 16 bytes that a thread loads of a part

// The host defines GROUPS_A_THREAD, the most groups of local ids that a thread has.

struct block_search {
    const partition &parts;
    const slot_layout &layout;
    const block_memory &in;
    const exchange &others;
    block_state &own;
    int *place_levels;
    stopwatch watch;
    int step = 0;
    int level = 0;            // all up to this are right
    unsigned num_ghosts = 0;  // groups of ghosts of all parts in slots
    unsigned end_of_list = 0;
    unsigned dealt = 0;       // parts in the last step that nobody had counted then
    unsigned now = 0;         // which bits have been found at the level at hand
    bool crowded = false;     // the block runs more parts than have room
    bool busy = false;        // it has found vertices at this level
    bool changes = false;     // of what the slots hold
    bool some_soon = false;   // parts are to be dealt out that may be active soon

    __device__ __forceinline__ unsigned *found() const { return in.found + now * layout.groups(); }
    __device__ __forceinline__ unsigned *bitmap_of(int s) const { return others.bitmaps + s % 3 * 2 * layout.bitmap_words; }
    __device__ __forceinline__ unsigned long long *at_level_of(int s) const {
        return others.at_level + (size_t)(s % 2) * (parts.num_places / PLACES);
    }
    __device__ __forceinline__ int *loads_of(int s) const { return others.loads + s % 2 * gridDim.x; }

    // Begin a step: read the ghosts of the parts that the block has, and which parts are active; deal out those that nobody
    // has. False if no part is active.
    __device__ __forceinline__ bool begin_step() {
        const unsigned thread = threadIdx.x, words = layout.bitmap_words;
        const unsigned *bitmap = bitmap_of(step);
        unsigned *cleared = bitmap_of(step + 2);
        const int p = thread < layout.slots ? own.parts[thread] : block_state::NO_PART;
        const unsigned first = thread < words ? load_relaxed(&bitmap[thread]) : 0;
        const unsigned soon = thread < words ? load_relaxed(&bitmap[words + thread]) : 0;
        const unsigned of_own = p != block_state::NO_PART ? load_relaxed(&bitmap[p / 32]) : 0;
        int seen = read_groups(0, num_ghosts) ? block_state::BUSY : 0;
        for (unsigned w = thread; w < words; w += blockDim.x) {
            seen |= w == thread ? classify(w, first, soon)
                                : classify(w, load_relaxed(&bitmap[w]), load_relaxed(&bitmap[words + w]));
            if (blockIdx.x == 0) store_relaxed(&cleared[w], 0u), store_relaxed(&cleared[words + w], 0u);
        }
        if (p != block_state::NO_PART) {
            const bool is_active = of_own >> p % 32 & 1, runs = is_active || own.active[thread];
            if (own.runs[thread] && !runs)
                own.empty(thread), seen |= block_state::CHANGED;
            else
                own.active[thread] = is_active, own.runs[thread] = runs;
            own.woken[thread] = 0;
        }
        if (thread == 0 && (crowded || own.ahead.size > 0)) seen |= block_state::CHANGED;
        if (seen) atomicOr(&own.seen[step % 2], seen);
        __syncthreads();
        seen = own.seen[step % 2];
        if (thread == 0) own.seen[(step + 1) % 2] = 0;
        if (seen & block_state::FRESH) dealt += deal(in.fresh, step, own.waiting);
        some_soon = seen & block_state::SOON;
        busy = seen & block_state::BUSY;
        changes = seen & (block_state::FRESH | block_state::CHANGED);
        return seen & block_state::ANY;
    }

    // What becomes of 32 parts, of which these are active and these may be soon. A part runs for one step more, so that what
    // it has found stands in both copies of what blocks tell each other. Returns bits of block_state::seen.
    __device__ __forceinline__ int classify(unsigned w, unsigned active, unsigned soon) const {
        const unsigned running = active | in.active[w], ended = in.running[w] & ~running;
        const unsigned held = in.held[w] & ~ended, known = in.known[w], fresh = running & ~held;
        const unsigned ahead = soon & ~(known | fresh);
        in.active[w] = active, in.running[w] = running;
        in.fresh[w] = fresh, in.again[w] = fresh & known, in.soon[w] = ahead;
        in.held[w] = held | fresh | ahead, in.known[w] = known | fresh | ahead;
        return (active ? block_state::ANY : 0) | (fresh ? block_state::FRESH : 0) | (ahead ? block_state::SOON : 0);
    }

    // Deal out parts, those of a bitmap, to blocks in the order of how many they had before a step; all blocks do it alike.
    // Puts those for this block in a list, and returns the number of all.
    __device__ __forceinline__ unsigned deal(const unsigned *bitmap, int of, part_list &list) {
        const int *loads = loads_of(of);
        const int mine = load_relaxed(&loads[blockIdx.x]);
        unsigned rank = 0, all = 0;
        for (unsigned base = 0; base < gridDim.x; base += blockDim.x) {
            const unsigned b = base + threadIdx.x;
            const int load = b < gridDim.x ? load_relaxed(&loads[b]) : 0x7fffffff;
            rank += __syncthreads_count(load < mine || (load == mine && b < blockIdx.x));
        }
        for (unsigned base = 0; base < layout.bitmap_words; base += blockDim.x) {
            const unsigned w = base + threadIdx.x;
            unsigned bits = w < layout.bitmap_words ? bitmap[w] : 0;
            int total, before = exclusive_sum_of_block(__popc(bits), total);
            for (unsigned turn = dealt + all + before; bits; bits &= bits - 1, ++turn) {
                if (turn % gridDim.x != rank) continue;
                const unsigned bit = __ffs(bits) - 1;
                const bool was_known = of == 0 || in.again[w] >> bit & 1;
                list.put(atomicAdd(&list.size, 1), (int)(w * 32 + bit) | (was_known ? block_state::WAS_KNOWN : 0));
            }
            all += total;
        }
        __syncthreads();
        return all;
    }

    // The levels of a step, in more than one round if not all parts that run have room.
    __device__ __forceinline__ void run_step(long long began) {
        crowded = false;
        for (;;) {
            if (changes) change_parts();
            if (!crowded) announce();
            if (busy && !crowded) watch.most(counted::read_cycles, step, began);
            watch.add(counted::parts, step, num_active());
            run_levels();
            const bool last = own.waiting.size == 0;
            crowded |= !last;
            if (crowded) set_aside();
            if (last) break;
            changes = true;
        }
        if (threadIdx.x == blockDim.x - 1) store_relaxed(&loads_of(step + 1)[blockIdx.x], own.num_parts());
    }

    // After a step, while others run: take parts that may become active, and load them if there is room.
    __device__ __forceinline__ void look_ahead() {
        dealt = some_soon ? deal(in.soon, step - 1, own.ahead) : 0;
        if (crowded || own.ahead.size == 0) return;
        __syncthreads();
        if (threadIdx.x == 0) {
            own.loads = 0;
            for (unsigned s = 0; s < layout.slots; ++s)
                if (own.parts[s] == block_state::NO_PART && own.ahead.size > 0) own.take(s, own.ahead.pop(), false);
            watch.add(counted::loads_ahead, step - 1, own.loads);
        }
        __syncthreads();
        if (own.loads > 0) load_parts();
    }

    // Parts that read one which has been active for some steps may be active soon.
    __device__ __forceinline__ void announce() {
        if (threadIdx.x >= READERS) return;
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (!own.active[s]) continue;
            const int age = own.age[s], reader = own.readers[s][threadIdx.x];
            __syncwarp();
            if (threadIdx.x == 0) own.age[s] = age + 1;
            if (age == DELAY && reader >= 0) wake(reader, bitmap_of(step + 1) + layout.bitmap_words, parts.number);
        }
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

    __device__ __forceinline__ int num_active() const {
        int number = 0;
        for (unsigned s = 0; s < layout.slots; ++s) number += own.active[s];
        return number;
    }

    __device__ __forceinline__ static bool has(const unsigned *bitmap, int entry) {
        const int p = entry & ~block_state::WAS_KNOWN;
        return bitmap[p / 32] >> p % 32 & 1;
    }

    // Give slots to parts that wait, load these, and read what is known of their vertices.
    __device__ __forceinline__ void change_parts() {
        const long long began = watch.now();
        if (threadIdx.x == 0) fill_slots();
        __syncthreads();
        if (own.loads == 0) {
            list_groups(false);
            return;
        }
        busy = true;
        const unsigned known = load_parts();
        read_groups(known, end_of_list);
        watch.most(counted::load_cycles, step, began);
        __syncthreads();
    }

    // A slot without a part, or else without one that runs; or -1.
    __device__ __forceinline__ int free_slot() const {
        int slot = -1;
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (own.parts[s] == block_state::NO_PART) return s;
            if (!own.runs[s]) slot = s;
        }
        return slot;
    }

    // By one thread.
    __device__ __forceinline__ void fill_slots() {
        part_list &ahead = own.ahead;
        int kept = 0;
        for (int i = 0; i < ahead.size; ++i) {
            const int entry = ahead.get(i);
            if (has(in.running, entry))
                own.waiting.push(entry);
            else
                ahead.put(kept++, entry);
        }
        ahead.size = kept;
        own.loads = 0;
        while (own.waiting.size > 0) {
            const int slot = free_slot();
            if (slot < 0) break;
            const int entry = own.waiting.pop();
            if (!has(in.running, entry)) continue;  // it has ended while it waited
            if (own.parts[slot] != block_state::NO_PART) ahead.push(own.parts[slot]);
            own.take(slot, entry, true);
            own.active[slot] = has(in.active, entry);
        }
        watch.add(counted::loads, step, own.loads);
    }

    // Load the parts that are in slots for the first time. Returns where in the list their groups begin.
    __device__ __forceinline__ unsigned load_parts() {
        for (unsigned s = 0; s < layout.slots; ++s)
            if (own.to_load[s]) load(s);
        __syncthreads();
        const unsigned begin = list_groups(true);
        if (threadIdx.x < layout.slots) own.to_load[threadIdx.x] = false;
        return begin;
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

    // List the groups of ghosts, those of new parts last; and then, for once, the own vertices of such parts if they were
    // known. Returns where those of new parts begin.
    __device__ __forceinline__ unsigned list_groups(bool with_new) {
        unsigned end = 0, begin = 0;
        for (int kind = 0; kind < (with_new ? 3 : 1); ++kind) {  // ghosts known and new, and new own vertices
            for (unsigned s = 0; s < layout.slots; ++s) {
                if (own.parts[s] == block_state::NO_PART || own.to_load[s] != (kind > 0)) continue;
                if (kind == 2 && !own.was_known[s]) continue;
                const unsigned groups = padded(own.shapes[s].own) / PLACES;
                const unsigned first = s * layout.slot_groups + (kind < 2 ? groups : 0);
                const unsigned number = kind < 2 ? padded(own.shapes[s].ghosts) / PLACES : groups;
                for (unsigned i = threadIdx.x; i < number; i += blockDim.x) in.to_read[end + i] = (unsigned short)(first + i);
                end += number;
            }
            if (kind == 0) begin = end;
            if (kind < 2) num_ghosts = end;
        }
        end_of_list = end;
        __syncthreads();
        return begin;
    }

    // Run the levels of a step in the parts that are in the block's memory.
    __device__ __forceinline__ void run_levels() {
        const long long began = watch.now();
        if (busy) find_levels();
        end_levels();
        if (busy) watch.most(counted::level_cycles, step, began);
    }

    // Each thread has its groups of ids in all levels.
    __device__ __forceinline__ void find_levels() {
        const unsigned first = threadIdx.x, groups = layout.groups();
        unsigned reached[GROUPS_A_THREAD];
        int *levels[GROUPS_A_THREAD];  // null for ghosts
#pragma unroll
        for (int j = 0; j < GROUPS_A_THREAD; ++j) {
            const unsigned g = first + j * blockDim.x;
            const int home = g < groups ? in.homes[g] : NO_PLACE;
            reached[j] = g < groups ? in.reached[g] : 0;
            levels[j] = home == NO_PLACE ? nullptr : place_levels + home;
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
                expand(in.quads, g * PLACES, fresh, next, at > level ? levels[j] : nullptr, at);
            }
            __syncthreads();
            unsigned *const last = found;
            found = next, next = last;
        }
        now ^= parts.hops & 1;
#pragma unroll
        for (int j = 0; j < GROUPS_A_THREAD; ++j)
            if (first + j * blockDim.x < groups) in.reached[first + j * blockDim.x] = reached[j];
    }

    // Set the bits of the neighbours of vertices, and note their level.
    __device__ __forceinline__ static void expand(const quad *quads, unsigned first, unsigned fresh, unsigned *next, int *levels, int level) {
        while (fresh != 0) {
#if LEVEL_FORM == 2
            const unsigned bit = highest(fresh), low = highest(fresh & -fresh);
            const row one = row_at(quads, first + bit), two = row_at(quads, first + low);
            fresh &= ~(1u << bit | 1u << low);
            set_bits(one, next);
            if (bit != low) set_bits(two, next);
            if (levels != nullptr) levels[bit] = levels[low] = level;
            if (goes_on(one)) set_rest(one, quads, next);
            if (goes_on(two)) set_rest(two, quads, next);
#else
            const unsigned bit = highest(fresh);
            const row r = row_at(quads, first + bit);
            fresh &= ~(1u << bit);
            set_bits(r, next);
            if (levels != nullptr) levels[bit] = level;
            if (goes_on(r)) set_rest(r, quads, next);
#endif
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

    // Tell of own vertices. Those that the last level has found get their level, and parts that read them become active;
    // the next step expands them.
    __device__ __forceinline__ void end_levels() const {
        bool any = false;
        for (unsigned g = threadIdx.x; g < layout.groups(); g += blockDim.x) {
            const unsigned reached = in.reached[g], slot = g / layout.slot_groups;
            const int home = in.homes[g];
            if (home == NO_PLACE || !own.runs[slot]) continue;
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
        for (unsigned left = readers & ~atomicOr(&own.woken[slot], readers); left; left &= left - 1)
            wake(own.readers[slot][__ffs(left) - 1], bitmap_of(step + 1), parts.number);
    }

    // Have all parts that the block runs wait for the next round, or step if there is none. What they have found is in
    // global memory.
    __device__ __forceinline__ void set_aside() {
        __syncthreads();
        for (unsigned g = threadIdx.x; g < 2 * layout.groups(); g += blockDim.x) in.found[g] = 0;
        if (threadIdx.x == 0) {
            for (unsigned s = 0; s < layout.slots; ++s) {
                if (!own.runs[s]) continue;
                own.later.push(own.parts[s] | block_state::WAS_KNOWN);
                own.empty(s);
            }
            for (bool last = own.waiting.size == 0; last && own.later.size > 0;) own.waiting.push(own.later.pop());
        }
        num_ghosts = 0;
        __syncthreads();
    }
};
