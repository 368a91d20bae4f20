// The functions that implement inline PTX. The translator turns each PTX instruction into a call. A PTX
// register becomes a C++ variable of any type that has enough bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace emu::ptx {

template <class T, int kLength>
struct Vector {
    T at[kLength];
};

// Returns the bits of a PTX register as a value of type T.
template <class T, class U>
__attribute__((always_inline)) inline T as(const U& bits) {
    T value{};
    memcpy(&value, &bits, sizeof(T) < sizeof(U) ? sizeof(T) : sizeof(U));
    return value;
}
template <class T, class U>
__attribute__((always_inline)) inline void put(U& place, T value) {
    place = as<U>(value);
}

template <class T>
inline T* at(uint64_t address, int64_t offset) {
    return reinterpret_cast<T*>(address + offset);
}
template <class T>
inline T* at(void* address, int64_t offset) {
    return reinterpret_cast<T*>(static_cast<char*>(address) + offset);
}

// Arithmetic of PTX. high() returns the high half of a product. quotient() returns all ones if an integer is
// divided by zero, as a GPU does.
template <class T>
inline T high(T a, T b) {
    if constexpr (sizeof(T) == 8) {
        using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        return static_cast<T>(static_cast<Wide>(a) * b >> 64);
    } else {
        using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
        return static_cast<T>(static_cast<Wide>(a) * b >> 8 * sizeof(T));
    }
}
template <class T>
inline T quotient(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b == 0) return static_cast<T>(-1);
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<uint64_t>(a));
    }
    return a / b;
}
template <class T>
inline T remainder(T a, T b) {
    if (b == 0) return a;
    return std::is_signed_v<T> && b == static_cast<T>(-1) ? 0 : a % b;
}
template <class T>
inline T magnitude(T a) {
    if constexpr (std::is_integral_v<T>) {
        return a < 0 ? static_cast<T>(0 - static_cast<uint64_t>(a)) : a;
    } else {
        return static_cast<T>(__builtin_fabs(a));
    }
}
// sum() returns a + b + carry, and less() returns a - b - borrow. `out` receives the carry or borrow of the
// result. T is unsigned.
template <class T>
inline T sum(T a, T b, bool carry, bool& out) {
    T both, result;
    bool first = __builtin_add_overflow(a, b, &both);
    bool second = __builtin_add_overflow(both, static_cast<T>(carry), &result);
    out = first || second;
    return result;
}
template <class T>
inline T less(T a, T b, bool borrow, bool& out) {
    T result = sum<T>(a, static_cast<T>(~b), !borrow, out);  // a - b = a + ~b + 1
    out = !out;
    return result;
}
// Returns the index of the highest bit that differs from the sign bit, or all ones if all bits equal the sign
// bit.
template <class T>
inline uint32_t highest_bit(T a) {
    uint64_t bits = static_cast<uint64_t>(a < 0 ? ~a : a);
    return bits ? 63 - static_cast<uint32_t>(__builtin_clzll(bits)) : ~0u;
}
// extracted() returns the `length` bits of `a` that begin at bit `start`, sign-extended if T is signed.
// inserted() returns `old` with these bits replaced by the low bits of `field`.
template <class T>
inline T extracted(T a, uint32_t start, uint32_t length) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    start &= 0xff, length &= 0xff;
    if (length == 0) return 0;
    if (start >= kBits) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : 0;
    if (length >= kBits - start) return a >> start;
    return static_cast<T>(static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << (kBits - start - length)) >> (kBits - length));
}
template <class T>
inline T inserted(T field, T old, uint32_t start, uint32_t length) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    start &= 0xff, length &= 0xff;
    if (start >= kBits || length == 0) return old;
    T mask = (length >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1)) << start;
    return (old & ~mask) | (field << start & mask);
}
// Implements cp.async: copies `kept` bytes, and fills the rest of the `bytes` bytes at `to` with zeros.
// `bytes` is a multiple of 4.
inline void copy_async(void* to, const void* from, uint32_t bytes, uint32_t kept) {
    auto* source = static_cast<const char*>(from);
    for (uint32_t at = 0; at < bytes; at += 4) {
        uint32_t word = 0;
        if (at + 4 <= kept) word = *reinterpret_cast<const uint32_t*>(source + at);
        else if (at < kept) memcpy(&word, source + at, kept - at);
        *reinterpret_cast<uint32_t*>(static_cast<char*>(to) + at) = word;
    }
}
// Computes PTX's lop3. Each bit of the result is a bit of `table`. The three bits of a, b and c at the result
// bit's position are its index in `table`.
inline uint32_t chosen_bits(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t result = 0;
    for (int i = 0; i < 8; ++i) {
        uint32_t with = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        if (table >> i & 1) result |= with;
    }
    return result;
}
template <class Result, class A, class B>
inline Result dot_product(A a, B b, Result sum) {
    using BytesA = std::conditional_t<std::is_signed_v<A>, int8_t, uint8_t>;
    using BytesB = std::conditional_t<std::is_signed_v<B>, int8_t, uint8_t>;
    for (int i = 0; i < 32; i += 8) sum += static_cast<BytesA>(a >> i) * static_cast<BytesB>(b >> i);
    return sum;
}
// Converts a number. A floating-point number outside the range of an integer type becomes the nearest number
// of this type.
template <class To, class From>
inline To converted(From a) {
    if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
        using Limits = std::numeric_limits<To>;
        if (a != a) return 0;
        if (a <= static_cast<From>(Limits::min())) return Limits::min();
        if (a >= static_cast<From>(Limits::max())) return Limits::max();
    }
    return static_cast<To>(a);
}

// The modes of PTX's shuffle instruction (shfl.sync), which shuffled() implements. Bits 8 to 12 of `bounds`
// are a mask that divides the warp into segments. Bits 0 to 4 limit the source lane within the segment.
// `found` receives whether the source lane is within this limit.
enum class Shuffle { up, down, bfly, idx };
inline uint32_t shuffled(Shuffle mode, uint32_t value, uint32_t by, uint32_t bounds, uint32_t mask, bool& found, CallSite from = EMU_HERE) {
    auto own = static_cast<int>(lane());
    int offset = by & 31, segment = bounds >> 8 & 31, last = (own & segment) | (bounds & 31 & ~segment);
    int source = mode == Shuffle::up     ? own - offset
                 : mode == Shuffle::down ? own + offset
                 : mode == Shuffle::bfly ? own ^ offset
                                         : (own & segment) | (offset & ~segment);
    found = mode == Shuffle::up ? source >= last : source <= last;
    return shuffle(mask, value, static_cast<unsigned>(found ? source : own), from);
}

// The number of multiprocessors that inline PTX sees. The emulator does not model which multiprocessor runs a
// block. A block's multiprocessor is its index in the grid modulo this number.
constexpr uint32_t kMultiprocessors = 32;
inline uint32_t multiprocessor() { return linear(block_index(), grid_shape()) % kMultiprocessors; }

// Loads a value from `address`. With Scope::none the load is a weak load of PTX, which corresponds to an
// ordinary C++ load.
template <class T>
EMU_OWN inline T ld(const T* address, Scope scope, Order order) {
    note_ordered(address, sizeof(T), Act::read, scope, order, EMU_SITE);
    T value = load_once(address);
    if (order == Order::acquire) __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return value;
}

// Loads a value through the GPU's read-only cache. No thread may write the value during the launch.
template <class T>
EMU_OWN inline T ld_nc(const T* address, Scope scope, Order order) {
    note_read_only(address, sizeof(T), EMU_SITE);
    note_ordered(address, sizeof(T), Act::read, scope, order, EMU_SITE);
    return load_once(address);
}

template <class T>
EMU_OWN inline void st(T* address, T value, Scope scope, Order order) {
    note_ordered(address, sizeof(T), Act::write, scope, order, EMU_SITE);
    if (order == Order::release) __atomic_thread_fence(__ATOMIC_RELEASE);
    store_once(address, value);
}

// EMU_FUNCTION defines a function object `name`, which calls the function with the same name in atomics.h.
#define EMU_FUNCTION(name)                                                                 \
    constexpr struct {                                                                     \
        template <class... Values>                                                         \
        EMU_INNER auto operator()(Values... values) const { return emu::name(values...); } \
    } name{};
EMU_FUNCTION(atomic_add)
EMU_FUNCTION(atomic_min)
EMU_FUNCTION(atomic_max)
EMU_FUNCTION(atomic_and)
EMU_FUNCTION(atomic_or)
EMU_FUNCTION(atomic_xor)
EMU_FUNCTION(atomic_inc)
EMU_FUNCTION(atomic_dec)
EMU_FUNCTION(atomic_cas)
EMU_FUNCTION(atomic_exchange)
#undef EMU_FUNCTION

// Updates the word at `address` atomically and returns its old value. `update` is a function object that
// calls a function of atomics.h, such as atomic_add.
template <class Update, class T, class... Values>
EMU_OWN inline T atom(Scope scope, Order order, Update update, T* address, Values... values) {
    note_ordered(address, sizeof(T), Act::update, scope, order, EMU_SITE);
    if (order != Order::relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    T old = update(address, values...);
    if (order != Order::relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return old;
}

EMU_OWN inline void barrier_arrive(unsigned number, unsigned count, CallSite from = EMU_HERE) {
    named_barrier(number, count, false, from, EMU_SITE);
}

}  // namespace emu::ptx

// These functions convert addresses of shared memory between C++ pointers and the 32-bit addresses that
// inline PTX uses.
inline size_t __cvta_generic_to_shared(const void* address) { return emu::shared_address(address); }
inline void* __cvta_shared_to_generic(size_t address) { return emu::shared_at(static_cast<uint32_t>(address)); }
