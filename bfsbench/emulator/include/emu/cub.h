// A small replacement for NVIDIA's library cub. The block-wide and warp-wide functions exchange values through
// the caller's temporary storage, and one thread combines the values in the order of the threads' ranks.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <type_traits>

#include "kernel.h"

#ifndef CubDebug
#define CubDebug(e) (e)
#define CubDebugExit(e) do { if ((e) != cudaSuccess) exit(1); } while (0)
#endif
#define CUB_MIN(a, b) ((b) < (a) ? (b) : (a))
#define CUB_MAX(a, b) ((a) < (b) ? (b) : (a))

namespace cub {

struct NullType {};

struct CachingDeviceAllocator {
    template <class... Bounds> explicit CachingDeviceAllocator(Bounds...) {}
    cudaError_t DeviceAllocate(void** place, size_t bytes, cudaStream_t = 0) { return cudaMalloc(place, bytes); }
    cudaError_t DeviceFree(void* place) { return cudaFree(place); }
};

template <class KeyT, class ValueT>
struct KeyValuePair {
    using Key = KeyT;
    using Value = ValueT;
    KeyT key;
    ValueT value;
    KeyValuePair() = default;
    KeyValuePair(const KeyT& key, const ValueT& value) : key(key), value(value) {}
};

struct Sum {
    template <class Left, class Right> auto operator()(const Left& a, const Right& b) const { return a + b; }
};
struct Max {
    template <class Left, class Right> std::common_type_t<Left, Right> operator()(const Left& a, const Right& b) const { return a < b ? b : a; }
};
struct Min {
    template <class Left, class Right> std::common_type_t<Left, Right> operator()(const Left& a, const Right& b) const { return b < a ? b : a; }
};
struct Equality {
    template <class Left, class Right> bool operator()(const Left& a, const Right& b) const { return a == b; }
};
struct Inequality {
    template <class Left, class Right> bool operator()(const Left& a, const Right& b) const { return !(a == b); }
};
// Returns the pair with the larger value of two key-value pairs. If the values are equal, returns the pair
// with the smaller key.
struct ArgMax {
    template <class T> T operator()(const T& a, const T& b) const {
        return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class T> T operator()(const T& a, const T& b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

// TwiddleIn() turns the bits of a number of type T into an unsigned number. The unsigned numbers sort in the
// same order as the original numbers. TwiddleOut() reverses this.
template <class T>
struct Traits {
    using UnsignedBits = std::conditional_t<sizeof(T) == 1, unsigned char, std::conditional_t<sizeof(T) == 2, unsigned short,
                         std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>>;
    static constexpr UnsignedBits kSign = UnsignedBits(1) << (sizeof(T) * 8 - 1);
    static constexpr bool kInteger = std::is_integral_v<T>;
    static UnsignedBits TwiddleIn(UnsignedBits key) {
        if (kInteger) return std::is_signed_v<T> ? key ^ kSign : key;
        return key & kSign ? ~key : key ^ kSign;
    }
    static UnsignedBits TwiddleOut(UnsignedBits key) {
        if (kInteger) return std::is_signed_v<T> ? key ^ kSign : key;
        return key & kSign ? key ^ kSign : ~key;
    }
};

// Compares keys by their bits `begin` to `end` - 1, after TwiddleIn() has turned the keys into unsigned
// numbers.
template <class T>
struct LessInBits {
    int begin, end;
    bool descending;
    auto bits(const T& key) const {
        using Bits = typename Traits<T>::UnsignedBits;
        Bits word = 0;
        memcpy(&word, &key, sizeof key);
        if (std::is_floating_point_v<T> && key == T(0)) word = 0;  // -0 equals 0
        word = Traits<T>::TwiddleIn(word) >> begin;
        return end - begin < int(sizeof(T) * 8) ? Bits(word & ((Bits(1) << (end - begin)) - 1)) : word;
    }
    bool operator()(const T& a, const T& b) const { return descending ? bits(b) < bits(a) : bits(a) < bits(b); }
};

// Merges the sorted ranges `first` to `middle` - 1 and `middle` to `last` - 1 in place, by rotations.
template <class KeyT, class ValueT>
void merge_pairs(KeyT* keys, ValueT* values, int64_t first, int64_t middle, int64_t last, const LessInBits<KeyT>& less) {
    if (first == middle || middle == last || !less(keys[middle], keys[middle - 1])) return;
    if (last - first == 2) {
        std::swap(keys[first], keys[middle]);
        if (values) std::swap(values[first], values[middle]);
        return;
    }
    bool left_is_longer = middle - first > last - middle;
    int64_t a, b;
    if (left_is_longer) {
        a = first + (middle - first) / 2;
        b = std::lower_bound(keys + middle, keys + last, keys[a], less) - keys;
    } else {
        b = middle + (last - middle) / 2;
        a = std::upper_bound(keys + first, keys + middle, keys[b], less) - keys;
    }
    std::rotate(keys + a, keys + middle, keys + b);
    if (values) std::rotate(values + a, values + middle, values + b);
    int64_t seam = a + (b - middle);
    merge_pairs(keys, values, first, a, seam, less);
    merge_pairs(keys, values, seam, b, last, less);
}

// Sorts the keys `first` to `last` - 1, and moves their values with them unless `values` is null. Keys that
// compare equal keep their order. The function is a merge sort that needs no other memory.
template <class KeyT, class ValueT>
void sort_pairs(KeyT* keys, ValueT* values, int64_t first, int64_t last, const LessInBits<KeyT>& less) {
    if (last - first < 2) return;
    int64_t middle = first + (last - first) / 2;
    sort_pairs(keys, values, first, middle, less);
    sort_pairs(keys, values, middle, last, less);
    merge_pairs(keys, values, first, middle, last, less);
}

// The temporary storage of a block-wide or warp-wide operation: one value per thread, and the total of all
// threads.
template <class T, int kCount>
struct Storage {
    alignas(T) char values[kCount + 1][sizeof(T)];
    T& operator[](int i) { return *reinterpret_cast<T*>(values[i]); }
    Storage& Alias() { return *this; }
};

// Base class of operations of kCount threads. They are warp-wide operations if `kWarp` is true, else block-wide.
template <class T, int kCount, bool kWarp>
class Collective {
  public:
    using TempStorage = Storage<T, kCount>;
    explicit Collective(TempStorage& storage) : storage_(storage) {}
    Collective() : storage_(emu::shared_variable<TempStorage, Collective, emu::device_functions, alignof(T)>()) {}

  protected:
    static int rank() { return emu::rank() % kCount; }
    static void sync() {
        if constexpr (!kWarp) return __syncthreads();
        __syncwarp((~0u >> (emu::kWarpSize - (kWarp ? kCount : 32))) << (emu::lane() / kCount * kCount));
    }
    // Returns how many threads of the warp or block take part in an operation.
    static int present() { return kWarp ? kCount : std::min<int>(kCount, emu::volume(emu::block_shape())); }

    template <class Op>
    T combine(T value, Op op, int valid = kCount) {
        storage_[rank()] = value;
        sync();
        if (rank()) return value;
        for (int i = 1, end = std::min(valid, present()); i < end; ++i) value = op(value, storage_[i]);
        return value;
    }
    // Exclusive scan: returns the values of all threads with lower ranks, combined by `op`. Sets `total`
    // to the combined values of all threads. If `has_first` is true, the scan starts with the value
    // first(total). Even if it is false, the thread with rank 0 gets first(total).
    template <class Op, class First>
    T before(T value, Op op, T& total, First first, bool has_first) {
        storage_[rank()] = value;
        sync();
        if (rank() == 0) {
            T all = storage_[0];
            for (int i = 1; i < present(); ++i) all = op(all, storage_[i]);
            T sum = first(all);
            for (int i = 0; i < present(); ++i) {
                T own = storage_[i];
                storage_[i] = sum;
                sum = i || has_first ? op(sum, own) : own;
            }
            storage_[kCount] = all;
        }
        sync();
        total = storage_[kCount];
        return storage_[rank()];
    }
    template <int kItems, class Op, class First>
    void scan(const T (&in)[kItems], T (&out)[kItems], Op op, T& total, bool inclusive, bool has_first, First first) {
        T own = in[0];
        for (int i = 1; i < kItems; ++i) own = op(own, in[i]);
        T sum = before(own, op, total, first, has_first);
        bool has_sum = has_first || rank();
        for (int i = 0; i < kItems; ++i) {
            T value = in[i], next = has_sum ? op(sum, value) : value;
            out[i] = inclusive ? next : sum;
            sum = next;
            has_sum = true;
        }
    }
    TempStorage& storage_;
};

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int kCount, bool kWarp>
class Reduction : public Collective<T, kCount, kWarp> {
  public:
    using Collective<T, kCount, kWarp>::Collective;
    template <class Op> T Reduce(T value, Op op) { return this->combine(value, op); }
    template <class Op> T Reduce(T value, Op op, int valid) { return this->combine(value, op, valid); }
    template <class Op, int kItems> T Reduce(T (&items)[kItems], Op op) {
        T own = items[0];
        for (int i = 1; i < kItems; ++i) own = op(own, items[i]);
        return this->combine(own, op);
    }
    T Sum(T value) { return Reduce(value, cub::Sum()); }
    T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
    template <int kItems> T Sum(T (&items)[kItems]) { return Reduce(items, cub::Sum()); }
};
template <class T, int kX, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int kY = 1, int kZ = 1, int = 0>
using BlockReduce = Reduction<T, kX * kY * kZ, false>;
template <class T, int kLanes = 32, int = 0>
using WarpReduce = Reduction<T, kLanes, true>;

template <class T, int kCount, bool kWarp>
class Scan : public Collective<T, kCount, kWarp> {
    static T zero(const T&) { return T{}; }
    template <int kItems> using Items = T[kItems];
    static Items<1>& one(T& value) { return reinterpret_cast<Items<1>&>(value); }

  public:
    using Collective<T, kCount, kWarp>::Collective;
    // Each use of EMU_SCAN defines two overloads: one for an array of items per thread, and one for a single
    // item.
#define EMU_SCAN(name, parameters, op, total, inclusive, has_first, first)                                \
    template <class... Own, int kItems EMU_MORE>                                                         \
    void name(const T (&in)[kItems], T (&out)[kItems] parameters) {                                      \
        [[maybe_unused]] T unused;                                                                       \
        this->scan(in, out, op, total, inclusive, has_first, first);                                     \
    }                                                                                                    \
    template <class... Own EMU_MORE>                                                                     \
    void name(T in, T& out parameters) {                                                                 \
        [[maybe_unused]] T unused;                                                                       \
        this->scan(one(in), one(out), op, total, inclusive, has_first, first);                           \
    }
#define EMU_AND ,
#define EMU_MORE
    EMU_SCAN(ExclusiveSum, , cub::Sum(), unused, false, true, zero)
    EMU_SCAN(ExclusiveSum, EMU_AND T& total, cub::Sum(), total, false, true, zero)
    EMU_SCAN(InclusiveSum, , cub::Sum(), unused, true, false, zero)
    EMU_SCAN(InclusiveSum, EMU_AND T& total, cub::Sum(), total, true, false, zero)
#undef EMU_MORE
#define EMU_MORE , class Op
    EMU_SCAN(ExclusiveScan, EMU_AND T initial EMU_AND Op op, op, unused, false, true, [&](const T&) { return initial; })
    EMU_SCAN(ExclusiveScan, EMU_AND T initial EMU_AND Op op EMU_AND T& total, op, total, false, true, [&](const T&) { return initial; })
    EMU_SCAN(ExclusiveScan, EMU_AND Op op, op, unused, false, false, zero)
    EMU_SCAN(InclusiveScan, EMU_AND Op op, op, unused, true, false, zero)
    EMU_SCAN(InclusiveScan, EMU_AND Op op EMU_AND T& total, op, total, true, false, zero)
#undef EMU_MORE
#define EMU_MORE , class Op, class Prefix, class = decltype(std::declval<Prefix&>()(std::declval<T>()))
    // The function `prefix` takes the total of the block's items. It returns the value with which the block's
    // scan starts.
    EMU_SCAN(ExclusiveScan, EMU_AND Op op EMU_AND Prefix& prefix, op, unused, false, true, prefix)
    EMU_SCAN(InclusiveScan, EMU_AND Op op EMU_AND Prefix& prefix, op, unused, true, true, prefix)
#undef EMU_MORE
#define EMU_MORE , class Prefix, class = decltype(std::declval<Prefix&>()(std::declval<T>()))
    EMU_SCAN(ExclusiveSum, EMU_AND Prefix& prefix, cub::Sum(), unused, false, true, prefix)
    EMU_SCAN(InclusiveSum, EMU_AND Prefix& prefix, cub::Sum(), unused, true, true, prefix)
#undef EMU_MORE
#undef EMU_AND
#undef EMU_SCAN
};
template <class T, int kX, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int kY = 1, int kZ = 1, int = 0>
using BlockScan = Scan<T, kX * kY * kZ, false>;
template <class T, int kLanes = 32, int = 0>
using WarpScan = Scan<T, kLanes, true>;

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};
struct NoStorage {};

// Copies items between an array and the threads of a block. Each thread copies consecutive items, or, if
// `kStriped` is true, every kThreads-th item.
template <int kThreads, int kItems, bool kStriped>
class Transfer {
  public:
    using TempStorage = NoStorage;
    Transfer() = default;
    explicit Transfer(TempStorage&) {}
    template <class In, class T> void Load(In in, T (&items)[kItems]) {
        for (int i = 0; i < kItems; ++i) items[i] = in[place(i)];
    }
    template <class In, class T> void Load(In in, T (&items)[kItems], int valid) {
        for (int i = 0; i < kItems; ++i) if (place(i) < valid) items[i] = in[place(i)];
    }
    template <class In, class T, class Other> void Load(In in, T (&items)[kItems], int valid, Other other) {
        for (int i = 0; i < kItems; ++i) items[i] = place(i) < valid ? T(in[place(i)]) : T(other);
    }
    template <class Out, class T> void Store(Out out, T (&items)[kItems], int valid = kThreads * kItems) {
        for (int i = 0; i < kItems; ++i) if (place(i) < valid) out[place(i)] = items[i];
    }

  private:
    static int place(int i) { return kStriped ? int(emu::rank()) + i * kThreads : int(emu::rank()) * kItems + i; }
};
template <class T, int kX, int kItems, BlockLoadAlgorithm kHow = BLOCK_LOAD_DIRECT, int kY = 1, int kZ = 1, int = 0>
using BlockLoad = Transfer<kX * kY * kZ, kItems, kHow == BLOCK_LOAD_STRIPED>;
template <class T, int kX, int kItems, BlockStoreAlgorithm kHow = BLOCK_STORE_DIRECT, int kY = 1, int kZ = 1, int = 0>
using BlockStore = Transfer<kX * kY * kZ, kItems, kHow == BLOCK_STORE_STRIPED>;

template <class T, int kX, int kItems, bool = false, int kY = 1, int kZ = 1, int = 0>
class BlockExchange : public Collective<T, kX * kY * kZ * kItems, false> {
    static constexpr int kThreads = kX * kY * kZ;
    template <class From, class To> void move(const T (&in)[kItems], T (&out)[kItems], From from, To to) {
        for (int i = 0; i < kItems; ++i) this->storage_[from(i)] = in[i];
        __syncthreads();
        for (int i = 0; i < kItems; ++i) out[i] = this->storage_[to(i)];
    }
    static int striped(int i) { return emu::rank() + i * kThreads; }
    static int blocked(int i) { return emu::rank() * kItems + i; }

  public:
    using Collective<T, kX * kY * kZ * kItems, false>::Collective;
    void StripedToBlocked(const T (&in)[kItems], T (&out)[kItems]) { move(in, out, striped, blocked); }
    void BlockedToStriped(const T (&in)[kItems], T (&out)[kItems]) { move(in, out, blocked, striped); }
    template <class Ranks> void ScatterToBlocked(const T (&in)[kItems], T (&out)[kItems], Ranks (&ranks)[kItems]) {
        move(in, out, [&](int i) { return int(ranks[i]); }, blocked);
    }
    template <class Ranks> void ScatterToStriped(const T (&in)[kItems], T (&out)[kItems], Ranks (&ranks)[kItems]) {
        move(in, out, [&](int i) { return int(ranks[i]); }, striped);
    }
};

// Combines each item with its left or right neighbour. An item without this neighbour stays as it is. Items
// from index `valid` on stay as they are, too.
template <class T, int kX, int kY = 1, int kZ = 1>
class BlockAdjacentDifference : public Collective<T, kX * kY * kZ, false> {
    static constexpr int kThreads = kX * kY * kZ;
    template <int kItems, class Out, class Op>
    void left(T (&in)[kItems], Out (&out)[kItems], Op op, int valid, T* before) {
        int place = emu::rank() * kItems;
        this->storage_[emu::rank()] = in[kItems - 1];
        __syncthreads();
        for (int i = kItems - 1; i >= 0; --i) {  // backwards, because `in` and `out` may be one array
            T* other = i ? &in[i - 1] : place ? &this->storage_[emu::rank() - 1] : before;
            out[i] = other && place + i < valid ? Out(op(in[i], *other)) : Out(in[i]);
        }
    }
    template <int kItems, class Out, class Op>
    void right(T (&in)[kItems], Out (&out)[kItems], Op op, int valid, T* after) {
        int place = emu::rank() * kItems;
        this->storage_[emu::rank()] = in[0];
        __syncthreads();
        for (int i = 0; i < kItems; ++i) {
            bool last = place + i + 1 >= valid;
            T* other = last ? after : i + 1 < kItems ? &in[i + 1] : &this->storage_[emu::rank() + 1];
            out[i] = other && place + i < valid ? Out(op(in[i], *other)) : Out(in[i]);
        }
    }

  public:
    using Collective<T, kThreads, false>::Collective;
    template <int kItems, class Out, class Op> void SubtractLeft(T (&in)[kItems], Out (&out)[kItems], Op op) {
        left(in, out, op, kThreads * kItems, nullptr);
    }
    template <int kItems, class Out, class Op> void SubtractLeft(T (&in)[kItems], Out (&out)[kItems], Op op, T before) {
        left(in, out, op, kThreads * kItems, &before);
    }
    template <int kItems, class Out, class Op> void SubtractLeftPartialTile(T (&in)[kItems], Out (&out)[kItems], Op op, int valid) {
        left(in, out, op, valid, nullptr);
    }
    template <int kItems, class Out, class Op> void SubtractRight(T (&in)[kItems], Out (&out)[kItems], Op op) {
        right(in, out, op, kThreads * kItems, nullptr);
    }
    template <int kItems, class Out, class Op> void SubtractRight(T (&in)[kItems], Out (&out)[kItems], Op op, T after) {
        right(in, out, op, kThreads * kItems, &after);
    }
    template <int kItems, class Out, class Op> void SubtractRightPartialTile(T (&in)[kItems], Out (&out)[kItems], Op op, int valid) {
        right(in, out, op, valid, nullptr);
    }
};

// Sorts the keys of a block, and values with them. Thread 0 sorts the items of all threads.
template <class KeyT, int kX, int kItems = 1, class ValueT = NullType, int = 4, bool = true, BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, int = 0, int kY = 1, int kZ = 1, int = 0>
class BlockRadixSort {
    static constexpr int kThreads = kX * kY * kZ, kAll = kThreads * kItems;
    static int blocked(int i) { return emu::rank() * kItems + i; }
    static int striped(int i) { return emu::rank() + i * kThreads; }

  public:
    struct TempStorage {
        Storage<KeyT, kAll> keys;
        Storage<ValueT, kAll> values;
    };
    explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}
    BlockRadixSort() : storage_(emu::shared_variable<TempStorage, BlockRadixSort, emu::device_functions, alignof(TempStorage)>()) {}
#define EMU_SORT(name, descending, place)                                                                        \
    void name(KeyT (&keys)[kItems], int begin = 0, int end = sizeof(KeyT) * 8) {                                 \
        sort(keys, static_cast<ValueT(*)[kItems]>(nullptr), begin, end, descending, place);                      \
    }                                                                                                            \
    void name(KeyT (&keys)[kItems], ValueT (&values)[kItems], int begin = 0, int end = sizeof(KeyT) * 8) {       \
        sort(keys, &values, begin, end, descending, place);                                                      \
    }
    EMU_SORT(Sort, false, blocked)
    EMU_SORT(SortDescending, true, blocked)
    EMU_SORT(SortBlockedToStriped, false, striped)
    EMU_SORT(SortDescendingBlockedToStriped, true, striped)
#undef EMU_SORT

  private:
    template <class Place>
    void sort(KeyT (&keys)[kItems], ValueT (*values)[kItems], int begin, int end, bool descending, Place place) {
        for (int i = 0; i < kItems; ++i) storage_.keys[blocked(i)] = keys[i];
        for (int i = 0; i < kItems && values; ++i) storage_.values[blocked(i)] = (*values)[i];
        __syncthreads();
        if (emu::rank() == 0) sort_pairs(&storage_.keys[0], values ? &storage_.values[0] : nullptr, 0, kAll, LessInBits<KeyT>{begin, end, descending});
        __syncthreads();
        for (int i = 0; i < kItems; ++i) keys[i] = storage_.keys[place(i)];
        for (int i = 0; i < kItems && values; ++i) (*values)[i] = storage_.values[place(i)];
    }
    TempStorage& storage_;
};

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };
template <class T, int kX, int kItems, int kBins, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int kY = 1, int kZ = 1, int = 0>
class BlockHistogram {
  public:
    using TempStorage = NoStorage;
    BlockHistogram() = default;
    explicit BlockHistogram(TempStorage&) {}
    template <class Count> void InitHistogram(Count (&bins)[kBins]) {
        for (int i = emu::rank(); i < kBins; i += kX * kY * kZ) bins[i] = 0;
    }
    template <class Count> void Composite(T (&items)[kItems], Count (&bins)[kBins]) {
        for (T item : items) atomicAdd(&bins[static_cast<int>(item)], Count(1));
    }
    template <class Count> void Histogram(T (&items)[kItems], Count (&bins)[kBins]) {
        InitHistogram(bins);
        __syncthreads();
        Composite(items, bins);
    }
};

// Modifiers for caches have no effect, except that a volatile load or store is volatile.
enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };
template <CacheLoadModifier kHow, class In> auto ThreadLoad(In in) {
    if constexpr (kHow == LOAD_VOLATILE || kHow == LOAD_CV) return *const_cast<const volatile std::decay_t<decltype(*in)>*>(&*in);
    else return *in;
}
template <CacheStoreModifier kHow, class Out, class T> void ThreadStore(Out out, T value) {
    if constexpr (kHow == STORE_VOLATILE) *const_cast<volatile std::decay_t<decltype(*out)>*>(&*out) = value;
    else *out = value;
}
inline unsigned LaneId() { return emu::lane(); }
inline unsigned WarpId() { return emu::rank() / emu::kWarpSize; }
inline int RowMajorTid(int, int, int) { return static_cast<int>(emu::rank()); }

// Base class of iterators. The derived class defines at(i), which returns element i.
template <class Self, class T>
struct Indexed {
    using value_type = T;
    using reference = T;
    using pointer = T*;
    using difference_type = ptrdiff_t;
    using iterator_category = std::random_access_iterator_tag;
    ptrdiff_t offset = 0;
    T operator*() const { return (*this)[0]; }
    template <class Size> T operator[](Size i) const { return static_cast<const Self*>(this)->at(offset + i); }
    Self& operator++() { return *this += 1; }
    Self operator++(int) { Self old = static_cast<Self&>(*this); *this += 1; return old; }
    template <class Size> Self& operator+=(Size by) { offset += by; return static_cast<Self&>(*this); }
    template <class Size> Self operator+(Size by) const { Self other = static_cast<const Self&>(*this); other += by; return other; }
    ptrdiff_t operator-(const Self& other) const { return offset - other.offset; }
    bool operator==(const Self& other) const { return offset == other.offset; }
    bool operator!=(const Self& other) const { return offset != other.offset; }
};
template <class T, class = ptrdiff_t>
struct CountingInputIterator : Indexed<CountingInputIterator<T>, T> {
    T first;
    CountingInputIterator(T first) : first(first) {}
    T at(ptrdiff_t i) const { return first + static_cast<T>(i); }
};
template <class T, class = ptrdiff_t>
struct ConstantInputIterator : Indexed<ConstantInputIterator<T>, T> {
    T value;
    ConstantInputIterator(T value) : value(value) {}
    T at(ptrdiff_t) const { return value; }
};
template <class T, class Op, class In, class = ptrdiff_t>
struct TransformInputIterator : Indexed<TransformInputIterator<T, Op, In>, T> {
    In in;
    Op op;
    TransformInputIterator(In in, Op op) : in(in), op(op) {}
    T at(ptrdiff_t i) const { return op(in[i]); }
};

}  // namespace cub

#include "cub_device.h"
