// The shared memory of a block, which holds several parts of the graph. See resident_parts.cu.
#pragma once

#include "atomics.cuh"
#include "barrier.cuh"
#include "parts.cuh"

constexpr int SLOTS = 16;  // largest number of parts that a block holds in shared memory
constexpr int FEW = 64;    // number of entries of a part_list in shared memory

namespace counted {
enum { parts, loads, loads_ahead, wait_cycles, read_cycles, load_cycles, level_cycles, number };
}

struct search_state {
    grid_barrier barrier;
    int failed;  // true if a block waited too long at the barrier
};

// The parts into which a graph is divided (parts.cuh). A place is the new number of a vertex, and PLACES consecutive
// places form a group. `places` has the place of each vertex, `vertices` has the vertex at each place, and `part_at`
// has the part of each group. `readers` has READERS entries for each part. The host creates the object.
struct partition {
    const part *parts;
    const quad *quads;
    const unsigned *words;  // readers of the vertices that a part owns, and places of its ghosts
    const int *readers;
    const int *part_at;
    const int *places;
    const int *vertices;
    int number;
    int num_places;
    int hops;
};

// Arrays in global memory by which blocks exchange their results after each step (K levels between two
// barriers).
//
// `at_level` has one copy for even steps and one copy for odd steps. Each element stands for a group of 32
// places. Its lower half has the bits of the vertices that were reached before the step's first level. Its
// upper half has the bits of the vertices at the step's first level. `bitmaps` has three copies, by step
// modulo 3. Each copy has bits of the active parts, and then bits of the parts that may become active soon.
struct exchange {
    unsigned long long *at_level;
    unsigned *bitmaps;
};

// The sizes of the arrays in a block's shared memory. A block has `slots` slots. Each slot has room for one
// part, with `slot_groups` groups of local ids. A bitmap of parts has `bitmap_words` words.
struct slot_layout {
    unsigned slots, slot_groups, bitmap_words;

    __device__ __forceinline__ unsigned groups() const { return slots * slot_groups; }
};

// Arrays in a block's shared memory. An id in the block is a local id of a part plus the first id of the
// part's slot.
//
// The arrays `quads` and `words` are indexed by id. `quads` holds neighbours. `words` holds the readers of
// own vertices and, after these, the places of ghosts. The arrays `reached`, `found` and `homes` are indexed
// by group of PLACES ids. `reached` and `found` hold bits of vertices. `homes` holds the place of the group's
// first vertex, or NO_PLACE for ghosts.
//
// The other arrays are bitmaps of parts, and equal in all blocks:
// - `active`: parts with work in this step
// - `running`: active parts, and parts that were active in the previous step
// - `held`: parts that some block holds
// - `known`: parts that some block has held at any time
// - `fresh`: parts that must be given to blocks now, because they run but no block holds them
// - `again`: parts of the bitmap `fresh` that some block has held before
// - `soon`: parts that are given to blocks after the step, because they may become active soon
struct block_memory {
    quad *quads;
    unsigned *words;
    unsigned *reached;
    unsigned *found;  // bits of the vertices that a level finds, for two alternating levels
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

// Sets the bit of a part in a bitmap, or the bits of all `number` parts if `part` is ALL_PARTS.
__device__ __forceinline__ void wake(int part, unsigned *bitmap, int number) {
    if (part != ALL_PARTS) {
        atomicOr(&bitmap[part / 32], 1u << part % 32);
        return;
    }
    for (int i = 0; i < number; i += 32) atomicOr(&bitmap[i / 32], number - i < 32 ? (1u << (number - i)) - 1 : ~0u);
}

// A list of parts. The first FEW entries lie in shared memory, and further entries lie in global memory.
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

// Room in shared memory for one part. The part runs in this step, or it may become active soon.
struct part_slot {
    int number;      // number of the part, or NO_PART
    bool active;     // true if the part has work between the last barrier and the next barrier
    bool runs;
    bool to_load;
    bool was_known;  // true if the state of the part's own vertices must be read too, when the part is loaded
    bool is_read;    // true if the state of the part's ghosts has been read in this step
    bool is_announced;  // true if the part's readers have been marked as parts that may become active
    unsigned woken;  // bits of readers that have been made active in this step
    part shape;
    int readers[READERS];

    static constexpr int NO_PART = -1;

    __device__ __forceinline__ void empty() {
        number = NO_PART;
        active = runs = to_load = false, is_read = true;
    }

    // Updates the slot at the start of a step, after the threads have read the state of the part's ghosts. A part
    // that stops running leaves the slot.
    __device__ __forceinline__ void become(bool is_active, bool runs_now) {
        if (runs && !runs_now) number = NO_PART, to_load = false;
        is_read = true;
        active = is_active, runs = runs_now;
    }
};

// The state in shared memory that the threads of a block share.
struct block_state {
    part_slot slots[SLOTS];
    // `waiting` has parts that must run in this step, but have no slot yet. `later` has parts that have run in this
    // step, but had to leave their slot. After the last round of the step, the parts of `later` wait for the next step.
    part_list waiting, later;
    part_list ahead;           // parts that may become active soon, but have no room in shared memory yet
    int loads;                 // number of parts to load
    // Flags that threads set during a step, one bit for each flag (ANY, FRESH, SOON, CHANGED, BUSY, AHEAD). seen[0]
    // is for even steps, and seen[1] is for odd steps.
    int seen[2];
    bool failed;

    // A flag in an entry of a list of parts. It says that some block may have held the part before. The block that
    // takes the part must then also read the state of the part's own vertices.
    static constexpr int WAS_KNOWN = 1 << 30;
    static constexpr int ANY = 1, FRESH = 2, SOON = 4, CHANGED = 8, BUSY = 16, AHEAD = 32;  // bits of `seen`

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

// Counters for profiles. The functions do nothing unless COUNTERS is 1. most() keeps the number of cycles that the
// slowest block spends in a phase of a step. add() sums numbers over all blocks. The array `counts` has
// counted::number counters for each level. A step has `hops` levels and uses the counters of its first level.
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
