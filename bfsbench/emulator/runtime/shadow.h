// The race detector's record of a region of memory. For each word it holds which bytes have been written,
// the last write, and two reads.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "emu/state.h"

namespace emu {

// A number for the time of an access (clocks.h). All accesses that a thread makes between two of its
// synchronisations share one number. Later accesses have higher numbers. 0 stands for no access.
using Moment = uint64_t;

// A past access to a word of memory: the access's moment, the number of its instruction, its scope, whether
// it wrote, and a bit for each accessed byte. All of this is packed into eight bytes, because the race
// detector keeps three past accesses for each word. The class packs them with shifts instead of bit fields:
// compilers keep a plain integer in a register, but store a struct of bit fields to memory to access one of
// them.
class Past {
  public:
    Past() = default;
    Past(Moment moment, unsigned site, Act act, Scope scope)
        : bits_(moment << 24 | uint64_t{site} << 8 | static_cast<uint64_t>(scope) << 6 |
                static_cast<uint64_t>(act) << 4) {}
    // Returns this access, limited to the bytes of the word whose bits are set in `bytes`.
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

// The race detector's record of the accesses to a region of memory. For each word it holds which bytes have
// been written, the last write, and two reads (see Watch::keep_read). The bytes, the writes and the reads are
// in separate arrays, because most checks need only some of them. For example, a check does not need the last
// write to a word if no word nearby was written recently.
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

    // Returns four bits, one for each byte of the word. A bit is set if the byte has been written.
    unsigned char& written(size_t word) { return written_[word]; }
    // write() returns the last write to a word. first_read() and last_read() return the two recorded reads of
    // the word. A write does not erase the recorded reads, so they may be older than the last write.
    Past& write(size_t word) { return writes_[word]; }
    Past& first_read(size_t word) { return first_reads_[word]; }
    Past& last_read(size_t word) { return last_reads_[word]; }
    // Returns the moment of the last write to the block of kPart words that contains `word`.
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

    // Forgets all accesses, and which bytes have been written.
    void clear() {
        memset(written_.get(), 0, words_);
        memset(last_writes_.get(), 0, (words_ / kPart + 1) * sizeof(Moment));
        for (auto* pasts : {&writes_, &first_reads_, &last_reads_}) {
            memset(static_cast<void*>(pasts->get()), 0, words_ * sizeof(Past));
        }
    }
    bool fits(size_t bytes) const { return words_ == bytes / kWordBytes + 2; }

    // Value of written() if all bytes of the word have been written.
    static constexpr unsigned kWhole = (1 << kWordBytes) - 1;

  private:
    static constexpr size_t kPart = 64;  // number of words that share one element of last_writes_

    // An array of zeros. calloc reserves memory, but the operating system provides a page only when it is
    // first touched.
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
