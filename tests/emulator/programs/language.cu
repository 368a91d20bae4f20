// Features of the language and of its headers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <malloc.h>
#include <math_constants.h>

#include <cassert>
#include <cfloat>
#include <cstdio>
#include <memory>

extern __shared__ int dynamic_words[];
__shared__ int tile[64];
__constant__ float table[4];
__managed__ int managed = 2;
__device__ int counter;
__device__ __noinline__ float doubled(float x) { return 2 * x; }
__host__ __device__ int on_both(unsigned x) { return __popc(x) + __clz(1); }
struct Pair3 { uchar3 a; ulong2 b; longlong4 c; };

__global__ void rows() {
    extern __shared__ short2 rows[][4];
    rows[threadIdx.x][3] = make_short2(threadIdx.x, 1);
    __syncthreads();
    assert(rows[31 - threadIdx.x][3].x == 31 - threadIdx.x && sizeof rows[0] == 16);
}

__global__ void check(int *x, const float *__restrict__, int pairs[][2]) {
    int i = threadIdx.x;
    dynamic_words[i] = i;
    tile[i] = 2 * i;
    __syncthreads();
    assert(dynamic_words[31 - i] + tile[31 - i] == 3 * (31 - i));
    assert(table[1] == 2.5f && doubled(table[1]) == 5);
    atomicAdd(&counter, 1);
    atomicAdd(&managed, 1);
    assert(__ballot(i < 4) == 15 && __any(i == 3) && !__all(i == 3));
    assert(__shfl(i, 5) == 5 && __shfl_down(i, 1) == (i == 31 ? 31 : i + 1) && __shfl_xor(i, 1) == (i ^ 1));
    unsigned active = __activemask();
    assert(active == 0xffffffff && __shfl_up_sync(active, i, 1) == (i ? i - 1 : 0));
    if (i % 2) assert(__popc(__activemask()) == 16);
    __syncwarp();
    __half h = __float2half(1.5f), g = h * __half(2.0f);
    assert(__half2float(g) == 3.0f && __hgt(g, h) && h + h == g && __half2float(hsqrt(__float2half(4))) == 2);
    half2 pair = __hfma2(__floats2half2_rn(1, 2), __float2half2_rn(3), __halves2half2(h, h));
    assert(__low2float(pair) == 4.5f && __high2float(pair) == 7.5f);
    assert(__half2float(__float2half(65536.0f)) == CUDART_INF_F && __half2float(__float2half(1e-7f)) == 0x1p-23f);
    assert(__half2float(__float2half(2049.0f)) == 2048.0f && __half2float(__float2half(2051.0f)) == 2052.0f);
    __nv_bfloat16 b = __float2bfloat16(1.0f + 1.0f / 256);
    assert(__bfloat162float(b) == 1.0f && __bfloat162float(__hadd(b, b)) == 2);
    assert(fabsf(normcdfinvf(0.975f) - 1.959964f) < 1e-5f && fabs(erfinv(0.5) - 0.4769362762044699) < 1e-12);
    assert(__float2uint_rn(2.5f) == 2 && __double2ll_rz(-1e30) == (-9223372036854775807LL - 1) && __hiloint2double(0x3ff00000, 0) == 1);
    assert(__dp4a(0x01020304, 0x01010101, 5) == 15);
    auto block = cooperative_groups::this_thread_block();
    auto eight = cooperative_groups::tiled_partition(block, 8);
    eight.sync();
    assert(eight.size() == 8 && (int)eight.thread_rank() == i % 8);
    if (i == 0) {
        int *made = (int *)malloc(16), *more = new int[2];
        made[3] = more[1] = 7;
        x[0] = made[3] + more[1];
        free(made);
        delete[] more;
    }
}

// A class with its own copy constructor. Threads get the bytes of the one copy that the launch makes.
struct Counted {
    Counted *self = this;
    static inline int copies = 0, ends = 0;
    Counted() = default;
    Counted(const Counted &) : self(this) { ++copies; }
    ~Counted() { ++ends; }
};
template <class T>
__global__ void take(int, T counted, int *x) {
    assert(counted.self != &counted);
    if (threadIdx.x == 0 && blockIdx.x == 0) *x = 5;
}

// Objects with virtual functions that one kernel makes and others use.
struct Shape {
    __device__ virtual int corners() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    __device__ int corners() const override { return 4; }
};
__global__ void make(Shape **shape) { *shape = new Square; }
__global__ void use(Shape **shape) {
    __shared__ unsigned char room[sizeof(Square)];
    Shape *placed = nullptr;
    if (threadIdx.x == 0) placed = new (room) Square;
    __syncthreads();
    assert((*shape)->corners() == 4 && (!placed || placed->corners() == 4));
}
__global__ void destroy(Shape **shape) { delete *shape; }

__global__ void intrinsics(float third, double tenth, int *x) {
    __shared__ int shared;
    int local;
    assert(__isShared(&shared) && !__isShared(&local) && !__isShared(x) && !__isLocal(&shared) && __isLocal(&local));
    assert(__isGlobal(x) && !__isGlobal(&shared) && !__isGlobal(&local));
    assert(umin(3u, 4u) == 3 && umax(3u, 4u) == 4 && llmin(-1, 1) == -1 && llmax(-1, 1) == 1);
    assert(__vadd4(0xff010203, 0x02020202) == 0x01030405 && __vaddus4(0xff010203, 0x02020202) == 0xff030405);
    assert(__vsubss2(0x80000005, 0x00010003) == 0x80000002 && __vcmpgtu4(0x01800005, 0x02010500) == 0x00ff00ff);
    assert(__vsetles2(0xffff0002, 0x00010001) == 0x00010000 && __vabsdiffu4(0x05010000, 0x01050000) == 0x04040000);
    assert(__vsadu4(0x05010000, 0x01050001) == 9 && __vabs2(0xffff0003) == 0x00010003);
    assert(__dp2a_lo(0x0002ffff, 0x00000304, 5) == 7 && __dp2a_hi(0x00020001u, 0x03040000u, 5u) == 15);
    assert(__fadd_rd(1, 1e-10f) == 1 && __fadd_ru(1, 1e-10f) == 1 + FLT_EPSILON && __fadd_rz(-1, -1e-10f) == -1);
    assert(__fdiv_rd(1, third) < __fdiv_ru(1, third) && __fmul_ru(FLT_MAX, 2) > FLT_MAX && __fmul_rz(FLT_MAX, 2) == FLT_MAX);
    assert(__dmul_ru(tenth, tenth) - __dmul_rd(tenth, tenth) > 0 && __dsub_rd(1, 1e-30) < 1 && __dsqrt_ru(4) == 2);
    float sides[] = {3, 4};
    assert(normf(2, sides) == 5 && norm4d(1, 1, 1, 1) == 2 && fdividef(6, 3) == 2);
    cuFloatComplex i = make_cuFloatComplex(0, 1), square = cuCmulf(i, i);
    assert(cuCrealf(square) == -1 && cuCimagf(cuCdivf(square, i)) == 1 && cuCabs(make_cuDoubleComplex(3, 4)) == 5);
}

// Groups of lanes that do not follow each other, and a shuffle of 16 bytes.
__device__ __forceinline__ int larger(int a, int b) { return a > b ? a : b; }

__global__ void groups(int *x) {
    namespace cg = cooperative_groups;
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
    int lane = threadIdx.x;
    cg::coalesced_group third = cg::labeled_partition(tile, lane % 3);
    assert(third.size() == (lane % 3 == 2 ? 10 : 11) && third.thread_rank() == lane / 3);
    assert(third.shfl(lane, 2) == 6 + lane % 3 && third.shfl_up(lane, 1) == (lane < 3 ? lane : lane - 3));
    assert(third.ballot(lane == 6) == (lane % 3 == 0 ? 4 : 0) && third.all(1));
    assert(cg::reduce(third, 1, cg::plus<int>()) == third.size());
    assert(cg::reduce(tile, lane, larger) == 31);
    cg::coalesced_group odd = cg::binary_partition(tile, lane & 1);
    assert(odd.size() == 16 && odd.shfl(lane, 15) == 30 + (lane & 1));
    int4 four = tile.shfl_xor(make_int4(lane, 1, 2, -lane), 1);
    assert(four.x == (lane ^ 1) && four.z == 2 && four.w == -(lane ^ 1));
    if (lane == 0) x[0] = third.shfl(7, 0);
    else if (lane % 3 == 0) third.shfl(0, 0);
}

// The first thread waits for the last thread, without any other function that lets threads run.
__global__ void wait_for_last(int *x) {
    if (threadIdx.x == blockDim.x - 1) atomicExch(x, 1);
    while (atomicAdd(x, 0) == 0) {
    }
}

int main() {
    float values[4] = {1, 2.5f, 3, 4}, back[4];
    cudaMemcpyToSymbol(table, values, sizeof values);
    cudaMemcpyFromSymbol(back, table, sizeof back);
    int *x, result, count;
    cudaMalloc(&x, sizeof(int));
    rows<<<1, 32, 32 * 16>>>();
    check<<<1, 32, 128>>>(x, nullptr, nullptr);
    cudaMemcpy(&result, x, sizeof result, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&count, counter, sizeof count);
    {
        Counted counted;
        take<<<2, 32>>>(1, counted, x);
        assert(Counted::copies == 1 && Counted::ends == 1);
    }
    Shape **shape;
    cudaMalloc(&shape, sizeof *shape);
    make<<<1, 1>>>(shape);
    use<<<1, 32>>>(shape);
    destroy<<<1, 1>>>(shape);
    cudaFree(shape);
    intrinsics<<<1, 1>>>(3, 0.1, x);
    groups<<<1, 32>>>(x);
    cudaMemset(x, 0, sizeof(int));
    wait_for_last<<<1, 64>>>(x);
    auto shared = std::make_shared<int>(on_both(7));
    printf("%d %d %d %d %g %zu %s\n", result, managed, count, *shared, back[3], sizeof(Pair3), cudaGetErrorName(cudaGetLastError()));
    cudaFree(x);
}
