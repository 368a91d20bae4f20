// A block of the search by parts: what it holds in shared memory, and its share of a step. See resident_parts.cu.
#pragma once

#include "barrier.cuh"
#include "parts.cuh"
#include "prefix_sum.cuh"
#include "profile.cuh"

// The host defines SLOTS, the most parts that a block holds in shared memory, MOST_HOPS, the most levels of a step, and
// PAGE: a slot consists of pages of so many local ids.
#define FEW 64         // parts that wait in shared memory
#define GROUPS_AT_A_TIME 4  // of PLACES levels that a warp reads

namespace counted {
enum { parts, loads, frontier, wait_cycles, read_cycles, load_cycles, level_cycles, number };
}

struct search_state {
    grid_barrier barrier;
    int failed;  // a block gave up waiting for the others
};

// The parts of a graph. `vertices`, `part_at` (of each PLACES places) and `read_by` are by place, `readers` by part.
struct partition {
    const part *parts;
    const quad *quads;
    const int *ghosts;
    const unsigned *read_by;
    const int *readers;
    const int *part_at;
    const int *places;
    const int *vertices;
    int number;
    int num_places;
    int hops;
};

// How a block's memory is divided: slots of so many local ids, and words of the bitmap of active parts.
struct slot_layout {
    unsigned slots, slot_ids, bitmap_words;

    __device__ __forceinline__ unsigned ids() const { return slots * slot_ids; }
};

struct page {
    int home;  // a local id's place less the id, for own vertices
    int slot;
};

// By local id, which begin at slot * slot_ids: rows, places of ghosts or readers of own vertices, the frontiers of all
// levels of a step, a bit for each vertex that has been reached, pages. `groups` are the first ids of PLACES each whose
// levels are to be read. `active` and `fresh` are bits of parts.
struct block_memory {
    quad *quads;
    unsigned *words;
    unsigned *reached;
    page *pages;
    unsigned *active, *fresh;
    unsigned short *queue;
    unsigned short *groups;
};

__device__ __forceinline__ block_memory carve(unsigned long long *memory, const slot_layout &layout) {
    const unsigned ids = layout.ids();
    block_memory in;
    in.quads = (quad *)memory;
    in.pages = (page *)(in.quads + ids);
    in.words = (unsigned *)(in.pages + ids / PAGE);
    in.reached = in.words + ids;
    in.active = in.reached + ids / 32;
    in.fresh = in.active + layout.bitmap_words;
    in.queue = (unsigned short *)(in.fresh + layout.bitmap_words);
    in.groups = in.queue + ids;
    return in;
}

__device__ __forceinline__ int load_relaxed(const int *word) {
    int value;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed(int *word, int value) {
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

// Make a part active, or all.
__device__ __forceinline__ void wake(int part, unsigned *bitmap, int number) {
    if (part != ALL_PARTS) {
        atomicOr(&bitmap[part / 32], 1u << part % 32);
        return;
    }
    for (int i = 0; i < number; i += 32) atomicOr(&bitmap[i / 32], number - i < 32 ? (1u << (number - i)) - 1 : ~0u);
}

// A list of parts: the first ones in shared memory.
struct part_list {
    int few[FEW];
    int *more;
    int size;

    __device__ __forceinline__ void put(int place, int part) { (place < FEW ? few[place] : more[place - FEW]) = part; }
    __device__ __forceinline__ int pop() { return --size, size < FEW ? few[size] : more[size - FEW]; }
};

// What the threads of a block share.
struct block_state {
    int parts[SLOTS];  // or NO_PART
    part shapes[SLOTS];
    bool is_new[SLOTS];
    int readers[SLOTS][READERS];
    unsigned woken[SLOTS];              // readers that have been made active
    int found[2][MOST_HOPS + 1];        // vertices of each level, of even and of odd rounds
    part_list waiting[2];
    int seen[2];  // of even and of odd steps
    bool failed;

    static constexpr int NO_PART = -1;
    static constexpr int ANY = 1, FRESH = 2, ENDED = 4;  // bits of seen

    __device__ void clear(int *more, int number) {
        for (int s = 0; s < SLOTS; ++s) parts[s] = NO_PART;
        for (int i = 0; i < 2; ++i) {
            for (int k = 0; k <= MOST_HOPS; ++k) found[i][k] = 0;
            waiting[i].size = seen[i] = 0, waiting[i].more = more + (size_t)i * number;
        }
        failed = false;
    }
};

// Cycles of a profiled search's phases, the most of any block.
struct stopwatch {
    unsigned long long *counts;
    int hops;
    mutable long long began = 0;

    __device__ __forceinline__ void start() const {
        if (COUNTERS && threadIdx.x == 0) began = clock64();
    }
    __device__ __forceinline__ void stop(int counter, int step, bool counting) const {
        if (COUNTERS && threadIdx.x == 0 && counting)
            atomicMax(&counts[(size_t)step * hops * counted::number + counter], clock64() - began);
    }
    __device__ __forceinline__ void add(int counter, int step, int number) const {
        if (COUNTERS && threadIdx.x == 0)
            atomicAdd(&counts[(size_t)step * hops * counted::number + counter], number);
    }
};

struct block_search {
    const partition &parts;
    const slot_layout &layout;
    const block_memory &in;
    block_state &own;
    int *place_levels;
    unsigned *next_bitmap = nullptr;
    int level = 0;  // all up to this are right
    unsigned num_groups = 0;  // of ghosts of all parts that the block holds
    unsigned given_out = 0;   // parts, modulo the blocks
    unsigned round = 0;       // there are several in a step if not all parts have room
    bool busy = false;

    // The queue of a step grows from one end of the memory, and own vertices of its last level, with which the next
    // step begins, from the other one. Together they are never more than the local vertices.
    __device__ __forceinline__ unsigned short &queued(unsigned i) const {
        return in.queue[round % 2 ? layout.ids() - 1 - i : i];
    }
    __device__ __forceinline__ unsigned short &queued_next(unsigned i) const {
        return in.queue[round % 2 ? i : layout.ids() - 1 - i];
    }
    __device__ __forceinline__ int *found() const { return own.found[round % 2]; }

    // Read the levels of these groups; vertices at the current level are queued. For whole warps.
    __device__ __forceinline__ void read_levels(unsigned begin, unsigned end) const {
        const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
        for (unsigned g = begin + threadIdx.x / WARP; g < end; g += GROUPS_AT_A_TIME * warps) {
            int levels[GROUPS_AT_A_TIME];
            unsigned ids[GROUPS_AT_A_TIME];
#pragma unroll
            for (int k = 0; k < GROUPS_AT_A_TIME; ++k) {
                levels[k] = UNREACHED;
                if (g + k * warps >= end) continue;
                ids[k] = in.groups[g + k * warps] + lane;
                const unsigned id = ids[k] & ~GHOST;
                const int place = ids[k] & GHOST ? (int)in.words[id] : in.pages[id / PAGE].home + (int)id;
                if (place != NO_PLACE) levels[k] = load_relaxed(&place_levels[place]);
            }
#pragma unroll
            for (int k = 0; k < GROUPS_AT_A_TIME; ++k) {
                if (g + k * warps >= end) break;
                const unsigned reached = __ballot_sync(ALL_LANES, (unsigned)levels[k] <= (unsigned)level);
                if (lane == 0) in.reached[(ids[k] & ~GHOST) / 32] = reached;
                if (levels[k] == level) queued(atomicAdd(&found()[0], 1)) = ids[k];
            }
        }
    }

    // Read which parts are active, take those that are for this block, and give up those that are no longer active.
    // Clears the bitmap of the step before the last. False if there are none.
    __device__ __forceinline__ bool read_active(const unsigned *bitmap, unsigned *cleared, int step) {
        const unsigned words = layout.bitmap_words;
        int seen = 0;
        for (unsigned w = threadIdx.x; w < words; w += blockDim.x) {
            const unsigned now = load_relaxed((const int *)&bitmap[w]), fresh = now & ~in.active[w];
            in.active[w] = now, in.fresh[w] = fresh;
            seen |= (now ? block_state::ANY : 0) | (fresh ? block_state::FRESH : 0);
            if (blockIdx.x == 0) store_relaxed((int *)&cleared[w], 0);
        }
        if (threadIdx.x < layout.slots) {
            const int p = own.parts[threadIdx.x];
            if (p != block_state::NO_PART && !(load_relaxed((const int *)&bitmap[p / 32]) >> p % 32 & 1)) {
                own.parts[threadIdx.x] = block_state::NO_PART;
                seen |= block_state::ENDED;
            }
            own.woken[threadIdx.x] = 0;
        }
        if (seen) atomicOr(&own.seen[step % 2], seen);
        __syncthreads();
        seen = own.seen[step % 2];
        if (threadIdx.x == 0) own.seen[(step + 1) % 2] = 0;
        if (seen & block_state::FRESH) take_fresh();
        changed = seen & (block_state::FRESH | block_state::ENDED);
        return seen & block_state::ANY;
    }
    bool changed = false;  // the parts that the block holds, or may have
    bool crowded = false;  // the block holds more parts than have room

    // Give out the parts that have become active.
    __device__ __forceinline__ void take_fresh() {
        for (unsigned base = 0; base < layout.bitmap_words; base += blockDim.x) {
            const unsigned w = base + threadIdx.x;
            unsigned fresh = w < layout.bitmap_words ? in.fresh[w] : 0;
            int total, turn = exclusive_sum_of_block(__popc(fresh), total);
            for (; fresh; fresh &= fresh - 1, ++turn) {
                if ((given_out + turn) % gridDim.x != blockIdx.x) continue;
                own.waiting[0].put(atomicAdd(&own.waiting[0].size, 1), w * 32 + __ffs(fresh) - 1);
            }
            given_out = (given_out + total) % gridDim.x;
        }
        __syncthreads();
    }

    // The levels of a step, in more than one round if not all parts of the block have layout.
    __device__ __forceinline__ void run_step(const stopwatch &watch, int step) {
        for (bool several = false;; several = true) {
            if (changed || crowded) change_parts(watch, step);
            __syncthreads();
            const unsigned size = found()[0];
            busy = size > 0;
            watch.stop(counted::read_cycles, step, busy);
            watch.add(counted::parts, step, num_parts());
            watch.add(counted::frontier, step, size);
            watch.start();
            run_levels();
            watch.stop(counted::level_cycles, step, busy);
            const bool last = own.waiting[0].size == 0;
            crowded = several || !last;
            if (crowded) set_aside();
            if (last) return;
        }
    }

    __device__ __forceinline__ int num_parts() const {
        int number = 0;
        for (unsigned s = 0; s < layout.slots; ++s) number += own.parts[s] != block_state::NO_PART;
        return number;
    }

    // Have all parts that the block holds wait for the next step, or for the next round if there is one. What they have
    // found is in global memory.
    __device__ __forceinline__ void set_aside() {
        __syncthreads();
        if (threadIdx.x == 0) {
            part_list &later = own.waiting[1];
            for (unsigned s = 0; s < layout.slots; ++s)
                if (own.parts[s] != block_state::NO_PART) later.put(later.size++, own.parts[s]);
            for (unsigned s = 0; s < layout.slots; ++s) own.parts[s] = block_state::NO_PART;
            found()[0] = 0;
            if (own.waiting[0].size == 0) {
                while (later.size > 0) {
                    const int p = later.pop();
                    own.waiting[0].put(own.waiting[0].size++, p);
                }
            }
        }
        num_groups = 0;
        __syncthreads();
    }

    // Give free slots to parts that wait, and load these.
    __device__ __forceinline__ void change_parts(const stopwatch &watch, int step) {
        if (threadIdx.x == 0) {
            for (unsigned s = 0; s < layout.slots; ++s) {
                own.is_new[s] = false;
                while (own.parts[s] == block_state::NO_PART && own.waiting[0].size > 0) {
                    const int p = own.waiting[0].pop();
                    if (!(in.active[p / 32] >> p % 32 & 1)) continue;  // it has ended while it waited
                    own.parts[s] = p, own.is_new[s] = true, own.woken[s] = 0;
                    watch.add(counted::loads, step, 1);
                }
            }
        }
        __syncthreads();
        for (unsigned s = 0; s < layout.slots; ++s)
            if (own.is_new[s] && own.parts[s] != block_state::NO_PART) load(s);
        __syncthreads();
        list_groups();
    }

    // Load a part into a slot.
    __device__ __forceinline__ void load(unsigned slot) {
        const int number = own.parts[slot];
        const part part = parts.parts[number];
        const unsigned base = slot * layout.slot_ids, ids = padded(part.own), ghosts = padded(part.ghosts);
        const quad *quads = parts.quads + part.first_quad;
        for (unsigned i = threadIdx.x; i < part.quads; i += blockDim.x) {
            quad row = quads[i];
            const bool is_long = row.is_long();
            row.ids[0] += base;
            if (!is_long) row.ids[1] += base, row.ids[2] += base, row.ids[3] += base;
            in.quads[base + i] = row;
        }
        for (unsigned i = threadIdx.x; i < ids; i += blockDim.x)
            in.words[base + i] = parts.read_by[part.first_place + i];
        for (unsigned i = threadIdx.x; i < ghosts; i += blockDim.x)
            in.words[base + ids + i] = parts.ghosts[part.first_ghost + i];
        for (unsigned i = threadIdx.x; i < layout.slot_ids / PAGE; i += blockDim.x)
            in.pages[base / PAGE + i] = page{part.first_place - (int)base, (int)slot};
        for (unsigned i = threadIdx.x; i < READERS; i += blockDim.x)
            own.readers[slot][i] = parts.readers[(size_t)number * READERS + i];
        if (threadIdx.x == 0) own.shapes[slot] = part;
    }

    // List the groups of ghosts, those of new parts last, and read these and the own vertices of new parts.
    __device__ __forceinline__ void list_groups() {
        unsigned end = 0, begin = 0;
        for (int kind = 0; kind < 3; ++kind) {  // ghosts known and new, and new own vertices
            for (unsigned s = 0; s < layout.slots; ++s) {
                if (own.parts[s] == block_state::NO_PART || own.is_new[s] != (kind > 0)) continue;
                const unsigned ids = padded(own.shapes[s].own), ghosts = padded(own.shapes[s].ghosts);
                const unsigned first = s * layout.slot_ids + (kind < 2 ? ids | GHOST : 0);
                const unsigned number = (kind < 2 ? ghosts : ids) / PLACES;
                for (unsigned i = threadIdx.x; i < number; i += blockDim.x) in.groups[end + i] = first + i * PLACES;
                end += number;
            }
            if (kind == 0) begin = end;
            if (kind == 1) num_groups = end;
        }
        __syncthreads();
        read_levels(begin, end);
    }

    // Run the levels of a step in the parts that are in the block's memory.
    __device__ __forceinline__ void run_levels() {
        int *found = this->found();
        unsigned begin = 0, end = found[0];
        const int hops = parts.hops;
        for (int k = 0; k < hops - 1 && begin < end; ++k) {
            expand<false>(begin, end, level + k + 1, &found[k + 1]);
            __syncthreads();
            begin = end, end += found[k + 1];
        }
        expand<true>(begin, end, level + hops, &found[hops]);
        __syncthreads();
        int *next = own.found[(round + 1) % 2];
        for (unsigned k = threadIdx.x; k <= hops; k += blockDim.x) next[k] = k == 0 ? found[hops] : 0;
        ++round;
    }

    // Find the unreached neighbours of part of the queue.
    template <bool last>
    __device__ __forceinline__ void expand(unsigned begin, unsigned end, int to, int *found) const {
        for (unsigned i = begin + threadIdx.x; i < end; i += blockDim.x) {
            quad row = in.quads[queued(i) & ~GHOST];
            if (!row.is_long()) {
                claim<last>(row, end, to, found);
                continue;
            }
            const unsigned first = row.ids[0], number = row.ids[1];
            for (unsigned n = 0; n < number; ++n) {
                row = in.quads[first + n];
                claim<last>(row, end, to, found);
            }
        }
    }

    template <bool last>
    __device__ __forceinline__ void claim(const quad &row, unsigned end, int to, int *found) const {
        bool claimed[4];
        unsigned words[4], number = 0;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            words[k] = in.reached[(row.ids[k] & ~GHOST) / 32];  // benign race: the claim corrects an outdated look
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned id = row.ids[k];
            claimed[k] = !(words[k] >> id % 32 & 1) && !(last && id & GHOST);
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned id = row.ids[k] & ~GHOST, bit = 1u << id % 32;
            if (claimed[k]) claimed[k] = !(atomicOr(&in.reached[id / 32], bit) & bit);
            number += claimed[k];
        }
        if (number == 0) return;
        unsigned place = atomicAdd(found, (int)number);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned id = row.ids[k];
            if (!claimed[k]) continue;
            (last ? queued_next(place) : queued(end + place)) = id;
            ++place;
            if (id & GHOST) continue;
            const page page = in.pages[id / PAGE];
            store_relaxed(&place_levels[page.home + (int)id], to);
            if (last) tell_readers(id, page.slot);
        }
    }

    // Make the parts active that read an own vertex.
    __device__ __forceinline__ void tell_readers(unsigned id, int slot) const {
        const unsigned readers = in.words[id];
        for (unsigned left = readers & ~atomicOr(&own.woken[slot], readers); left; left &= left - 1)
            wake(own.readers[slot][__ffs(left) - 1], next_bitmap, parts.number);
    }
};
