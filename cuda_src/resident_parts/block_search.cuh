// The work of a block in a step: K levels between two barriers. See resident_parts.cu.
#pragma once

#include "block_slots.cuh"
#include "profile.cuh"

struct block_search : block_slots {
    bool crowded = false;    // true if the block runs more parts than it has slots for
    bool changes = false;    // true if parts may wait for a slot
    bool some_soon = false;   // true if parts that may become active soon must be given to blocks
    bool some_ahead = false;  // true if parts that may become active soon wait for a slot in the list `ahead`

    // Begins a step, the work between two barriers. Reads the state of the ghosts of the block's
    // parts, and reads which parts of the graph are active. Distributes the parts that must run,
    // but that no block holds, to the blocks round-robin. Returns false if no part is active.
    __device__ __forceinline__ bool begin_step() {
        const unsigned thread = threadIdx.x, words = layout.bitmap_words;
        const unsigned *bitmap = bitmap_of(step);
        unsigned *cleared = bitmap_of(step + 2);
        const int p = thread < layout.slots ? own.slots[thread].number : part_slot::NO_PART;
        const unsigned first = thread < words ? load_relaxed(&bitmap[thread]) : 0;
        const unsigned soon = thread < words ? load_relaxed(&bitmap[words + thread]) : 0;
        const unsigned of_own = p != part_slot::NO_PART ? load_relaxed(&bitmap[p / 32]) : 0;
        int seen = read_all_ghosts() ? block_state::BUSY : 0;
        for (unsigned w = thread; w < words; w += blockDim.x) {
            seen |= w == thread ? classify(w, first, soon)
                                : classify(w, load_relaxed(&bitmap[w]), load_relaxed(&bitmap[words + w]));
            if (blockIdx.x == 0) store_relaxed(&cleared[w], 0u), store_relaxed(&cleared[words + w], 0u);
        }
        bool is_active = false, runs = false;
        if (p != part_slot::NO_PART) {
            part_slot &slot = own.slots[thread];
            is_active = of_own >> p % 32 & 1, runs = is_active || slot.active;
            if (is_active != slot.active || runs != slot.runs) seen |= block_state::CHANGED;
            slot.woken = 0;
        }
        if (thread == 0 && own.ahead.size > 0) seen |= block_state::AHEAD;
        if (seen) atomicOr(&own.seen[step % 2], seen);
        __syncthreads();
        seen = own.seen[step % 2];
        some_soon = seen & block_state::SOON, some_ahead = seen & block_state::AHEAD;
        busy = seen & block_state::BUSY;
        changes = crowded || some_ahead || seen & block_state::FRESH;
        if (thread == 0) own.seen[(step + 1) % 2] = 0;
        if (changes || seen & block_state::CHANGED) {
            if (p != part_slot::NO_PART) own.slots[thread].become(is_active, runs);
            if (thread < WARP && seen & block_state::FRESH) deal(in.fresh, own.waiting);
            __syncthreads();
        }
        return seen & block_state::ANY;
    }

    // Updates word `w` of the block's bitmaps. A word has the bits of 32 parts. `active` has the
    // bits of the active parts, and `soon` has the bits of the parts that may become active soon.
    // A part that is no longer active runs for one more step, so that its block stores the state
    // of the part's vertices in both copies of `at_level`. Returns flags for block_state::seen.
    __device__ __forceinline__ int classify(unsigned w, unsigned active, unsigned soon) const {
        const unsigned running = active | in.active[w], ended = in.running[w] & ~running;
        const unsigned held = in.held[w] & ~ended, known = in.known[w], fresh = running & ~held;
        const unsigned ahead = soon & ~(known | fresh);
        in.active[w] = active, in.running[w] = running;
        in.fresh[w] = fresh, in.again[w] = fresh & known, in.soon[w] = ahead;
        in.held[w] = held | fresh | ahead, in.known[w] = known | fresh | ahead;
        return (active ? block_state::ANY : 0) | (fresh ? block_state::FRESH : 0) | (ahead ? block_state::SOON : 0);
    }

    // Runs the K levels between two barriers. If the block runs more parts than its shared memory can hold, it runs
    // them in several rounds.
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
    }

    // Takes parts that may become active soon, and loads them if shared memory has room. The block calls the function
    // after its step, while other blocks still run.
    __device__ __forceinline__ void look_ahead() {
        if (!some_soon && !some_ahead) return;
        if (threadIdx.x < WARP) {
            if (some_soon) deal(in.soon, own.ahead);
            __syncwarp();
            if (threadIdx.x == 0) fill_ahead();
        }
        __syncthreads();
        if (own.loads > 0) load_parts();
    }

    // Gives free slots to parts that may become active soon (the list `ahead`). One thread calls the
    // function.
    __device__ __forceinline__ void fill_ahead() {
        own.loads = 0;
        for (unsigned s = 0; s < layout.slots && !crowded; ++s)
            if (own.slots[s].number == part_slot::NO_PART && own.ahead.size > 0)
                own.take(own.slots[s], own.ahead.pop_first());
        watch.add(counted::loads_ahead, step - 1, own.loads);
    }

    // Marks the readers of each active part as parts that may become active soon. The block does this once
    // for each part that it holds. The readers of a part are the part itself, and all parts in which one of
    // its vertices is a ghost. The entry ALL_PARTS in a list of readers is ignored.
    __device__ __forceinline__ void announce() {
        if (threadIdx.x >= READERS) return;
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (!own.slots[s].active || own.slots[s].is_announced) continue;
            const int reader = own.slots[s].readers[threadIdx.x];
            __syncwarp();
            if (threadIdx.x == 0) own.slots[s].is_announced = true;
            if (reader >= 0) wake(reader, bitmap_of(step + 1) + layout.bitmap_words, parts.number);
        }
    }

    __device__ __forceinline__ int num_active() const {
        int number = 0;
        for (unsigned s = 0; s < layout.slots; ++s) number += own.slots[s].active;
        return number;
    }
};
