// The functions that the compiler calls for -fsanitize=bounds,alignment: C++ says that what comes next is wrong. They
// see what lies within one variable, as the end of a row, and vectors of which only a part is loaded in the end.

#include "machine.h"
#include "worker.h"

namespace {

using emu::Act;

// What the compiler leaves beside such a place, as in LLVM's compiler-rt, lib/ubsan/ubsan_value.h and ubsan_handlers.h.
struct SourceLocation {
    const char* file;
    uint32_t line, column;
};
struct Type {
    uint16_t kind, info;  // of an integer: twice the logarithm of its bits, and one more if it is signed
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
    unsigned char alignment, kind;  // of the alignment, the logarithm

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
