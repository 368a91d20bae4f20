// Every atomic, from all threads at once; the final words are known.
extern "C" __global__ void all_atomics(int *i, unsigned *u, unsigned long long *q, float *f) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&i[0], 1);
    atomicSub(&i[1], 2);
    atomicMin(&i[2], 100 - t);
    atomicMax(&i[3], t - 100);
    atomicExch(&i[4], 7);
    atomicCAS(&i[5], 0, 1);
    atomicAdd_block(&i[6], 1);
    atomicAdd_system(&i[7], 1);
    atomicAnd(&u[0], ~(1u << (t & 31)));
    atomicOr(&u[1], 1u << (t & 31));
    atomicXor(&u[2], 1u);
    atomicInc(&u[3], 9);
    atomicDec(&u[4], 9);
    atomicMin(&u[5], 4000000000u - t);
    atomicMax(&u[6], 4000000000u + t);
    atomicAdd(&q[0], 1ull << 33);
    atomicMax(&q[1], (unsigned long long)t << 32);
    atomicCAS(&q[2], 0ull, 5ull << 40);
    atomicAdd(&f[0], 0.5f);
}

// A list appended to by claim: each of n cells goes to exactly one of the threads that want it.
extern "C" __global__ void claim(int *owner, int *list, int *count, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        int cell = (t + k * 17) % n;
        if (atomicCAS(&owner[cell], -1, t) == -1) list[atomicAdd(count, 1)] = cell;
    }
}
