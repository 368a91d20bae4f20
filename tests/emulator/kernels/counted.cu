// What a warp's accesses cost can be told by hand here. Comments at the ends of lines are names for the tests.
extern "C" __global__ void coalesced(const int *x, int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a = x[i];              // side by side
    int b = x[i + 1];          // one off
    int c = x[i * 8];          // a sector each
    int d = x[0];              // all the same
    int4 e = ((int4 *)x)[i];   // four words
    y[i] = a + b + c + d + e.x + e.y + e.z + e.w;  // stored
}

extern "C" __global__ void lines(const int *x, int *y) {
    int i = threadIdx.x;
    y[i] = x[i];               // a whole line
    y[i] += x[i + 1];          // again
    y[i] += x[512 + 16 * i];   // every other sector
}

// One load, from one of two buffers; in the fourth round odd lanes take the one and even lanes the other.
extern "C" __global__ void from_either(const int *x, const int *y, int *z) {
    int i = threadIdx.x, sum = 0;
    for (int k = 0; k < 6; ++k) {
        const int *from = (k == 3 ? i : k) % 2 ? x : y;
        sum += from[i];        // from either
    }
    z[i] = sum;
}

extern "C" __global__ void divergent(const int *x, int *y) {
    int i = threadIdx.x, sum = 0;
    if (i % 2)
        sum += x[i];           // odd
    else
        sum -= x[i];           // even
    for (int k = 0; k < i % 4; ++k) sum += x[k];  // up to three times
    for (int outer = 0; outer < 2; ++outer) {
        sum += x[outer];       // twice
        for (int k = 0; k < i % 3; ++k) sum += x[8 * outer + k];  // up to two times, twice
    }
    for (int k = 0; k < 3; ++k) {
        int place = x[k];      // behind the branch
        if (place + k == i % 3) y[place] = k;
    }
    if (i >= 40) return;
    y[i] = sum;                // some have returned
}

// Few lanes go on for long, as on the rows of hubs: longer than a trace.
extern "C" __global__ void hubs(const int *x, int *y) {
    int lane = threadIdx.x % 32, sum = 0;
    int turns = lane == 3 ? 100 : lane == 17 ? 150 : 1;
#pragma unroll 1
    for (int k = 0; k < (lane == 5 ? 200 : 1); ++k) sum += x[k];  // one lane alone
#pragma unroll 1
    for (int k = 0; k < turns; ++k) {
        int place = x[k];                          // two lanes
        if (lane == 3 && k % 2) sum += x[place];   // one of them leaves the other
        sum += x[8 * k];                           // they have met again
    }
    if (lane == 9)
        for (int k = 0; k < 100; ++k) atomicAdd(&y[threadIdx.x], x[k] + 1);  // one that waits for each step
    y[64 + threadIdx.x] = sum;                     // all again
}

// Lanes go round up to six times; nvcc unrolls the first loop.
extern "C" __global__ void unrolled(const int *x, int *y) {
    int end = threadIdx.x % 7, sum = 0;
    for (int k = 0; k < end; ++k) sum += x[k];  // left over, then by fours
    for (int k = 0; k < end; ++k) {
        if (x[k] == 1) break;                   // one by one
        atomicAdd(&y[threadIdx.x], sum);        // iterations stay together
    }
}

__device__ bool has_one(const int *x, int end) {
    for (int k = 0; k < end; ++k)
        if (x[k] == 1) return true;
    return false;
}

// Lanes find the one after one to four looks, or never; those that do at the same time go on together.
extern "C" __global__ void early(const int *x, int *y) {
    if (has_one(x + threadIdx.x % 4, threadIdx.x % 8)) y[threadIdx.x] = 1;  // by the number of looks
    y[threadIdx.x] = 2;                                                     // all again
}

extern "C" __global__ void banks(const int *x, int *y) {
    __shared__ int s[32 * 32];
    __shared__ long long wide[64];
    int i = threadIdx.x;
    s[i] = x[i];               // a bank each
    wide[i] = i;               // eight bytes each
    __syncthreads();           // all meet
    int a = s[i * 2 % 1024];   // two in a bank
    int b = s[i * 4 % 1024];   // four in a bank
    int c = s[i * 32 % 1024];  // all in a bank
    int d = s[3];              // a word for all
    __syncwarp();              // a warp meets
    y[i] = a + b + c + d + (int)wide[0];
}

extern "C" __global__ void atomics(int *total, int *x) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(total, 1);                // one word
    atomicAdd(&x[threadIdx.x], 1);      // a word each
    atomicAdd(&x[threadIdx.x / 8], 1);  // eight on a word
    atomicAdd(&sum, 1);                 // one word in shared memory
}

// The second block waits for the first one.
extern "C" __global__ void waiting(volatile int *flag, int *y) {
    if (blockIdx.x == 1) *flag = 1;
    while (*flag == 0) {       // looked at
    }
    y[blockIdx.x] = 1;         // after the wait
}

// The second block stores when the first one has looked once.
extern "C" __global__ void outdated(int *data, volatile int *flags, int *found) {
    if (blockIdx.x == 0) {
        found[0] = data[0];
        flags[0] = 1;
        while (flags[1] == 0) {
        }
        found[1] = data[0];   // from the cache
        found[2] = data[64];  // not there before
        __threadfence();
        found[3] = data[0];
    } else {
        while (flags[0] == 0) {
        }
        data[0] = data[64] = 1;
        found[4] = data[0];   // its own
        flags[1] = 1;
    }
}

// In lockstep, all lanes of a warp have read before one of them writes.
extern "C" __global__ void rotate(int *x) {
    int next = x[(threadIdx.x + 1) % 32];
    x[threadIdx.x] = next;
}

// Where the second lane stores, the first has a load before it that stands behind the store.
extern "C" __global__ void ahead(int *x, int *y) {
    int sum = 0;
    if (threadIdx.x == 1) y[1] = 1;      // behind all others
    if (threadIdx.x == 0) sum = x[0];    // issued when its lane has gone on
    sum = __shfl_sync(~0u, sum, 0);
    y[threadIdx.x] = sum + x[threadIdx.x];  // when they have met
}

// Lanes run on behind their stores. They find what they have stored, and others find it behind the barrier, although
// every second thread has returned.
extern "C" __global__ void stores(int *x, int *y, int *seen) {
    x[threadIdx.x] = 1;
    x[threadIdx.x] = threadIdx.x + 5;  // once more
    seen[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = 0;
    if (threadIdx.x % 2) return;
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x + 1];  // of a thread that has returned
}

// The last lane stores last.
extern "C" __global__ void stores_in_order(int *x) {
    x[0] = threadIdx.x;
    x[1 + threadIdx.x % 2] = threadIdx.x;  // to two words
}

// Threads end long before their warps have made all the steps.
extern "C" __global__ void ends_ahead(const int *x, int *y) {
    int sum = 0;
    for (int k = 0; k < 40; ++k) {
        sum += x[k];  // one by one
        if (sum < 0) break;
    }
    if (sum) y[0] = sum;  // never
}

// Each thread has more on its stack than most, and finds it as it was whenever others have run.
extern "C" __global__ void deep_stacks(int *x, int *y) {
    int numbers[400];
    for (int i = 0; i < 400; ++i) numbers[i] = i * threadIdx.x;
    for (int round = 0; round < 3; ++round) {
        y[threadIdx.x] = round;
        __syncthreads();
        for (int i = 0; i < 400; ++i) numbers[i] += x[i % 4];
    }
    int sum = 0;
    for (int i = 0; i < 400; ++i) sum += numbers[i];
    y[threadIdx.x] = sum;
}

struct note {
    long long time;
};

extern "C" __global__ void levels(note *notes, int *y) {
    for (int level = 3; level < 6; ++level) {
        if (threadIdx.x == 0) notes[level] = note{level};
        __syncthreads();
        for (int k = 0; k < level; ++k) y[threadIdx.x] = k;  // as often as the level says
    }
}
