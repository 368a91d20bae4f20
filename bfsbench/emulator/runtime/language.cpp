// Functions to which the compiler inserts calls under -fsanitize=bounds,alignment. The functions report
// accesses that the rules of C++ forbid. They also see an index beyond one row of an array, and misaligned
// vectors of which the optimised code loads only a part. Watched accesses do not show these two.

#include "machine.h"
#include "worker.h"

namespace {

using emu::Act;

// Data that the compiler passes to these functions. LLVM's compiler-rt declares it in lib/ubsan/ubsan_value.h
// and ubsan_handlers.h.
struct SourceLocation {
    const char* file;
    uint32_t line, column;
};
struct Type {
    uint16_t kind, info;  // info of an integer: twice the logarithm of its bits, plus one if signed
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
    unsigned char alignment, kind;  // alignment: its logarithm

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
