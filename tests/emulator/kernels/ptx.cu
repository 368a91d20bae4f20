// Inline PTX, as kernels have it.
// A flag is raised for what was written before.
extern "C" __global__ void hand_over(int *data, int *flag, int *out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 42;  // handed over
        asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
    } else {
        int seen = 0;
        for (int looks = 0; looks < 10000 && seen == 0; ++looks)
            asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        if (seen) out[blockIdx.x] = data[0];  // taken
    }
}

__device__ __forceinline__ unsigned or_if(bool mine, unsigned *word, unsigned bits) {
    unsigned before = 77;
    asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; @p atom.relaxed.gpu.global.or.b32 %0, [%2], %3;}"
                 : "+r"(before)
                 : "r"((int)mine), "l"(word), "r"(bits)
                 : "memory");
    return before;
}

extern "C" __global__ void instructions(int *out, unsigned *words, const int4 *vectors) {
    if (threadIdx.x != 3) return;
    out[0] = or_if(false, &words[0], 1);
    out[1] = or_if(true, &words[0], 6);
    int4 v;
    asm("ld.global.nc.L1::no_allocate.v4.s32 {%0, %1, %2, %3}, [%4+16];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(vectors));
    out[2] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(&words[2]), "r"(8), "r"(9) : "memory");
    asm volatile("red.global.add.u32 [%0], 5;\n\tred.relaxed.cta.global.max.u32 [%0], %1; // both" ::"l"(&words[1]),
                 "r"(3)
                 : "memory");
    unsigned lane, below, old, others;
    asm("mov.u32 %0, %%laneid; mov.u32 %1, %%lanemask_lt;" : "=r"(lane), "=r"(below));
    asm("mov.u32 %0, %%lanemask_le; {.reg .u32 m; mov.u32 m, %%lanemask_gt; xor.b32 %0, %0, m;}" : "=r"(others));
    asm volatile("atom.cas.b32 %0, [%1], 5, %2;" : "=r"(old) : "l"(&words[1]), "r"(11) : "memory");
    out[3] = lane + 100 * below + 1000 * old;
    float half = 0.5f;
    unsigned bits, least, shifted;
    asm("mov.b32 %0, %1;" : "=r"(bits) : "f"(half));
    asm("{.reg .u32 t; add.u32 t, %1, -2; min.u32 %0, t, 9;}" : "=r"(least) : "r"(7));
    asm("shl.b32 %0, %1, 32;" : "=r"(shifted) : "r"(7));
    out[4] = others == ~0u && bits == 0x3f000000u && least == 5 && shifted == 0;
    asm volatile("prefetch.global.L2 [%0]; fence.acq_rel.gpu; membar.gl;" ::"l"(out));
}

extern "C" __global__ void __cluster_dims__(2) cluster(int *out) {
    __shared__ unsigned cell;
    unsigned rank, other, remote, value;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    cell = 100 + rank;
    other = (unsigned)__cvta_generic_to_shared(&cell);
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(other), "r"(1 - rank));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote) : "memory");
    out[blockIdx.x] = value;
    asm volatile("barrier.cluster.arrive;\n barrier.cluster.wait;" ::: "memory");
}

extern "C" __global__ void unknown(float *x) {
#ifdef UNKNOWN
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(0), "l"(x));
#endif
}
