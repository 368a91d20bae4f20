// Inline PTX. The kernel counts the results that are wrong.
#include <cstdio>

#define ADD(address, value) asm volatile("red.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory")
__device__ unsigned failures;
#define IS(expected, value)                                                                             \
    if ((value) != (expected)) printf("line %d, thread %u\n", __LINE__, threadIdx.x), atomicAdd(&failures, 1)

__global__ void memory(unsigned *word, unsigned *flag) {
    unsigned x, y, place;
    asm("mov.u32 %0, %%tid.x;" : "=r"(x));
    asm("{\n\t.reg .u32 t;\n\tmov.u32 t, %%ntid.x;\n\tadd.u32 %0, t, 1;\n\t}" : "=r"(y));
    IS(threadIdx.x, x);
    IS(33, y);
    asm("mov.u32 %0, %%ctaid.y;\n\tmov.u32 %1, %nctaid.y;" : "=r"(x), "=r"(y));
    IS(blockIdx.y, x);
    IS(2, y);
    ADD(word, 2);
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(place) : "l"(word + 1), "r"(1));
    if (place == 63) asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
    do {
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(x) : "l"(flag) : "memory");
    } while (!x);
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;\n\tbar.sync 0;" ::: "memory");
}

#define RESULT(expected, code, ...)                   \
    {                                                 \
        unsigned result = 0;                          \
        asm(code : "=r"(result) : __VA_ARGS__);       \
        IS(static_cast<unsigned>(expected), result);  \
    }

__global__ void arithmetic(const unsigned *from, unsigned a, unsigned b, float x) {
    RESULT(0x1d, "mul.hi.u32 %0, %1, %2;", "r"(a), "r"(0x100000u));
    RESULT(-1, "mul.hi.s32 %0, %1, %2;", "r"(-3), "r"(5));
    RESULT(0x1d5e7, "mad.lo.u32 %0, %1, 16, 7;", "r"(a / 16));
    RESULT(0x5e, "bfe.u32 %0, %1, 4, 8;", "r"(a));
    RESULT(-2, "bfe.s32 %0, %1, 4, 4;", "r"(a));
    RESULT(0x1daee, "bfi.b32 %0, %2, %1, 4, 8;", "r"(0x1d5eeu), "r"(0xaeu));
    RESULT(0x80000000u, "brev.b32 %0, %1;", "r"(1));
    RESULT(15, "clz.b32 %0, %1;", "r"(a));
    RESULT(16, "bfind.u32 %0, %1;", "r"(a));
    RESULT(~0u, "bfind.s32 %0, %1;", "r"(-1));
    RESULT(0x03040102, "prmt.b32 %0, %1, %2, 0x4501;", "r"(0x0201u), "r"(0x0403u));
    RESULT(0xf0 ^ 0xcc ^ 0xaa, "lop3.b32 %0, %1, %2, %3, 0x96;", "r"(0xf0), "r"(0xcc), "r"(0xaa));
    RESULT(0x21, "shf.l.wrap.b32 %0, %1, %2, 36;", "r"(0x10000000u), "r"(2));
    RESULT(2, "rem.u32 %0, %1, 7;", "r"(b));
    RESULT(~0u, "div.u32 %0, %1, 0;", "r"(b));
    RESULT(9, "abs.s32 %0, %1;", "r"(-9));
    RESULT(-5, "dp4a.s32.s32 %0, %1, %2, 5;", "r"(0x01fd0000u), "r"(0x02040000u));
    RESULT(3, "cvt.rni.u32.f32 %0, %1;", "f"(x + 0.75f));
    RESULT(0, "cvt.rzi.u32.f32 %0, %1;", "f"(-x));
    RESULT(2147483647, "cvt.rzi.s32.f32 %0, %1;", "f"(x * 1e20f));
    RESULT(~0u, "activemask.b32 %0;", "r"(0));
    RESULT(threadIdx.x ^ 1, "shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;", "r"(threadIdx.x));
    RESULT(threadIdx.x < 2 ? threadIdx.x : threadIdx.x - 2, "shfl.sync.up.b32 %0, %1, 2, 0, -1;", "r"(threadIdx.x));
    RESULT(threadIdx.x / 8 * 8 + 3, "shfl.sync.idx.b32 %0, %1, 3, 0x181f, -1;", "r"(threadIdx.x));
    RESULT(0xf, "{.reg .pred p; setp.lt.u32 p, %1, 4; vote.sync.ballot.b32 %0, p, -1;}", "r"(threadIdx.x));
    RESULT(496, "redux.sync.add.u32 %0, %1, -1;", "r"(threadIdx.x));
    RESULT(1u << threadIdx.x, "match.any.sync.b32 %0, %1, -1;", "r"(threadIdx.x));
    RESULT(32, "mov.u32 %0, %%nsmid;", "r"(0));
    RESULT(8 + 100, "vabsdiff4.u32.u32.u32.add %0, %1, %2, 100;", "r"(0x01020304), "r"(0x04030201));
    RESULT(0xff7f0201, "vadd4.u32.u32.u32.sat %0, %1, %2, 0;", "r"(0xf0700101), "r"(0x1f0f0100));
    RESULT(0x7fff0001, "vmax2.s32.s32.s32 %0, %1, %2, 0;", "r"(0x7fffffff), "r"(0x80000001));
    RESULT(2, "slct.s32.s32 %0, %1, %2, %3;", "r"(1), "r"(2), "r"(-1));
    RESULT(4, "fns.b32 %0, %1, 0, 3;", "r"(0x16));
    __shared__ unsigned copied[2][32];
    unsigned place = __cvta_generic_to_shared(&copied[0][threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from + threadIdx.x));
    asm volatile("cp.async.ca.shared.global.L2::128B [%0+128], [%1], 4, %2;" ::"r"(place), "l"(from + threadIdx.x), "r"(2));
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    IS(from[threadIdx.x], copied[0][threadIdx.x]);
    IS(from[threadIdx.x] & 0xffff, copied[1][threadIdx.x]);
    unsigned long long wide;
    asm("mul.wide.u32 %0, %1, %1;" : "=l"(wide) : "r"(0x80000001u));
    IS(0x4000000100000001ull, wide);
    unsigned low, high;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(wide));
    IS(0x40000001u, high);
    asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(~0u), "r"(2));
    IS(1, low);
    IS(1, high);
    asm("sub.cc.u32 %0, %2, %3;\n\tsubc.u32 %1, %3, 0;" : "=r"(low), "=r"(high) : "r"(2), "r"(5));
    IS(~0u - 2, low);
    IS(4, high);
    asm("sub.cc.u32 %0, %2, %2;\n\tsubc.u32 %1, %2, 0;" : "=r"(low), "=r"(high) : "r"(5));
    IS(0, low);
    IS(5, high);
    float y;
    asm("fma.rn.f32 %0, %1, 0f40000000, %1;" : "=f"(y) : "f"(x));
    IS(3 * x, y);
    if (a == 0) asm volatile("trap;");
}

// Warp 0 hands its values to warp 1 at barrier 1. Warps 2 and 3 exchange theirs at barrier 2, several times.
__global__ void named_barriers() {
    __shared__ unsigned values[64];
    unsigned thread = threadIdx.x, warp = thread / 32;
    if (warp == 0) {
        values[thread] = 3 * thread;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else if (warp == 1) {
        asm volatile("bar.sync %0, %1;" ::"r"(1), "r"(64) : "memory");
        IS(3 * (63 - thread), values[63 - thread]);
    } else {
        for (unsigned round = 0; round < 3; ++round) {
            if (warp == 2 + round % 2) values[thread % 32 + 32] = round;
            asm volatile("barrier.sync.aligned 2, 64;" ::: "memory");
            IS(round, values[63 - thread % 32]);
            __barrier_sync_count(2, 64);
        }
    }
    __barrier_sync(3);
    asm volatile("bar.sync 4;" ::: "memory");
    asm volatile("bar.sync 0, 128;" ::: "memory");
    __syncthreads();
}

// The last warp of the block is not full. A GPU counts all its lanes.
__global__ void part_of_a_warp() {
    __shared__ unsigned value;
    if (threadIdx.x == 99) value = 7;
    asm volatile("bar.sync 1;" ::: "memory");
    IS(7, value);
    asm volatile("bar.sync 2, 128;" ::: "memory");
}

int main() {
    unsigned *x, words[3];
    cudaMalloc(&x, sizeof words);
    cudaMemset(x, 0, sizeof words);
    memory<<<dim3(1, 2), 32>>>(x, x + 2);
    cudaMemcpy(words, x, sizeof words, cudaMemcpyDeviceToHost);
    unsigned *from;
    cudaMallocManaged(&from, 32 * sizeof *from);
    for (unsigned i = 0; i < 32; ++i) from[i] = i * 0x10001;
    arithmetic<<<1, 32>>>(from, 0x1d5e0, 23, 2);
    named_barriers<<<2, 128>>>();
    part_of_a_warp<<<1, 100>>>();
    unsigned wrong;
    cudaMemcpyFromSymbol(&wrong, failures, sizeof wrong);
    printf("%u failures, %u %u %s\n", wrong, words[0], words[1], cudaGetErrorName(cudaGetLastError()));
    cudaFree(x);
    cudaFree(from);
}
