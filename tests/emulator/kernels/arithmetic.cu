// Integer intrinsics, vector types, and loads and stores with a caching policy, one result a word.
extern "C" __global__ void bits(const unsigned *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = in[i], y = in[(i + 1) % n], s = in[(i + 2) % n] & 63;
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned *o = out + 14 * i;
    o[0] = __popc(x);
    o[1] = __popcll(both);
    o[2] = __clz(x);
    o[3] = __clzll(both);
    o[4] = __ffs(x);
    o[5] = __ffsll(both);
    o[6] = __brev(x);
    o[7] = (unsigned)(__brevll(both) >> 32);
    o[8] = __funnelshift_l(x, y, s);
    o[9] = __funnelshift_r(x, y, s);
    o[10] = __funnelshift_lc(x, y, s);
    o[11] = __funnelshift_rc(x, y, s);
    o[12] = min(x, y) + 2 * max(1, -1);
    o[13] = __byte_perm(x, y, 0x7531);
}

// Differences, averages and high halves, of pairs of neighbours.
extern "C" __global__ void integers(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = in[i], y = in[(i + 1) % n];
    int *o = out + 10 * i;
    o[0] = __mul24(x, y);
    o[1] = __umul24(x, y);
    o[2] = __sad(x, y, 7);
    o[3] = __usad(x, y, 7);
    o[4] = __hadd(x, y);
    o[5] = __rhadd(x, y);
    o[6] = __uhadd(x, y);
    o[7] = __urhadd(x, y);
    o[8] = (int)__mul64hi((long long)x << 32, (long long)y << 32);
    o[9] = (int)__umul64hi((unsigned long long)(unsigned)x << 32, (unsigned long long)(unsigned)y << 32);
}

// Fast functions of float, of 0 or 1, all of which are whole there.
extern "C" __global__ void floats(const float *in, int *out) {
    float zero = in[0], one = in[1];
    out[0] = (int)(__expf(zero) + 2 * __logf(one) + __log2f(one) + __log10f(one));
    out[1] = (int)(__sinf(zero) + __cosf(zero) + __tanf(zero) + __powf(2 * one, 3 * one) + __saturatef(5 * one));
    out[2] = __float2int_rn(2.5f * one) + __float2int_rz(-2.5f * one) + __float2int_ru(2.5f * one);
    out[3] = __float2int_rd(-2.5f * one) + (int)__int2float_rn(out[2]);
}

__constant__ int offset_table[4] = {10, 20, 30, 40};
__device__ int calls = 5;

__device__ __noinline__ int table(int i) { return offset_table[i & 3]; }
static __device__ __forceinline__ int twice(int x) { return 2 * x; }

// int4 a[n], longlong2 b[n]; threads in two dimensions.
extern "C" __global__ void __launch_bounds__(64, 2) vectors(int4 *__restrict__ a, longlong2 *b, int n) {
    int i = threadIdx.y * blockDim.x + threadIdx.x + blockIdx.x * blockDim.x * blockDim.y;
    if (i >= n) return;
    int4 v = __ldg(a + i);
    int2 w = make_int2(v.z, v.w);
    uint4 u = make_uint4(v.x, v.y, 0u, 0u);
    __stcg(a + i, make_int4((int)(u.x + u.y), twice(w.x), table(i), __ldcg(&a[i].w) + __ldca(&a[i].x)));
    b[i] = make_longlong2(b[i].y, (long long)sizeof(longlong2) << 32);
    if (i == 0) atomicAdd(&calls, 1);
}

extern "C" __global__ void read_calls(int *out) { *out = calls; }

struct Pair {
    short a;
    double b;
};
extern "C" __global__ void parameters(long long a, unsigned b, float c, double d, int e, double *out) {
    Pair p = {(short)e, d};
    out[0] = (double)a;
    out[1] = b;
    out[2] = c;
    out[3] = p.b;
    out[4] = p.a;
}

// A parameter with a gap between its members.
struct Members {
    const int *in;
    int n;
    long long factor;
    const int *none;
    int *out;
};
extern "C" __global__ void members(const __grid_constant__ Members all, int more) {
    for (int i = threadIdx.x; i < all.n; i += blockDim.x) all.out[i] = (int)(all.in[i] * all.factor >> 32) + more;
    if (all.none) all.out[0] = -1;
}
