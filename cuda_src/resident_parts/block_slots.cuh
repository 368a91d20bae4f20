// Assigns parts of the graph to slots in a block's shared memory, and loads the parts. A slot has room for
// one part. See resident_parts.cu.
#pragma once

#include "block_levels.cuh"
#include "prefix_sum.cuh"

// Number of 16-byte accesses that a thread has in flight while it loads a part.
constexpr int COPIES_AT_A_TIME = 8;

struct block_slots : block_levels {
    // Number of parts given to blocks so far, modulo the number of blocks. Each thread has a copy, but only
    // the first warp of the block updates its copies.
    unsigned dealt = 0;

    // Distributes the parts in a bitmap to the blocks round-robin. Appends this block's parts to `list`.
    // All blocks compute an equal distribution. The first warp of each block calls the function.
    __device__ __forceinline__ void deal(const unsigned *bitmap, part_list &list) {
        for (unsigned base = 0; base < layout.bitmap_words; base += WARP) {
            const unsigned w = base + threadIdx.x;
            unsigned bits = w < layout.bitmap_words ? bitmap[w] : 0, total;
            if (__ballot_sync(ALL_LANES, bits != 0) == 0) continue;
            for (unsigned turn = dealt + sum_before(__popc(bits), total); bits; bits &= bits - 1, ++turn) {
                if (turn % gridDim.x != blockIdx.x) continue;
                const unsigned bit = __ffs(bits) - 1;
                const bool was_known = step == 0 || in.again[w] >> bit & 1;
                list.put(atomicAdd(&list.size, 1), (int)(w * 32 + bit) | (was_known ? block_state::WAS_KNOWN : 0));
            }
            dealt = (dealt + total) % gridDim.x;
        }
    }

    // Gives room in shared memory (slots) to waiting parts, loads these parts, and reads the state of their
    // ghosts, which are vertices of other parts.
    __device__ __forceinline__ void change_parts() {
        const long long began = watch.now();
        if (threadIdx.x == 0) fill_slots();
        __syncthreads();
        if (own.loads == 0) return;
        busy = true;
        load_parts();
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (own.slots[s].is_read) continue;
            const unsigned halves = 2 * padded(own.slots[s].shape.ghosts) / PLACES;
            for (unsigned i = threadIdx.x; i < halves; i += blockDim.x) read_ghosts(s, i);
        }
        watch.most(counted::load_cycles, step, began);
        __syncthreads();
    }

    __device__ __forceinline__ static bool has(const unsigned *bitmap, int entry) {
        const int p = entry & ~block_state::WAS_KNOWN;
        return bitmap[p / 32] >> p % 32 & 1;
    }

    // Returns the index of an empty slot. A slot is room in shared memory for one part. If no slot is empty,
    // returns the index of a slot whose part does not run, or -1 if there is none.
    __device__ __forceinline__ int free_slot() const {
        int slot = -1;
        for (unsigned s = 0; s < layout.slots; ++s) {
            if (own.slots[s].number == part_slot::NO_PART) return s;
            if (!own.slots[s].runs) slot = s;
        }
        return slot;
    }

    // Moves the parts of the list `ahead` that run in this step to the list `waiting`.
    // Then gives slots to the waiting parts. One thread calls the function.
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
            // Skips a part that needs no slot any more, because it left the bitmap `running` while it waited.
            if (!has(in.running, entry)) continue;
            if (own.slots[slot].number != part_slot::NO_PART) ahead.push(own.slots[slot].number);
            own.take(own.slots[slot], entry);
            own.slots[slot].runs = true, own.slots[slot].active = has(in.active, entry);
        }
        watch.add(counted::loads, step, own.loads);
    }

    // Loads the parts that have just been assigned to slots. If some block may have held a part before, the function also
    // reads the stored state of the part's own vertices.
    __device__ __forceinline__ void load_parts() {
        for (unsigned s = 0; s < layout.slots; ++s)
            if (own.slots[s].to_load) load(s);
        __syncthreads();
        for (unsigned s = 0; s < layout.slots; ++s)
            if (own.slots[s].to_load && own.slots[s].was_known) read_own(s);
        __syncthreads();
        if (threadIdx.x < layout.slots) own.slots[threadIdx.x].to_load = false;
    }

    // Loads a part of the graph into a slot of shared memory. The function adds the slot's first id to each local id
    // of the part, which gives the id in the block.
    __device__ __forceinline__ void load(unsigned slot) {
        const int number = own.slots[slot].number;
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
            own.slots[slot].readers[i] = parts.readers[(size_t)number * READERS + i];
        if (threadIdx.x == 0) own.slots[slot].shape = shape;
    }

    // Empties the slots of the parts that the block has run in this round. These parts wait in the list `later`.
    // After the last round of the step, all parts of this list move to the list `waiting`, for the next step. The
    // results of the parts are in global memory.
    __device__ __forceinline__ void set_aside() {
        __syncthreads();
        for (unsigned g = threadIdx.x; g < 2 * layout.groups(); g += blockDim.x) in.found[g] = 0;
        if (threadIdx.x == 0) {
            for (unsigned s = 0; s < layout.slots; ++s) {
                if (!own.slots[s].runs) continue;
                own.later.push(own.slots[s].number | block_state::WAS_KNOWN);
                own.slots[s].empty();
            }
            for (bool last = own.waiting.size == 0; last && own.later.size > 0;) own.waiting.push(own.later.pop());
        }
        __syncthreads();
    }
};
