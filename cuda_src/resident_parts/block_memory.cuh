// What a block of the search by parts has in shared memory. See resident_parts.cu.
#pragma once

#include "barrier.cuh"
#include "parts.cuh"

// The host defines SLOTS, the most parts that a block holds in shared memory.
#define FEW 64  // parts that wait in shared memory

namespace counted {
enum { parts, loads, loads_ahead, wait_cycles, read_cycles, load_cycles, level_cycles, number };
}

struct search_state {
    grid_barrier barrier;
    int failed;  // a block gave up waiting for the others
};

// The parts of a graph. `part_at` is by group of places, `vertices` by place, `readers` by part.
struct partition {
    const part *parts;
    const quad *quads;
    const unsigned *words;  // readers of own vertices, places of ghosts
    const int *readers;
    const int *part_at;
    const int *places;
    const int *vertices;
    int number;
    int num_places;
    int hops;
};

// How a block's memory is divided: slots of so many groups of local ids, and words of the bitmap of active parts.
struct slot_layout {
    unsigned slots, slot_groups, bitmap_words;

    __device__ __forceinline__ unsigned groups() const { return slots * slot_groups; }
};

// By id in the block, which is a local id and the first of the slot: rows, and places of ghosts or readers of own
// vertices. By group of PLACES ids: bits of vertices that have been reached, and that the levels find in turn; the place
// of the first vertex, or NO_PLACE if they are ghosts. `to_read` are groups whose levels are to be read. Bits of parts, of
// which all blocks have the same: those that are active; those that a block has been given; those that ever were; those that are
// to be given out now, and of these the ones that have been given out before.
struct block_memory {
    quad *quads;
    unsigned *words;
    unsigned *reached;
    unsigned *found;  // of even levels, then of odd ones
    int *homes;
    unsigned *active, *held, *known, *fresh, *again;
    unsigned short *to_read;
};

__device__ __forceinline__ block_memory carve(void *memory, const slot_layout &layout) {
    const unsigned groups = layout.groups();
    block_memory in;
    in.quads = (quad *)memory;
    in.words = (unsigned *)(in.quads + groups * PLACES);
    in.reached = in.words + groups * PLACES;
    in.found = in.reached + groups;
    in.homes = (int *)(in.found + 2 * groups);
    in.active = (unsigned *)(in.homes + groups);
    in.held = in.active + layout.bitmap_words;
    in.known = in.held + layout.bitmap_words;
    in.fresh = in.known + layout.bitmap_words;
    in.again = in.fresh + layout.bitmap_words;
    in.to_read = (unsigned short *)(in.again + layout.bitmap_words);
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
    __device__ __forceinline__ int get(int place) const { return place < FEW ? few[place] : more[place - FEW]; }
    __device__ __forceinline__ void push(int part) { put(size++, part); }
    __device__ __forceinline__ int pop() { return get(--size); }
};

// What the threads of a block share.
struct block_state {
    int parts[SLOTS];  // or NO_PART
    bool active[SLOTS];
    bool to_load[SLOTS];
    bool begins[SLOTS];    // to be active: its levels are to be read
    bool has_levels[SLOTS];  // so are those of own vertices
    part shapes[SLOTS];
    int readers[SLOTS][READERS];
    unsigned woken[SLOTS];  // readers that have been made active
    part_list waiting, later;  // active parts without a slot
    part_list ahead;           // parts without a slot that may become active
    int loads;
    bool changed;
    int seen[2];  // of even and of odd steps
    bool failed;

    static constexpr int NO_PART = -1;
    static constexpr int HAS_LEVELS = 1 << 30;  // beside a part in a list
    static constexpr int ANY = 1, FRESH = 2, CHANGED = 4, BUSY = 8;  // bits of seen

    __device__ void clear(int *more, int number) {
        for (int s = 0; s < SLOTS; ++s) parts[s] = NO_PART, active[s] = begins[s] = to_load[s] = has_levels[s] = false;
        waiting.size = later.size = ahead.size = seen[0] = seen[1] = loads = 0;
        waiting.more = more, later.more = more + number, ahead.more = more + 2 * number;
        failed = false;
    }

    __device__ void take(unsigned slot, int entry, bool at_once) {
        parts[slot] = entry & ~HAS_LEVELS;
        to_load[slot] = true;
        active[slot] = begins[slot] = at_once;
        has_levels[slot] = entry & HAS_LEVELS;
        woken[slot] = 0;
        ++loads;
    }
};

// Cycles of a profiled search's phases, the most of any block, at the first level of a step.
struct stopwatch {
    unsigned long long *counts;
    int hops;

    __device__ __forceinline__ long long now() const { return COUNTERS ? clock64() : 0; }
    __device__ __forceinline__ void most(int counter, int step, long long began) const {
        if (COUNTERS && threadIdx.x == 0) atomicMax(&at(counter, step), clock64() - began);
    }
    __device__ __forceinline__ void add(int counter, int step, int number) const {
        if (COUNTERS && threadIdx.x == 0) atomicAdd(&at(counter, step), number);
    }
    __device__ __forceinline__ unsigned long long &at(int counter, int step) const {
        return counts[(size_t)step * hops * counted::number + counter];
    }
};
