// The device-wide functions of cub. Each of these functions runs as a kernel of one thread.
#pragma once

#include "cub.h"

namespace cub {

// Runs `body` as a kernel of one thread.
template <class Body>
void run_alone(Body body) {
    struct Tag {};
    if (emu::launching()) return emu::launch_self<Tag, static_cast<void (*)(Body)>(run_alone<Body>)>("cub", 0, dim3(1), body);
    body();
}
template <class Body>
cudaError_t on_device(void* storage, size_t& bytes, cudaStream_t stream, Body body) {
    if (!storage) {
        bytes = 1;
        return cudaSuccess;
    }
    emu::Configured configured(emu::LaunchShape(1, 1, 0, stream));
    run_alone(body);
    return cudaPeekAtLastError();
}
template <class In>
using ValueOf = std::decay_t<decltype(*std::declval<In>())>;

struct DeviceReduce {
    template <class In, class Out, class Size, class Op, class T>
    static cudaError_t Reduce(void* storage, size_t& bytes, In in, Out out, Size count, Op op, T initial, cudaStream_t stream = 0) {
        return on_device(storage, bytes, stream, [=]() mutable {
            T total = initial;
            for (Size i = 0; i < count; ++i) total = op(total, in[i]);
            *out = total;
        });
    }
    template <class In, class Out, class Size>
    static cudaError_t Sum(void* storage, size_t& bytes, In in, Out out, Size count, cudaStream_t stream = 0) {
        return Reduce(storage, bytes, in, out, count, cub::Sum(), ValueOf<Out>(), stream);
    }
    template <class In, class Out, class Size>
    static cudaError_t Min(void* storage, size_t& bytes, In in, Out out, Size count, cudaStream_t stream = 0) {
        return Reduce(storage, bytes, in, out, count, cub::Min(), std::numeric_limits<ValueOf<In>>::max(), stream);
    }
    template <class In, class Out, class Size>
    static cudaError_t Max(void* storage, size_t& bytes, In in, Out out, Size count, cudaStream_t stream = 0) {
        return Reduce(storage, bytes, in, out, count, cub::Max(), std::numeric_limits<ValueOf<In>>::lowest(), stream);
    }
    template <class In, class Out, class Size>
    static cudaError_t ArgMin(void* storage, size_t& bytes, In in, Out out, Size count, cudaStream_t stream = 0) {
        return extreme(storage, bytes, in, out, count, cub::ArgMin(), stream);
    }
    template <class In, class Out, class Size>
    static cudaError_t ArgMax(void* storage, size_t& bytes, In in, Out out, Size count, cudaStream_t stream = 0) {
        return extreme(storage, bytes, in, out, count, cub::ArgMax(), stream);
    }

    template <class Keys, class KeysOut, class In, class Out, class Count, class Op, class Size>
    static cudaError_t ReduceByKey(void* storage, size_t& bytes, Keys keys, KeysOut keys_out, In in, Out out, Count runs, Op op, Size count, cudaStream_t stream = 0) {
        return on_device(storage, bytes, stream, [=]() mutable {
            Size found = 0;
            for (Size i = 0; i < count; ++found) {
                Size begin = i;
                ValueOf<In> total = in[i];
                while (++i < count && keys[i] == keys[begin]) total = op(total, in[i]);
                keys_out[found] = keys[begin];
                out[found] = total;
            }
            *runs = found;
        });
    }

  private:
    template <class In, class Out, class Size, class Op>
    static cudaError_t extreme(void* storage, size_t& bytes, In in, Out out, Size count, Op op, cudaStream_t stream) {
        using Pair = KeyValuePair<int, ValueOf<In>>;
        return on_device(storage, bytes, stream, [=]() mutable {
            Pair best(0, in[0]);
            for (Size i = 1; i < count; ++i) best = op(best, Pair(static_cast<int>(i), in[i]));
            *out = best;
        });
    }
};

struct DeviceScan {
    template <class In, class Out, class Op, class T, class Size>
    static cudaError_t ExclusiveScan(void* storage, size_t& bytes, In in, Out out, Op op, T initial, Size count, cudaStream_t stream = 0) {
        return on_device(storage, bytes, stream, [=]() mutable {
            T sum = initial;
            for (Size i = 0; i < count; ++i) {
                auto value = in[i];
                out[i] = sum;
                sum = op(sum, value);
            }
        });
    }
    template <class In, class Out, class Op, class Size>
    static cudaError_t InclusiveScan(void* storage, size_t& bytes, In in, Out out, Op op, Size count, cudaStream_t stream = 0) {
        return on_device(storage, bytes, stream, [=]() mutable {
            if (!count) return;
            ValueOf<In> sum = in[0];
            out[0] = sum;
            for (Size i = 1; i < count; ++i) out[i] = sum = op(sum, in[i]);
        });
    }
    template <class In, class Out, class Size>
    static cudaError_t ExclusiveSum(void* storage, size_t& bytes, In in, Out out, Size count, cudaStream_t stream = 0) {
        return ExclusiveScan(storage, bytes, in, out, cub::Sum(), ValueOf<In>(), count, stream);
    }
    template <class In, class Out, class Size>
    static cudaError_t InclusiveSum(void* storage, size_t& bytes, In in, Out out, Size count, cudaStream_t stream = 0) {
        return InclusiveScan(storage, bytes, in, out, cub::Sum(), count, stream);
    }
};

// Chooses items by flags or by a function. The function choose() of the class Kind decides what happens
// to the items.
template <class Kind>
struct Choice {
    template <class In, class Flags, class Out, class Count, class Size>
    static cudaError_t Flagged(void* storage, size_t& bytes, In in, Flags flags, Out out, Count chosen, Size count, cudaStream_t stream = 0) {
        return Kind::choose(storage, bytes, in, out, chosen, count, stream, [=](Size i) { return bool(flags[i]); });
    }
    template <class In, class Out, class Count, class Size, class Op>
    static cudaError_t If(void* storage, size_t& bytes, In in, Out out, Count chosen, Size count, Op op, cudaStream_t stream = 0) {
        return Kind::choose(storage, bytes, in, out, chosen, count, stream, [=](Size i) mutable { return bool(op(in[i])); });
    }
};

struct DeviceSelect : Choice<DeviceSelect> {
    template <class In, class Out, class Count, class Size>
    static cudaError_t Unique(void* storage, size_t& bytes, In in, Out out, Count chosen, Size count, cudaStream_t stream = 0) {
        return choose(storage, bytes, in, out, chosen, count, stream, [=](Size i) { return i == 0 || !(in[i] == in[i - 1]); });
    }

  private:
    friend Choice<DeviceSelect>;
    template <class In, class Out, class Count, class Size, class Test>
    static cudaError_t choose(void* storage, size_t& bytes, In in, Out out, Count chosen, Size count, cudaStream_t stream, Test test) {
        return on_device(storage, bytes, stream, [=]() mutable {
            Size found = 0;
            for (Size i = 0; i < count; ++i) if (test(i)) out[found++] = in[i];
            *chosen = found;
        });
    }
};

struct DeviceRunLengthEncode {
    template <class In, class Out, class Lengths, class Count, class Size>
    static cudaError_t Encode(void* storage, size_t& bytes, In in, Out out, Lengths lengths, Count runs, Size count, cudaStream_t stream = 0) {
        return on_device(storage, bytes, stream, [=]() mutable {
            Size found = 0;
            for (Size i = 0, begin = 0; i < count; begin = i, ++found) {
                while (i < count && in[i] == in[begin]) ++i;
                out[found] = in[begin];
                lengths[found] = i - begin;
            }
            *runs = found;
        });
    }
};

struct DevicePartition : Choice<DevicePartition> {
  private:
    friend Choice<DevicePartition>;
    // Stores the items that `test` chooses, in order, and after them all other items, in reverse order.
    template <class In, class Out, class Count, class Size, class Test>
    static cudaError_t choose(void* storage, size_t& bytes, In in, Out out, Count chosen, Size count, cudaStream_t stream, Test test) {
        return on_device(storage, bytes, stream, [=]() mutable {
            Size found = 0, last = count;
            for (Size i = 0; i < count; ++i) out[test(i) ? found++ : --last] = in[i];
            *chosen = found;
        });
    }
};

// Reduces segments of an array. Segment number s consists of the items begin[s] to end[s] - 1.
struct DeviceSegmentedReduce {
    template <class In, class Out, class Begin, class End, class Op, class T>
    static cudaError_t Reduce(void* storage, size_t& bytes, In in, Out out, int segments, Begin begin, End end, Op op, T initial, cudaStream_t stream = 0) {
        return on_device(storage, bytes, stream, [=]() mutable {
            for (int segment = 0; segment < segments; ++segment) {
                T total = initial;
                for (auto i = begin[segment]; i < end[segment]; ++i) total = op(total, in[i]);
                out[segment] = total;
            }
        });
    }
    template <class In, class Out, class Begin, class End>
    static cudaError_t Sum(void* storage, size_t& bytes, In in, Out out, int segments, Begin begin, End end, cudaStream_t stream = 0) {
        return Reduce(storage, bytes, in, out, segments, begin, end, cub::Sum(), ValueOf<Out>(), stream);
    }
    template <class In, class Out, class Begin, class End>
    static cudaError_t Max(void* storage, size_t& bytes, In in, Out out, int segments, Begin begin, End end, cudaStream_t stream = 0) {
        return Reduce(storage, bytes, in, out, segments, begin, end, cub::Max(), std::numeric_limits<ValueOf<In>>::lowest(), stream);
    }
    template <class In, class Out, class Begin, class End>
    static cudaError_t Min(void* storage, size_t& bytes, In in, Out out, int segments, Begin begin, End end, cudaStream_t stream = 0) {
        return Reduce(storage, bytes, in, out, segments, begin, end, cub::Min(), std::numeric_limits<ValueOf<In>>::max(), stream);
    }
};

// Counts the samples in each of `levels` - 1 bins, which have equal widths or the given bounds.
struct DeviceHistogram {
    template <class In, class Count, class Level, class Size>
    static cudaError_t HistogramEven(void* storage, size_t& bytes, In in, Count* bins, int levels, Level lower, Level upper, Size count, cudaStream_t stream = 0) {
        return fill(storage, bytes, in, bins, levels, count, stream, [=](auto sample) {
            if (!(sample >= lower && sample < upper)) return -1;
            if constexpr (std::is_floating_point_v<Level>) return static_cast<int>((sample - lower) * ((levels - 1) / (upper - lower)));
            else return static_cast<int>(static_cast<long long>(sample - lower) * (levels - 1) / (upper - lower));
        });
    }
    template <class In, class Count, class Level, class Size>
    static cudaError_t HistogramRange(void* storage, size_t& bytes, In in, Count* bins, int levels, const Level* bounds, Size count, cudaStream_t stream = 0) {
        return fill(storage, bytes, in, bins, levels, count, stream, [=](auto sample) { return static_cast<int>(std::upper_bound(bounds, bounds + levels, sample) - bounds) - 1; });
    }

  private:
    template <class In, class Count, class Size, class Bin>
    static cudaError_t fill(void* storage, size_t& bytes, In in, Count* bins, int levels, Size count, cudaStream_t stream, Bin bin) {
        return on_device(storage, bytes, stream, [=]() mutable {
            for (int i = 0; i < levels - 1; ++i) bins[i] = 0;
            for (Size i = 0; i < count; ++i) {
                int place = bin(in[i]);
                if (place >= 0 && place < levels - 1) ++bins[place];
            }
        });
    }
};

template <class T>
struct DoubleBuffer {
    T* d_buffers[2] = {};
    int selector = 0;
    DoubleBuffer() = default;
    DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
    T* Current() { return d_buffers[selector]; }
    T* Alternate() { return d_buffers[selector ^ 1]; }
};

struct DeviceRadixSort {
#define EMU_SORT(keys_name, pairs_name, descending)                                                                               \
    template <class KeyT, class Size>                                                                                            \
    static cudaError_t keys_name(void* storage, size_t& bytes, const KeyT* in, KeyT* out, Size count, int begin = 0,              \
                                 int end = sizeof(KeyT) * 8, cudaStream_t stream = 0) {                                           \
        return sort(storage, bytes, in, out, static_cast<const char*>(nullptr), static_cast<char*>(nullptr), count, begin, end, descending, stream); \
    }                                                                                                                            \
    template <class KeyT, class ValueT, class Size>                                                                              \
    static cudaError_t pairs_name(void* storage, size_t& bytes, const KeyT* in, KeyT* out, const ValueT* values, ValueT* values_out, Size count, \
                                  int begin = 0, int end = sizeof(KeyT) * 8, cudaStream_t stream = 0) {                           \
        return sort(storage, bytes, in, out, values, values_out, count, begin, end, descending, stream);                          \
    }                                                                                                                            \
    template <class KeyT, class Size>                                                                                            \
    static cudaError_t keys_name(void* storage, size_t& bytes, DoubleBuffer<KeyT>& keys, Size count, int begin = 0,               \
                                 int end = sizeof(KeyT) * 8, cudaStream_t stream = 0) {                                           \
        return keys_name(storage, bytes, keys.Current(), keys.Current(), count, begin, end, stream);                              \
    }                                                                                                                            \
    template <class KeyT, class ValueT, class Size>                                                                              \
    static cudaError_t pairs_name(void* storage, size_t& bytes, DoubleBuffer<KeyT>& keys, DoubleBuffer<ValueT>& values, Size count, \
                                  int begin = 0, int end = sizeof(KeyT) * 8, cudaStream_t stream = 0) {                           \
        return pairs_name(storage, bytes, keys.Current(), keys.Current(), values.Current(), values.Current(), count, begin, end, stream); \
    }
    EMU_SORT(SortKeys, SortPairs, false)
    EMU_SORT(SortKeysDescending, SortPairsDescending, true)
#undef EMU_SORT

  private:
    template <class KeyT, class ValueT, class Size>
    static cudaError_t sort(void* storage, size_t& bytes, const KeyT* in, KeyT* out, const ValueT* values, ValueT* values_out, Size count,
                            int begin, int end, bool descending, cudaStream_t stream) {
        return on_device(storage, bytes, stream, [=] {
            for (Size i = 0; i < count && in != out; ++i) out[i] = in[i];
            for (Size i = 0; i < count && values != values_out; ++i) values_out[i] = values[i];
            sort_pairs(out, values_out, 0, count, LessInBits<KeyT>{begin, end, descending});
        });
    }
};

}  // namespace cub
