// A record of each word of a region of memory: its last accesses, and which of its bytes have been written.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "emu/state.h"

namespace emu {

// A number for all accesses that a thread makes between two synchronisations (clocks.h). Later moments have
// higher numbers; 0 is no moment.
using Moment = uint64_t;

// A past access. It has eight bytes, because the emulator keeps three past accesses for each word of memory. It
// holds the moment, the number of the instruction, the scope, the act, and a bit for each byte of the word. The
// class packs these by shifts, because the compiler would move the parts of a bit field through memory.
class Past {
  public:
    Past() = default;
    Past(Moment moment, unsigned site, Act act, Scope scope)
        : bits_(moment << 24 | uint64_t{site} << 8 | static_cast<uint64_t>(scope) << 6 |
                static_cast<uint64_t>(act) << 4) {}
    // Returns this access, limited to some bytes of the word.
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

// The record of the accesses to a region. Each kind of data has its own array, because most memory is only
// read. A read of such memory then needs only `first_read`.
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

    // Returns a bit for each byte of the word; it is set if the byte has been written.
    unsigned char& written(size_t word) { return written_[word]; }
    // write() returns the last write to a word. first_read() and last_read() return the two recorded reads
    // since that write.
    Past& write(size_t word) { return writes_[word]; }
    Past& first_read(size_t word) { return first_reads_[word]; }
    Past& last_read(size_t word) { return last_reads_[word]; }
    // Returns the moment at which a word in the neighbourhood of `word` (kPart words) was last written.
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

    // Forgets all accesses and writes.
    void clear() {
        memset(written_.get(), 0, words_);
        memset(last_writes_.get(), 0, (words_ / kPart + 1) * sizeof(Moment));
        for (auto* pasts : {&writes_, &first_reads_, &last_reads_}) {
            memset(static_cast<void*>(pasts->get()), 0, words_ * sizeof(Past));
        }
    }
    bool fits(size_t bytes) const { return words_ == bytes / kWordBytes + 2; }

    static constexpr unsigned kWhole = (1 << kWordBytes) - 1;  // of `written`: all bytes of a word

  private:
    static constexpr size_t kPart = 64;  // words

    // An array of zeros. calloc reserves its memory, but the system provides pages only when they are first
    // touched.
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
