// The block, warp and device functions of cub.
#include <cub/block/block_scan.cuh>
#include <cub/cub.cuh>

#include "expect.h"

constexpr int kThreads = 64;

__global__ void reduce(const int *in, int *out) {
    using Block = cub::BlockReduce<int, kThreads>;
    using Warp = cub::WarpReduce<int>;
    __shared__ typename Block::TempStorage storage;
    __shared__ typename Warp::TempStorage warps[kThreads / 32];
    int sum = Block(storage).Sum(in[threadIdx.x]);
    __syncthreads();
    int largest = Block(storage).Reduce(in[threadIdx.x], cub::Max(), 10);
    int lowest = Warp(warps[threadIdx.x / 32]).Reduce(in[threadIdx.x], cub::Min());
    if (threadIdx.x == 0) out[0] = sum, out[1] = largest;
    if (threadIdx.x == 32) out[2] = lowest;
}

__global__ void sort(const int *in, int *out, int *histogram) {
    using Sort = cub::BlockRadixSort<int, kThreads, 2, int>;
    using Histogram = cub::BlockHistogram<int, kThreads, 2, 4>;
    __shared__ typename Sort::TempStorage storage;
    __shared__ typename Histogram::TempStorage none;
    __shared__ int bins[4];
    int first = 2 * threadIdx.x, values[2] = {first, first + 1};
    int keys[2] = {cub::ThreadLoad<cub::LOAD_CG>(in + first), in[first + 1]};
    Sort(storage).Sort(keys, values);
    for (int i = 0; i < 2; ++i) cub::ThreadStore<cub::STORE_CG>(out + first + i, keys[i]), out[128 + first + i] = values[i];
    for (int &key : keys) key &= 3;
    Histogram(none).Histogram(keys, bins);
    __syncthreads();
    if (threadIdx.x < 4) histogram[threadIdx.x] = bins[threadIdx.x];
}

struct AddTotal {
    int running;
    __device__ int operator()(int total) { int old = running; running += total; return old; }
};

__global__ void scan(const int *in, int *out) {
    using Scan = cub::BlockScan<int, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
    using Load = cub::BlockLoad<int, kThreads, 2, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, kThreads, 2, cub::BLOCK_STORE_STRIPED>;
    using Exchange = cub::BlockExchange<int, kThreads, 2>;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Exchange::TempStorage exchange;
    } shared;
    int items[2], total;
    Load(shared.load).Load(in, items);
    Scan(shared.scan).InclusiveSum(items, items);
    __syncthreads();
    Exchange(shared.exchange).BlockedToStriped(items, items);
    Store(shared.store).Store(out, items);
    __syncthreads();
    int one = threadIdx.x;
    Scan(shared.scan).ExclusiveSum(one, one, total);
    out[128 + threadIdx.x] = one + total;
    __syncthreads();
    AddTotal prefix{1000};
    one = 1;
    Scan(shared.scan).InclusiveScan(one, one, cub::Sum(), prefix);
    out[192 + threadIdx.x] = one;
}

struct Minus {
    template <class T> __device__ T operator()(T &mine, T &other) { return mine - other; }
};

__global__ void differences(const int *in, int *out, int valid) {
    using Difference = cub::BlockAdjacentDifference<int, kThreads>;
    __shared__ typename Difference::TempStorage storage;
    int first = 2 * threadIdx.x, items[2] = {in[first], in[first + 1]}, left[2];
    Difference(storage).SubtractLeft(items, left, Minus(), 1000);
    __syncthreads();
    Difference(storage).SubtractRightPartialTile(items, items, Minus(), valid);
    for (int i = 0; i < 2; ++i) out[first + i] = left[i], out[128 + first + i] = items[i];
}

template <class Call>
void twice(Call call) {
    size_t bytes = 0;
    void *storage = nullptr;
    cudaError_t first = call(storage, bytes);
    TRUE(first == cudaSuccess && bytes > 0);
    cudaMalloc(&storage, bytes);
    cudaError_t second = call(storage, bytes);
    TRUE(second == cudaSuccess);
    cudaFree(storage);
}

struct Odd {
    __host__ __device__ bool operator()(int x) const { return x % 2; }
};

int main() {
    int host[256], *in, *out, *values;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMalloc(&values, sizeof host);
    for (int i = 0; i < 256; ++i) host[i] = i * 37 % 256 - 100;
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    auto fetch = [&](const int *from, int count) { cudaMemcpy(host, from, count * sizeof(int), cudaMemcpyDeviceToHost); };
    int sum = 0, largest = host[0], lowest = host[32];
    for (int i = 0; i < kThreads; ++i) sum += host[i];
    for (int i = 0; i < 10; ++i) largest = max(largest, host[i]);
    for (int i = 32; i < 64; ++i) lowest = min(lowest, host[i]);
    reduce<<<1, kThreads>>>(in, out);
    fetch(out, 3);
    TRUE(host[0] == sum && host[1] == largest && host[2] == lowest);

    scan<<<1, kThreads>>>(in, out);
    fetch(out, 256);
    int running = 0;
    for (int i = 0; i < 128; ++i) TRUE(host[i] == (running += i * 37 % 256 - 100));
    TRUE(host[128 + 4] == 6 + 2016 && host[192 + 63] == 1064);

    differences<<<1, kThreads>>>(in, out, 100);
    fetch(out, 256);
    auto item = [](int i) { return i * 37 % 256 - 100; };
    for (int i = 0; i < 128; ++i) TRUE(host[i] == item(i) - (i ? item(i - 1) : 1000));
    for (int i = 0; i < 128; ++i) TRUE(host[128 + i] == item(i) - (i < 99 ? item(i + 1) : 0));

    twice([&](void *s, size_t &b) { return cub::DeviceReduce::Min(s, b, in, out, 256); });
    twice([&](void *s, size_t &b) { return cub::DeviceScan::ExclusiveSum(s, b, in, out + 1, 200); });
    fetch(out, 4);
    TRUE(host[0] == -100 && host[1] == 0 && host[3] == -163);

    cub::CountingInputIterator<int> counting(0);
    cub::TransformInputIterator<bool, Odd, int *> odd(in, Odd());
    twice([&](void *s, size_t &b) { return cub::DeviceSelect::Flagged(s, b, counting, odd, out + 1, out, 256); });
    fetch(out, 3);
    TRUE(host[0] == 128 && host[1] == 1 && host[2] == 3);

    twice([&](void *s, size_t &b) { return cub::DeviceSelect::If(s, b, counting, values, out, 256, [] __device__(int) { return true; }); });
    twice([&](void *s, size_t &b) { return cub::DeviceRadixSort::SortPairs(s, b, in, out, values, values, 256); });
    fetch(out, 256);
    for (int i = 0; i < 256; ++i) TRUE(host[i] == i - 100);
    fetch(values, 2);
    TRUE(host[1] * 37 % 256 == 1);
    cub::DoubleBuffer<int> keys(out, in);
    twice([&](void *s, size_t &b) { return cub::DeviceRadixSort::SortKeysDescending(s, b, keys, 256, 0, 2); });
    fetch(keys.Current(), 256);
    TRUE(host[0] == -97 && host[1] == -93 && host[255] == 152);

    for (int i = 0; i < 256; ++i) host[i] = (i * 37 % 128) / 3;
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    sort<<<1, kThreads>>>(in, out, values);
    fetch(out, 256);
    for (int i = 0; i < 128; ++i) TRUE(host[i] == i / 3 && host[128 + i] * 37 % 128 / 3 == i / 3);
    fetch(values, 4);
    TRUE(host[0] == 33 && host[1] == 33 && host[2] == 32 && host[3] == 30);

    twice([&](void *s, size_t &b) { return cub::DeviceRadixSort::SortKeys(s, b, in, out, 128); });
    twice([&](void *s, size_t &b) { return cub::DeviceRunLengthEncode::Encode(s, b, out, in, in + 64, values, 128); });
    fetch(values, 1);
    TRUE(host[0] == 43);
    fetch(in, 128);
    TRUE(host[42] == 42 && host[64] == 3 && host[64 + 42] == 2);
    twice([&](void *s, size_t &b) { return cub::DeviceHistogram::HistogramEven(s, b, out, values, 4, 0, 30, 128); });
    twice([&](void *s, size_t &b) { return cub::DeviceSegmentedReduce::Sum(s, b, out, values + 3, 2, counting, counting + 1); });
    twice([&](void *s, size_t &b) { return cub::DevicePartition::If(s, b, counting, values + 6, values + 5, 4, Odd()); });
    fetch(values, 10);
    TRUE(host[0] == 30 && host[2] == 30 && host[3] == 0 && host[5] == 2 && host[6] == 1 && host[8] == 2 && host[9] == 0);
    twice([&](void *s, size_t &b) { return cub::DeviceReduce::ReduceByKey(s, b, out, in, counting, in + 64, values, cub::Sum(), 6); });
    fetch(in, 66);
    TRUE(host[1] == 1 && host[64] == 3 && host[65] == 12);
    cudaFree(in), cudaFree(out), cudaFree(values);
    printf("%d failures\n", failures);
}
