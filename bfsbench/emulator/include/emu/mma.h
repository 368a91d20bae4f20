// Matrix fragments of warps (nvcuda::wmma) in software. A fragment's elements are spread over the 32 lanes: lane l
// holds the elements l, l + 32, l + 64 and so on of the tile, counted row by row. CUDA does not say which lane holds
// which element.
#pragma once

#include "block.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
    static constexpr bool kIsA = std::is_same_v<Use, matrix_a>, kIsB = std::is_same_v<Use, matrix_b>;

  public:
    using element_type = std::conditional_t<std::is_same_v<T, precision::tf32>, float, T>;
    static constexpr int kRows = kIsB ? k : m, kColumns = kIsA ? k : n;
    static constexpr int num_elements = kRows * kColumns / emu::kWarpSize;
    static_assert(kRows * kColumns % emu::kWarpSize == 0 && (kIsA || kIsB || std::is_same_v<Use, accumulator>), "there is no fragment of this shape");
    element_type x[num_elements];
};

// Calls use(i, row, column) for each element x[i] that the calling lane holds.
template <class Fragment, class Use>
void each_element(const Fragment&, Use use) {
    for (int i = 0; i < Fragment::num_elements; ++i) {
        int at = i * emu::kWarpSize + static_cast<int>(emu::lane());
        use(i, at / Fragment::kColumns, at % Fragment::kColumns);
    }
}

template <class Use, int m, int n, int k, class T, class Layout, class Value>
void fill_fragment(fragment<Use, m, n, k, T, Layout>& to, const Value& value) {
    for (auto& x : to.x) x = value;
}
template <class Use, int m, int n, int k, class T, class Layout, class Memory>
void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& to, const Memory* from, unsigned stride) {
    static_assert(!std::is_void_v<Layout>, "the load of an accumulator needs a layout");
    constexpr bool kByRows = std::is_same_v<Layout, row_major>;
    each_element(to, [&](int i, int row, int column) { to.x[i] = from[kByRows ? row * stride + column : column * stride + row]; });
    __syncwarp();
}
template <int m, int n, int k, class T>
void load_matrix_sync(fragment<accumulator, m, n, k, T>& to, const T* from, unsigned stride, layout_t layout) {
    each_element(to, [&](int i, int row, int column) { to.x[i] = from[layout == mem_row_major ? row * stride + column : column * stride + row]; });
    __syncwarp();
}
template <int m, int n, int k, class T>
void store_matrix_sync(T* to, const fragment<accumulator, m, n, k, T>& from, unsigned stride, layout_t layout) {
    each_element(from, [&](int i, int row, int column) { to[layout == mem_row_major ? row * stride + column : column * stride + row] = from.x[i]; });
    __syncwarp();
}

// Computes d = a * b + c. The lanes first exchange the elements of a and b, so that each lane has both matrices.
template <int m, int n, int k, class T, class LayoutA, class LayoutB, class ItemD, class ItemC>
void mma_sync(fragment<accumulator, m, n, k, ItemD>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a, const fragment<matrix_b, m, n, k, T, LayoutB>& b,
              const fragment<accumulator, m, n, k, ItemC>& c, bool saturates = false) {
    using Sum = std::conditional_t<std::is_integral_v<ItemC>, long long, std::conditional_t<std::is_same_v<ItemC, double>, double, float>>;
    Sum left[m * k], right[k * n];
    auto gather = [](const auto& from, Sum* all) {
        for (int i = 0; i < from.num_elements; ++i) {
            for (int lane = 0; lane < emu::kWarpSize; ++lane) all[i * emu::kWarpSize + lane] = static_cast<Sum>(__shfl_sync(~0u, from.x[i], lane));
        }
    };
    gather(a, left);
    gather(b, right);
    each_element(d, [&](int i, int row, int column) {
        Sum sum = static_cast<Sum>(c.x[i]);
        for (int j = 0; j < k; ++j) sum += left[row * k + j] * right[j * n + column];
        if constexpr (std::is_integral_v<ItemC>) {
            if (saturates) sum = sum < INT_MIN ? INT_MIN : sum > INT_MAX ? INT_MAX : sum;
        }
        d.x[i] = static_cast<ItemD>(sum);
    });
}
inline float __float_to_tf32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = (bits + 0x1000) & ~0x1fffu;
    return memcpy(&x, &bits, 4), x;
}

}  // namespace nvcuda::wmma
