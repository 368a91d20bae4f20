// Functions that the compiler calls under -fsanitize=bounds,alignment when a kernel breaks a rule of C++.
// They find an index beyond one row of an array, and the load of only a part of a misaligned vector. The
// checks of memory accesses in watch.cpp do not find these two faults.

#include "machine.h"
#include "worker.h"

namespace {

using emu::Act;

// The layout of the data that the compiler passes to the functions below. It is declared in LLVM's
// compiler-rt, in lib/ubsan/ubsan_value.h and ubsan_handlers.h.
struct SourceLocation {
    const char* file;
    uint32_t line, column;
};
struct Type {
    // For an integer type of 2^n bits, `info` is 2 n, plus one if the type is signed.
    uint16_t kind, info;
    char name[1];

    int64_t decode(uint64_t value) const {
        unsigned unused = 64 - std::min(1u << (info >> 1), 64u);
        return info & 1 ? static_cast<int64_t>(value << unused) >> unused : static_cast<int64_t>(value);
    }
};
struct Index {
    SourceLocation place;
    const Type *array, *index;
};
struct Access {
    SourceLocation place;
    const Type* type;
    unsigned char alignment, kind;  // `alignment`: binary logarithm of the required alignment in bytes

    Act act() const { return kind == 1 ? Act::write : Act::read; }
};

}  // namespace

extern "C" {

EMU_API void __ubsan_handle_out_of_bounds(const Index* at, uint64_t index) {
    emu::refuse_index(at->array->name, at->index->decode(index), EMU_SITE);
}

EMU_API void __ubsan_handle_type_mismatch_v1(const Access* at, const void* address) {
    emu::refuse_misaligned(address, size_t{1} << at->alignment, at->act(), EMU_SITE);
}

}  // extern "C"
