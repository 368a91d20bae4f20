// Defines cuda::atomic and cuda::atomic_ref, with their scopes and memory orders.
#pragma once

#include "atomics.h"
#include "memory.h"

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

enum class memory_order { relaxed, consume, acquire, release, acq_rel, seq_cst };
constexpr memory_order memory_order_relaxed = memory_order::relaxed;
constexpr memory_order memory_order_consume = memory_order::consume;
constexpr memory_order memory_order_acquire = memory_order::acquire;
constexpr memory_order memory_order_release = memory_order::release;
constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;

constexpr emu::Scope scope_of(thread_scope scope) {
    return scope == thread_scope_block || scope == thread_scope_thread ? emu::Scope::block : emu::Scope::device;
}

// Returns the memory order that the race detector assumes for an atomic operation of the kind `act` with the
// C++ memory order `order`. A store never acquires, and a load never releases.
constexpr emu::Order order_of(memory_order order, emu::Act act) {
    bool acquires = order != memory_order_relaxed && order != memory_order_release && act != emu::Act::write;
    bool releases = order >= memory_order_release && act != emu::Act::read;
    return acquires && releases ? emu::Order::acq_rel
           : acquires           ? emu::Order::acquire
           : releases           ? emu::Order::release
                                : emu::Order::relaxed;
}

EMU_INNER inline void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
    if (order != memory_order_relaxed) emu::fence(scope_of(scope));
}

// Base class with the operations of cuda::atomic and cuda::atomic_ref. `Place` is the derived class. Its
// member function word() returns the address of the atomic variable.
template <class T, thread_scope kScope, class Place>
class atomic_operations {
  public:
    EMU_OWN T load(memory_order order = memory_order_seq_cst) const {
        note(emu::Act::read, order, EMU_SITE);
        return emu::load_once(place());
    }
    EMU_OWN operator T() const {
        note(emu::Act::read, memory_order_seq_cst, EMU_SITE);
        return emu::load_once(place());
    }
    EMU_OWN void store(T value, memory_order order = memory_order_seq_cst) const {
        note(emu::Act::write, order, EMU_SITE);
        emu::store_once(place(), value);
    }
    EMU_OWN T operator=(T value) const {
        note(emu::Act::write, memory_order_seq_cst, EMU_SITE);
        emu::store_once(place(), value);
        return value;
    }
    EMU_OWN bool compare_exchange_strong(T& expected, T desired, memory_order order = memory_order_seq_cst,
                                         memory_order = memory_order_seq_cst) const {
        note(emu::Act::update, order, EMU_SITE);
        return exchange_if(expected, desired);
    }
    EMU_OWN bool compare_exchange_weak(T& expected, T desired, memory_order order = memory_order_seq_cst,
                                       memory_order = memory_order_seq_cst) const {
        note(emu::Act::update, order, EMU_SITE);
        return exchange_if(expected, desired);
    }

#define EMU_UPDATE(name, function)                                                   \
    EMU_OWN T name(T value, memory_order order = memory_order_seq_cst) const {       \
        note(emu::Act::update, order, EMU_SITE);                                     \
        return emu::function(place(), value);                                        \
    }
    EMU_UPDATE(exchange, atomic_exchange)
    EMU_UPDATE(fetch_add, atomic_add)
    EMU_UPDATE(fetch_sub, atomic_sub)
    EMU_UPDATE(fetch_and, atomic_and)
    EMU_UPDATE(fetch_or, atomic_or)
    EMU_UPDATE(fetch_xor, atomic_xor)
    EMU_UPDATE(fetch_min, atomic_min)
    EMU_UPDATE(fetch_max, atomic_max)
#undef EMU_UPDATE

    // Defines an operator of the atomic variable, such as ++. The macro appends `after`, such as + 1, to the old
    // value to get the operator's result. If `after` is empty, the result is the old value.
#define EMU_OPERATOR(declaration, function, value, after)            \
    EMU_OWN T operator declaration const {                           \
        note(emu::Act::update, memory_order_seq_cst, EMU_SITE);      \
        return emu::function(place(), value) after;                  \
    }
    EMU_OPERATOR(++(int), atomic_add, 1, )
    EMU_OPERATOR(--(int), atomic_sub, 1, )
    EMU_OPERATOR(++(), atomic_add, 1, +1)
    EMU_OPERATOR(--(), atomic_sub, 1, -1)
    EMU_OPERATOR(+=(T x), atomic_add, x, +x)
    EMU_OPERATOR(-=(T x), atomic_sub, x, -x)
    EMU_OPERATOR(|=(T x), atomic_or, x, | x)
    EMU_OPERATOR(&=(T x), atomic_and, x, & x)
#undef EMU_OPERATOR

  private:
    EMU_INNER T* place() const { return static_cast<const Place*>(this)->word(); }

    EMU_INNER void note(emu::Act act, memory_order order, const void* site) const {
        emu::note_ordered(place(), sizeof(T), act, scope_of(kScope), order_of(order, act), site);
    }

    EMU_INNER bool exchange_if(T& expected, T desired) const {
        T found = emu::atomic_cas(place(), expected, desired);
        bool was = memcmp(&found, &expected, sizeof found) == 0;
        expected = found;
        return was;
    }
};

template <class T, thread_scope kScope = thread_scope_system>
class atomic_ref : public atomic_operations<T, kScope, atomic_ref<T, kScope>> {
  public:
    explicit atomic_ref(T& word) : word_(&word) {}
    EMU_INNER T* word() const { return word_; }
    using atomic_operations<T, kScope, atomic_ref>::operator=;

  private:
    T* word_;
};

template <class T, thread_scope kScope = thread_scope_system>
class atomic : public atomic_operations<T, kScope, atomic<T, kScope>> {
  public:
    atomic() = default;
    constexpr atomic(T value) : word_(value) {}
    atomic(const atomic&) = delete;
    EMU_INNER T* word() const { return &word_; }
    using atomic_operations<T, kScope, atomic>::operator=;

  private:
    mutable T word_;
};

// As in NVIDIA's headers, the namespace cuda::std also contains the memory orders. Its atomic variables have
// system scope.
namespace std {
using ::cuda::memory_order;
using ::cuda::memory_order_relaxed;
using ::cuda::memory_order_consume;
using ::cuda::memory_order_acquire;
using ::cuda::memory_order_release;
using ::cuda::memory_order_acq_rel;
using ::cuda::memory_order_seq_cst;
template <class T>
using atomic = ::cuda::atomic<T>;
template <class T>
using atomic_ref = ::cuda::atomic_ref<T>;
EMU_INNER inline void atomic_thread_fence(memory_order order) { ::cuda::atomic_thread_fence(order); }
}  // namespace std

}  // namespace cuda
