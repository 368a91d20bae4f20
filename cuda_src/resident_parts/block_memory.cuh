// What a block of the search by parts has in shared memory. See resident_parts.cu.
#pragma once

#include "atomics.cuh"
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

// What the blocks tell each other. Of even and odd steps: by group of places, bits of the vertices that had been
// reached before the step's first level, and of those at that level. By step modulo three: bits of the parts that are
// active, then of those that may be soon.
struct exchange {
    unsigned long long *at_level;
    unsigned *bitmaps;
};

// How a block's memory is divided: slots of so many groups of local ids, and words of the bitmap of active parts.
struct slot_layout {
    unsigned slots, slot_groups, bitmap_words;

    __device__ __forceinline__ unsigned groups() const { return slots * slot_groups; }
};

// By id in the block, which is a local id and the first of the slot: rows; readers of own vertices; and behind these
// the places of ghosts, in their order. By group of PLACES ids: bits of vertices that have been reached, and that the
// levels find in turn; the place of the first vertex, or NO_PLACE if they are ghosts.
//
// Bits of parts, the same in all blocks: those with something to do in this step (`active`), and those that run,
// which is a step longer; those that some block has, and those that one ever had; those to be dealt out at once
// (`fresh`), which of them are dealt out `again`, and those to be dealt out after the step (`soon`).
struct block_memory {
    quad *quads;
    unsigned *words;
    unsigned *reached;
    unsigned *found;  // of even levels, then of odd ones
    int *homes;
    unsigned *active, *running, *held, *known, *fresh, *again, *soon;
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
    in.running = in.active + layout.bitmap_words;
    in.held = in.running + layout.bitmap_words;
    in.known = in.held + layout.bitmap_words;
    in.fresh = in.known + layout.bitmap_words;
    in.again = in.fresh + layout.bitmap_words;
    in.soon = in.again + layout.bitmap_words;
    return in;
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
    __device__ __forceinline__ int pop_first() {
        const int first = get(0);
        for (int i = 1; i < size; ++i) put(i - 1, get(i));
        --size;
        return first;
    }
};

// Room for a part. It holds one that runs, or one that may be active soon.
struct part_slot {
    int number;      // of the part, or NO_PART
    bool active;     // it has something to do in this step
    bool runs;
    bool to_load;
    bool was_known;  // what has been told of its own vertices is to be read as well
    bool is_read;    // what others tell of its ghosts has been read in this step
    bool is_announced;  // to its readers
    unsigned woken;  // readers that have been made active in this step
    part shape;
    int readers[READERS];

    static constexpr int NO_PART = -1;

    __device__ __forceinline__ void empty() {
        number = NO_PART;
        active = runs = to_load = false, is_read = true;
    }

    // For a step at whose beginning its ghosts have been read. It ends if it does not run any longer.
    __device__ __forceinline__ void become(bool is_active, bool runs_now) {
        if (runs && !runs_now) number = NO_PART, to_load = false;
        is_read = true;
        active = is_active, runs = runs_now;
    }
};

// What the threads of a block share.
struct block_state {
    part_slot slots[SLOTS];
    part_list waiting, later;  // parts that run, without a slot
    part_list ahead;           // parts that may be active soon, without a slot
    int loads;                 // parts to load
    int seen[2];               // of even and of odd steps
    bool failed;

    static constexpr int WAS_KNOWN = 1 << 30;  // beside a part in a list
    static constexpr int ANY = 1, FRESH = 2, SOON = 4, CHANGED = 8, BUSY = 16, AHEAD = 32;  // bits of seen

    __device__ void clear(int *more, int number) {
        for (int s = 0; s < SLOTS; ++s) slots[s].empty();
        waiting.size = later.size = ahead.size = seen[0] = seen[1] = loads = 0;
        waiting.more = more, later.more = more + number, ahead.more = more + 2 * number;
        failed = false;
    }

    __device__ __forceinline__ void take(part_slot &slot, int entry) {
        slot.number = entry & ~WAS_KNOWN;
        slot.was_known = entry & WAS_KNOWN;
        slot.active = slot.runs = slot.is_read = false, slot.to_load = true;
        slot.is_announced = false, slot.woken = 0;
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
