// Kernels that are right, and the same with one fault each: what a build that watches is to find, and where.
// The line of a fault has its name behind it.

// A flag is raised for what was written before.
#ifndef FENCE
#define FENCE __threadfence()
#endif
#ifndef LOOK
#define LOOK(flag) *(volatile int*)&(flag)
#endif
extern "C" __global__ void hand_over(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 42;  // handed over
        FENCE;
        atomicExch(flag, 1);
    } else {
        for (int looks = 0; looks < 10000 && LOOK(*flag) == 0; ++looks) __nanosleep(100);
        FENCE;
        if (LOOK(*flag)) out[blockIdx.x] = data[0];  // taken
    }
}

#ifndef MEET
#define MEET __syncthreads()
#endif
extern "C" __global__ void neighbour_in_block(int* out) {
    __shared__ int cells[64];
    cells[threadIdx.x] = threadIdx.x;  // own cell
    MEET;
    out[threadIdx.x] = cells[(threadIdx.x + 1) % blockDim.x];  // next cell
}

#ifndef MEET_WARP
#define MEET_WARP __syncwarp()
#endif
extern "C" __global__ void neighbour_in_warp(int* out) {
    __shared__ int cells[32];
    for (int round = 0; round < 3; ++round) {
        cells[threadIdx.x] = round + threadIdx.x;  // own lane
        MEET_WARP;
        out[threadIdx.x] = cells[threadIdx.x ^ 1];  // next lane
        MEET_WARP;
    }
}

#ifndef ADD
#define ADD(word) atomicAdd(&word, 1)
#endif
extern "C" __global__ void count(int* total) {
    ADD(*total);  // counted
}

extern "C" __global__ void read_at(const int* in, int place, int* out) {
    if (threadIdx.x == 7) *out = in[place];  // read there
}

extern "C" __global__ void shared_at(int place, int* out) {
    __shared__ int first[8], second[8];
    if (threadIdx.x < 8) second[threadIdx.x] = first[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 0) *out = first[place] + second[0];  // shared there
}

extern "C" __global__ void dynamic_at(int place, int* out) {
    extern __shared__ int room[];
    room[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 0) *out = room[place];  // dynamic there
}

__device__ int device_total;
extern "C" __global__ void device_variable(int* out) {
    ADD(device_total);  // in a variable
    if (threadIdx.x == 0) out[0] = 0;
}

extern "C" __global__ void read_through(const unsigned long long* address, int* out) {
    if (threadIdx.x == 7) *out = reinterpret_cast<const int*>(*address)[3];  // read through it
}

extern "C" __global__ void declared(int* data, const int* never_written) {
    // benign race: all write the same
    data[0] = never_written[0];  // both
}

// All wait for one that waits for what nobody writes.
extern "C" __global__ void polls(int* flag, int* out) {
    if (threadIdx.x == 5) {
        while (LOOK(*flag) == 0) __nanosleep(100);  // polled
    }
    __syncthreads();
    out[threadIdx.x] = 1;
}

// Thread 5 waits, but the compiler reads the flag only once, so that the loop is empty.
extern "C" __global__ void polls_once(int* flag, int* out) {
    if (threadIdx.x == 5) {
        while (*flag == 0) {  // polled once
        }
    }
    __syncthreads();
    out[threadIdx.x] = 1;
}

// Takes 30 million steps for 10 million.
extern "C" __global__ void takes_long(int steps, int* out) {
    for (int i = 0; i < 3; ++i) {
        unsigned state = i;
        for (int k = 0; k < steps; ++k) state = state * 1664525u + 1013904223u;
        out[i] = state;
    }
}

// Each block waits for itself.
extern "C" __global__ void polls_shared() {
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (blockIdx.x == 0) {
        while (LOOK(flag) == 0) __nanosleep(100);
    } else {
        while (LOOK(flag) == 0) __nanosleep(200);
    }
}
