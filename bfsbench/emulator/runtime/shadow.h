// The record of every word of a region of memory: its last accesses, and which of its bytes are initialised.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "emu/state.h"

namespace emu {

// A thread between two of its steps of synchronisation (clocks.h). Later ones have higher numbers; 0 is none.
using Moment = uint64_t;

// A past access, in eight bytes, as every word of memory has three: by whom and when, the instruction's number, scope,
// act, and a bit for each byte of the word. Put together by hand: parts of a bit field would go through memory.
class Past {
  public:
    Past() = default;
    Past(Moment moment, unsigned site, Act act, Scope scope)
        : bits_(moment << 24 | uint64_t{site} << 8 | static_cast<uint64_t>(scope) << 6 |
                static_cast<uint64_t>(act) << 4) {}
    // The same access, to these bytes.
    Past to(unsigned bytes) const { return Past(bits_ & ~uint64_t{0xf} | bytes); }

    Moment moment() const { return bits_ >> 24; }
    unsigned site() const { return bits_ >> 8 & 0xffff; }
    Scope scope() const { return static_cast<Scope>(bits_ >> 6 & 3); }
    Act act() const { return static_cast<Act>(bits_ >> 4 & 3); }
    unsigned bytes() const { return bits_ & 0xf; }

  private:
    explicit Past(uint64_t bits) : bits_(bits) {}
    uint64_t bits_ = 0;
};

// Kept apart by what is needed together: of memory that is only read, as most is, an access looks at one `first_read`.
class Shadow {
  public:
    static constexpr size_t kWordBytes = 4;

    explicit Shadow(size_t bytes)
        : words_(bytes / kWordBytes + 2),
          written_(zeros<unsigned char>(words_)),
          last_writes_(zeros<Moment>(words_ / kPart + 1)),
          writes_(zeros<Past>(words_)),
          first_reads_(zeros<Past>(words_)),
          last_reads_(zeros<Past>(words_)) {}

    // A bit for each byte that is initialised.
    unsigned char& written(size_t word) { return written_[word]; }
    // The last write, and two reads since.
    Past& write(size_t word) { return writes_[word]; }
    Past& first_read(size_t word) { return first_reads_[word]; }
    Past& last_read(size_t word) { return last_reads_[word]; }
    // When any word near this one was written last.
    Moment& last_write_near(size_t word) { return last_writes_[word / kPart]; }

    void set_written(size_t first, size_t bytes) {
        for (size_t end = first + bytes; first < end;) {
            size_t word = first / kWordBytes, next = (word + 1) * kWordBytes;
            if (first % kWordBytes == 0 && next <= end) {
                size_t whole = (end - first) / kWordBytes;
                memset(&written(word), kWhole, whole);
                first += whole * kWordBytes;
            } else {
                written(word) |= static_cast<unsigned char>(1u << first++ % kWordBytes);
            }
        }
    }

    // As if nothing had happened yet.
    void clear() {
        memset(written_.get(), 0, words_);
        memset(last_writes_.get(), 0, (words_ / kPart + 1) * sizeof(Moment));
        for (auto* pasts : {&writes_, &first_reads_, &last_reads_}) {
            memset(static_cast<void*>(pasts->get()), 0, words_ * sizeof(Past));
        }
    }
    bool fits(size_t bytes) const { return words_ == bytes / kWordBytes + 2; }

    static constexpr unsigned kWhole = (1 << kWordBytes) - 1;  // of `written`

  private:
    static constexpr size_t kPart = 64;  // words

    // They take no memory before they are touched.
    template <class T>
    using Zeros = std::unique_ptr<T[], void (*)(void*)>;
    template <class T>
    static Zeros<T> zeros(size_t count) {
        return {static_cast<T*>(calloc(count, sizeof(T))), free};
    }

    size_t words_;
    Zeros<unsigned char> written_;
    Zeros<Moment> last_writes_;
    Zeros<Past> writes_, first_reads_, last_reads_;
};

}  // namespace emu
