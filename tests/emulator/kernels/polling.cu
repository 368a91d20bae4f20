// Waiting without the word that makes the compiler instrument every block.
extern "C" __global__ void relay_atomic(int *turn, int *order) {
    if (threadIdx.x) return;
    int me = gridDim.x - 1 - blockIdx.x;
    while (atomicAdd(turn, 0) != me);
    order[me] = blockIdx.x;
    __threadfence();
    atomicExch(turn, me + 1);
}

extern "C" __global__ void relay_load(int *turn, int *order) {
    if (threadIdx.x) return;
    int me = gridDim.x - 1 - blockIdx.x;
    while (__ldcg(turn) != me) __nanosleep(100);
    order[me] = blockIdx.x;
    __threadfence();
    __stcg(turn, me + 1);
}

// A lock taken by every thread of every block.
extern "C" __global__ void spin_lock(int *lock, int *count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *count = *count + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// A lock for which lanes wait in an empty loop, while the lane that has the lock waits at the loop's end.
extern "C" __global__ void lane_lock(int *lock, int *counts) {
    while (atomicCAS(lock, 0, 1) != 0);
    __threadfence();
    for (int i = 0; i < 20; ++i) ++counts[i];
    __threadfence();
    atomicExch(lock, 0);
}

// As lane_lock, but each waiting lane also counts its attempts in memory.
extern "C" __global__ void counting_lock(int *lock, int *counts) {
    int attempts = 0;
    while (atomicCAS(lock, 0, 1) != 0) __stcg(counts + 20 + threadIdx.x, ++attempts);
    __threadfence();
    for (int i = 0; i < 20; ++i) ++counts[i];
    __threadfence();
    atomicExch(lock, 0);
}
