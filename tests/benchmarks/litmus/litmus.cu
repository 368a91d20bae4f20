// Litmus tests: each kernel repeats one of the ways in which `adaptive` hands data from one thread to another.
//
// A group of blocks, or a thread-block cluster, runs rounds. In a round its threads hand data over by the functions
// that a search uses between two steps, and look for outcomes that PTX's memory model forbids. Many groups run at the
// same time, each in its own memory. Between accesses, threads wait for random times and access other memory, so that
// accesses take different times. Alglave et al. (GPU Concurrency, ASPLOS 2015) call this stress.
//
// `order` leaves out a rule, so that no outcome is forbidden any more. A test that sees no fault even then says little.
//
// Rounds are numbered from 1, and threads hand over the number of the round. A smaller number is stale. A larger number
// was written too early, over a number that another thread had not read yet.
#include "atomics.cuh"
#include "barrier.cuh"
#include "adaptive/block_cluster.cuh"
#include "graph.cuh"

// The host numbers these rules in the same way. It also defines BLOCK, the number of threads of a block.
enum order_kind { AS_USED, NO_RELEASE, NO_ACQUIRE, NO_ATOMICS };

#define LINE 32         // words between variables that must not share a cache line
#define CLAIM_WORDS 4   // words of a group's bitmap in a round
#define CLAIMS 4        // claims of a thread in a round
#define MOST_PLACES 3   // most places that a thread takes in the queue in a round
#define MESSAGES 4      // messages of a thread in a round
#define APART 61        // words between messages of neighbouring threads; coprime to the number of threads

// Counts of outcomes. `outdated` counts looks at a bit that missed a claim, which is not a fault.
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

// The memory of a launch. Each group has a part of `words`, which begins with the barrier of the group.
struct arena {
    unsigned *words;
    unsigned *traffic;
    outcomes *seen;
    unsigned words_per_group;
    unsigned traffic_mask;  // the length of `traffic`, a power of two, minus one
};

// Random delays of whole warps, and accesses whose results no thread waits for.
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
        const unsigned pause = mixed(global_thread() / 32 ^ mixed(++calls));  // equal for all lanes of a warp
        if (pause >> 28 == 0) __nanosleep(pause % 512);
    }
};

// A group of blocks with its own barrier.
struct group {
    unsigned *words;  // the words after the barrier
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
    // Returns a thread of another block, and of another warp if there is one. It is the same thread in all rounds, so
    // that reads find a cache line again that has not been invalidated.
    __device__ unsigned partner() const {
        return (rank + 1) % blocks * blockDim.x + (threadIdx.x + 33) % blockDim.x;
    }
    // Waits at the barrier of common/barrier.cuh, whose accesses are relaxed if `order` leaves out their rule.
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

// Every thread writes some words. After the barrier it reads the words of a thread of another block. A search hands
// over levels, bitmaps and queues in this way. Each word is in another cache line, so that a warp makes many stores,
// and some are late.
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

// Three counters take turns, as the frontiers of a search do. All threads read one and add to one, and one thread
// empties the third.
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

// Relaxed additions assign places in a queue. After the barrier, a thread reads the entries at the places that another
// thread got.
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

// Threads look at bits through the L1 cache and then claim them. After the barrier, each bit that a thread asked for is
// set and has one winner. Three bitmaps take turns: threads judge one, claim bits of one, and empty the third.
extern "C" __global__ void __launch_bounds__(BLOCK)
    grid_claims(const arena memory, int group_blocks, int order, int rounds, int first) {
    group own(memory, group_blocks);
    disturbance other(memory, first);
    outcomes mine = {};
    const unsigned bits = CLAIM_WORDS * 32, length = CLAIM_WORDS + bits;  // words, then the winners of each bit
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
                mine.judge((look(word) & mask) != 0);  // the thread sees its own claim
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
// Waits at the barrier of the cluster, which does not release if `order` is NO_RELEASE.
__device__ __forceinline__ void meet_in_cluster(int order) {
#ifndef __CUDA_ON_CPU__  // the emulator has no barrier that does not release
    if (order == NO_RELEASE) {
        asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");
        return;
    }
#endif
    cluster_sync();
}

// Returns the index of the kth message of a thread. Messages of neighbouring threads are in one bank of shared memory,
// if it has room.
__device__ __forceinline__ unsigned same_bank(unsigned k, unsigned thread) {
    const unsigned nth = k * BLOCK + thread, rows = MESSAGES * BLOCK / 32;
    return nth % rows * 32 + nth / rows;
}

// Every thread writes to the shared memory of its own block and of another block, and to global memory. After the
// barrier it reads words of other threads in all three memories. A cluster hands over its queues in this way. The lanes
// of a warp send to one bank of the other block's memory at the same time, so that some stores are late.
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
    cluster_sync();  // other blocks may still read the shared memory of this block
    memory.seen->report(mine);
}

// Each block has three sizes that take turns. All blocks add to one and read one, and the block itself empties the
// third.
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
        mine.judge(sizes[(round + 1) % 3], blockDim.x);  // each block has added a share
        mine.judge(*in_block(&sizes[(round + 1) % 3], next), blockDim.x);
    }
    cluster_sync();
    memory.seen->report(mine);
}

// The first block works alone, as in tiny levels. Then it writes where it has stopped to the shared memory of all
// blocks. The second barrier stands for the level that a cluster runs before one block may go on alone again.
extern "C" __global__ void __launch_bounds__(BLOCK) __cluster_dims__(CLUSTER_SIZE, 1, 1)
    cluster_alone(const arena memory, int group_blocks, int order, int rounds, int first) {
    __shared__ unsigned queue[BLOCK], stopped, left;
    group own(memory, group_blocks);
    disturbance other(memory, first);
    outcomes mine = {};
    cluster_sync();
    for (int round = first; round < first + rounds; ++round) {
        if (own.rank == 0) {
            for (int level = 0; level <= round % 3; ++level) {  // the last level writes the numbers to be read
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
