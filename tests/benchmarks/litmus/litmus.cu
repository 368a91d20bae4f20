// Litmus tests: each way in which `adaptive` hands data from one thread to another, by itself and over and over.
//
// A group of blocks, or a thread-block cluster, takes rounds. In a round its threads hand data over as a search does
// between two steps, with the same functions, and look for outcomes that PTX's memory model forbids. Many groups run
// side by side, each in memory of its own. Between accesses threads wait for random times and write, add and read
// elsewhere, so that accesses take different times (Alglave et al., GPU Concurrency, ASPLOS 2015, call it stress).
//
// `order` leaves a rule out. What is left forbids nothing, so a test that still sees nothing wrong says little.
//
// Rounds are numbered from 1, and what is handed over is the number of the round: a smaller one is stale, a larger one
// has been written too early, over what was still to be read.
#include "atomics.cuh"
#include "barrier.cuh"
#include "adaptive/block_cluster.cuh"
#include "graph.cuh"

// The host defines BLOCK, the threads of a block, and numbers these alike.
enum order_kind { AS_USED, NO_RELEASE, NO_ACQUIRE, NO_ATOMICS };

#define LINE 32         // words between variables that are not to share a line of the cache
#define CLAIM_WORDS 4   // of a group's bitmap in a round
#define CLAIMS 4        // of a thread in a round
#define MOST_PLACES 3   // in the queue, of a thread in a round
#define MESSAGES 4      // of a thread in a round
#define APART 61        // words between messages of neighbouring threads: no divisor in common with their number

// What was seen. `outdated` is no fault: a look at a bit that missed a claim.
struct outcomes {
    unsigned long long looks, stale, early, wrong, outdated, gave_up;

    __device__ void judge(unsigned seen, unsigned round) {
        ++looks;
        stale += seen < round;
        early += seen > round;
    }
    __device__ void judge(bool right) {
        ++looks;
        wrong += !right;
    }
    __device__ void report(const outcomes &mine) {
        atomicAdd(&looks, mine.looks);
        if (mine.stale) atomicAdd(&stale, mine.stale);
        if (mine.early) atomicAdd(&early, mine.early);
        if (mine.wrong) atomicAdd(&wrong, mine.wrong);
        if (mine.outdated) atomicAdd(&outdated, mine.outdated);
        if (mine.gave_up) atomicAdd(&gave_up, mine.gave_up);
    }
};

// The memory of a launch. A group's part of `words` begins with its barrier.
struct arena {
    unsigned *words;
    unsigned *traffic;
    outcomes *seen;
    unsigned words_per_group;
    unsigned traffic_mask;  // its length, a power of two, less one
};

// Random delays of whole warps, and accesses that nobody waits for.
struct disturbance {
    unsigned *traffic;
    unsigned mask, state, calls;

    __device__ disturbance(const arena &memory, int round)
        : traffic(memory.traffic), mask(memory.traffic_mask), calls(round * 4) {
        state = mixed(global_thread() ^ mixed(round)) | 1;
    }
    __device__ static unsigned mixed(unsigned x) {
        x = (x ^ x >> 16) * 0x85EBCA6Bu;
        return (x ^ x >> 13) * 0xC2B2AE35u;
    }
    __device__ unsigned number() {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        return state;
    }
    __device__ void disturb() {
        const unsigned what = number() >> 8;
        if (what % 8 == 0) store_relaxed(&traffic[number() & mask], what);
        if (what % 32 == 1) atomicAdd(&traffic[number() & mask], 1u);
        if (what % 32 == 2 && load_relaxed(&traffic[number() & mask]) == what) ++state;
        const unsigned pause = mixed(global_thread() / 32 ^ mixed(++calls));  // alike for all lanes
        if (pause >> 28 == 0) __nanosleep(pause % 512);
    }
};

// A group of blocks that meet at a barrier of their own.
struct group {
    unsigned *words;  // behind the barrier
    grid_barrier *barrier;
    unsigned phase, rank, blocks;

    __device__ group(const arena &memory, unsigned blocks) : rank(blockIdx.x % blocks), blocks(blocks) {
        unsigned *const own = memory.words + (size_t)(blockIdx.x / blocks) * memory.words_per_group;
        barrier = reinterpret_cast<grid_barrier *>(own);
        words = own + LINE;
        phase = barrier_phase(barrier);
    }
    __device__ unsigned threads() const { return blocks * blockDim.x; }
    __device__ unsigned thread() const { return rank * blockDim.x + threadIdx.x; }
    // A thread of another block, and of another warp if there is one. The same in all rounds: so a line of the cache
    // that has not been given up is found again.
    __device__ unsigned partner() const {
        return (rank + 1) % blocks * blockDim.x + (threadIdx.x + 33) % blockDim.x;
    }
    // The barrier of common/barrier.cuh, or the same with relaxed accesses.
    __device__ bool meet(int order) {
        __syncthreads();
        bool all_came = true;
        if (threadIdx.x == 0) {
            const unsigned mine = arrival(rank, blocks);
            if (order == NO_RELEASE)
                atomicAdd(&barrier->arrived, mine);
            else
                add_release(&barrier->arrived, mine);
            all_came = order == NO_ACQUIRE ? wait_relaxed() : wait_at_barrier(barrier, phase, 1u << 26);
        }
        return !__syncthreads_or(!all_came);
    }
    __device__ bool wait_relaxed() {
        for (unsigned polls = 0; (load_relaxed(&barrier->arrived) & BARRIER_PHASE) == phase; ++polls)
            if (polls > 1u << 26) return false;
        phase ^= BARRIER_PHASE;
        return true;
    }
};

// Every thread writes some words, and reads those of a thread of another block after the barrier: levels, bitmaps,
// queues. Each is in another line of the cache, so that stores of a warp are many, and some are late.
extern "C" __global__ void __launch_bounds__(BLOCK)
    grid_messages(const arena memory, int group_blocks, int order, int rounds, int first) {
    group own(memory, group_blocks);
    disturbance other(memory, first);
    outcomes mine = {};
    for (int round = first; round < first + rounds; ++round) {
        unsigned *const now = own.words + round % 2 * MESSAGES * own.threads();
        for (int k = 0; k < MESSAGES; ++k) now[k * own.threads() + own.thread() * APART % own.threads()] = round;
        other.disturb();
        if (!own.meet(order)) ++mine.gave_up;
        for (int k = 0; k < MESSAGES; ++k)
            mine.judge(now[k * own.threads() + own.partner() * APART % own.threads()], round);
        other.disturb();
    }
    memory.seen->report(mine);
}

// Three counters take turns: one is read, one is added to, one is emptied by one thread: the frontiers of a search.
extern "C" __global__ void __launch_bounds__(BLOCK)
    grid_counters(const arena memory, int group_blocks, int order, int rounds, int first) {
    group own(memory, group_blocks);
    disturbance other(memory, first);
    outcomes mine = {};
    for (int round = first; round < first + rounds; ++round) {
        if (own.thread() == 0) own.words[(round + 2) % 3 * LINE] = 0;
        other.disturb();
        atomicAdd(&own.words[(round + 1) % 3 * LINE], 1u);
        other.disturb();
        if (!own.meet(order)) ++mine.gave_up;
        mine.judge(own.words[(round + 1) % 3 * LINE], own.threads());
    }
    memory.seen->report(mine);
}

// Places in a queue are given out by relaxed additions. Entries are read after the barrier, at the places which their
// writer had.
struct receipt {
    unsigned round, place, count, unused;
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    grid_queue(const arena memory, int group_blocks, int order, int rounds, int first) {
    group own(memory, group_blocks);
    disturbance other(memory, first);
    outcomes mine = {};
    const unsigned capacity = MOST_PLACES * own.threads();
    receipt *const receipts = reinterpret_cast<receipt *>(own.words + 3 * LINE);
    uint2 *const entries = reinterpret_cast<uint2 *>(receipts + 2 * own.threads());
    for (int round = first; round < first + rounds; ++round) {
        unsigned *const size = &own.words[(round + 1) % 3 * LINE];
        receipt *const written = receipts + round % 2 * own.threads();
        uint2 *const queue = entries + round % 2 * capacity;
        if (own.thread() == 0) own.words[(round + 2) % 3 * LINE] = 0;
        const unsigned count = other.number() % (MOST_PLACES + 1), place = atomicAdd(size, count);
        other.disturb();
        for (unsigned i = 0; i < count && place + i < capacity; ++i) queue[place + i] = {(unsigned)round, own.thread()};
        written[own.thread()] = {(unsigned)round, place, count, 0};
        if (!own.meet(order)) ++mine.gave_up;
        const receipt its = written[own.partner()];
        mine.judge(its.round, round);
        mine.judge(its.place + its.count <= *size && *size <= capacity);
        for (unsigned i = 0; i < its.count && its.place + i < capacity; ++i) {
            const uint2 entry = queue[its.place + i];
            mine.judge(entry.x, round);
            mine.judge(entry.y == own.partner());
        }
        other.disturb();
    }
    memory.seen->report(mine);
}

__device__ __forceinline__ unsigned look(const unsigned *word) {
    unsigned value;
    // benign race: a look may miss a claim
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// Bits are looked at through the L1 cache, then claimed. Each bit that was asked for has one winner, and is set after
// the barrier. Bitmaps take turns by three: one is judged, one claimed, one emptied.
extern "C" __global__ void __launch_bounds__(BLOCK)
    grid_claims(const arena memory, int group_blocks, int order, int rounds, int first) {
    group own(memory, group_blocks);
    disturbance other(memory, first);
    outcomes mine = {};
    const unsigned bits = CLAIM_WORDS * 32, length = CLAIM_WORDS + bits;  // words, and the winners of each bit
    for (int round = first; round < first + rounds; ++round) {
        unsigned *const words = own.words + round % 3 * length, *const winners = words + CLAIM_WORDS;
        for (unsigned i = own.thread(); i < length; i += own.threads()) own.words[(round + 1) % 3 * length + i] = 0;
        other.disturb();
        unsigned asked[CLAIMS];
        for (unsigned &bit : asked) {
            bit = other.number() / 64 % bits;
            unsigned *const word = &words[bit / 32], mask = 1u << bit % 32;
            if (look(word) & mask) continue;
            unsigned before;
            if (order == NO_ATOMICS) {
                before = load_relaxed(word);
                store_relaxed(word, before | mask);
            } else {
                before = atomicOr(word, mask);
                mine.judge((look(word) & mask) != 0);  // by the thread itself
            }
            if (before & mask)
                ++mine.outdated;
            else
                atomicAdd(&winners[bit], 1u);
        }
        if (!own.meet(order)) ++mine.gave_up;
        for (const unsigned bit : asked) mine.judge(winners[bit] == 1 && (words[bit / 32] >> bit % 32 & 1));
    }
    memory.seen->report(mine);
}

#if CLUSTER_SIZE > 1
// The barrier of a cluster, or one that does not release.
__device__ __forceinline__ void meet_in_cluster(int order) {
#ifndef __CUDA_ON_CPU__  // which does not emulate that
    if (order == NO_RELEASE) {
        asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");
        return;
    }
#endif
    cluster_sync();
}

// Where the kth message of a thread is: those of neighbouring threads are in one bank of shared memory, if it has room.
__device__ __forceinline__ unsigned same_bank(unsigned k, unsigned thread) {
    const unsigned nth = k * BLOCK + thread, rows = MESSAGES * BLOCK / 32;
    return nth % rows * 32 + nth / rows;
}

// Every thread writes to shared memory of its own block, to that of another, and to global memory, and reads all three
// from other threads after the barrier: the queues of a cluster, and what it hands to all blocks. Lanes that send together
// send to one bank of the other's memory, so that some stores are late.
extern "C" __global__ void __launch_bounds__(BLOCK) __cluster_dims__(CLUSTER_SIZE, 1, 1)
    cluster_messages(const arena memory, int group_blocks, int order, int rounds, int first) {
    __shared__ unsigned kept[2][BLOCK], sent[2][MESSAGES * BLOCK];
    group own(memory, group_blocks);
    disturbance other(memory, first);
    outcomes mine = {};
    const unsigned next = (own.rank + 1) % CLUSTER_SIZE, away = (threadIdx.x + 33) % blockDim.x;
    cluster_sync();
    for (int round = first; round < first + rounds; ++round) {
        unsigned *const now = own.words + round % 2 * own.threads();
        for (int k = 0; k < MESSAGES; ++k) *in_block(&sent[round % 2][same_bank(k, threadIdx.x)], next) = round;
        kept[round % 2][threadIdx.x] = round;
        now[own.thread()] = round;
        other.disturb();
        meet_in_cluster(order);
        for (int k = 0; k < MESSAGES; ++k) mine.judge(sent[round % 2][same_bank(k, away)], round);
        mine.judge(*in_block(&kept[round % 2][away], next), round);
        mine.judge(now[own.partner()], round);
        other.disturb();
    }
    cluster_sync();  // the others may still read what is this block's
    memory.seen->report(mine);
}

// Each block has three sizes that take turns: all blocks add to one, one is read, the block itself empties the third.
extern "C" __global__ void __launch_bounds__(BLOCK) __cluster_dims__(CLUSTER_SIZE, 1, 1)
    cluster_counters(const arena memory, int group_blocks, int order, int rounds, int first) {
    __shared__ unsigned sizes[3];
    group own(memory, group_blocks);
    disturbance other(memory, first);
    outcomes mine = {};
    const unsigned target = (own.rank + threadIdx.x) % CLUSTER_SIZE, next = (own.rank + 1) % CLUSTER_SIZE;
    if (threadIdx.x < 3) sizes[threadIdx.x] = 0;
    cluster_sync();
    for (int round = first; round < first + rounds; ++round) {
        if (threadIdx.x == blockDim.x - 1) sizes[(round + 2) % 3] = 0;
        other.disturb();
        atomicAdd(in_block(&sizes[(round + 1) % 3], target), 1u);
        meet_in_cluster(order);
        mine.judge(sizes[(round + 1) % 3], blockDim.x);  // each block has sent a share of them
        mine.judge(*in_block(&sizes[(round + 1) % 3], next), blockDim.x);
    }
    cluster_sync();
    memory.seen->report(mine);
}

// The first block works alone, and then leaves to the others where it has stopped, in their memory and in its own: tiny
// levels. A second barrier is that of the level which a cluster runs before one block may go on alone again.
extern "C" __global__ void __launch_bounds__(BLOCK) __cluster_dims__(CLUSTER_SIZE, 1, 1)
    cluster_alone(const arena memory, int group_blocks, int order, int rounds, int first) {
    __shared__ unsigned queue[BLOCK], stopped, left;
    group own(memory, group_blocks);
    disturbance other(memory, first);
    outcomes mine = {};
    cluster_sync();
    for (int round = first; round < first + rounds; ++round) {
        if (own.rank == 0) {
            for (int level = 0; level <= round % 3; ++level) {  // the last of them is that of the round
                queue[(threadIdx.x + 33 * level) % blockDim.x] = round;
                other.disturb();
                __syncthreads();
            }
            own.words[threadIdx.x] = round;
            if (threadIdx.x < CLUSTER_SIZE) {
                *in_block(&stopped, threadIdx.x) = round;
                *in_block(&left, threadIdx.x) = round;
            }
        }
        meet_in_cluster(order);
        mine.judge(stopped, round);
        mine.judge(left, round);
        mine.judge(*in_block(&queue[threadIdx.x], 0), round);
        mine.judge(own.words[threadIdx.x], round);
        meet_in_cluster(order);
    }
    cluster_sync();
    memory.seen->report(mine);
}
#endif
