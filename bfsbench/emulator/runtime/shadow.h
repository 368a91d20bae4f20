// The record of every word of a region of memory: its last accesses, and whether it is initialised.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "emu/state.h"

namespace emu {

// A past access. clocks.h defines its order.
struct Past {
    const void* site;  // null: none
    uint32_t thread;   // of the grid
    uint32_t clock;    // of that thread
    uint32_t phase;    // block barriers that its block had completed
    uint32_t era;
    uint32_t grid;  // of those that a launch of the host has led to
    unsigned char bytes;  // a bit for each byte of the word
    Act act;
    Scope scope;
};

struct Cell {
    Past write;
    Past reads[2];
};

class Shadow {
  public:
    static constexpr size_t kWordBytes = 4;

    explicit Shadow(size_t bytes)
        : cells_(static_cast<Cell*>(calloc(bytes / kWordBytes + 2, sizeof(Cell))), free), written_(bytes) {}

    Cell& cell(size_t word) { return cells_.get()[word]; }

    void set_written(size_t first, size_t bytes) {
        for (size_t i = first; i < first + bytes; ++i) written_[i] = 1;
    }
    bool is_written(size_t first, size_t bytes) const {
        for (size_t i = first; i < first + bytes; ++i) {
            if (!written_[i]) return false;
        }
        return true;
    }

  private:
    std::unique_ptr<Cell, void (*)(void*)> cells_;  // zeros that take no memory before they are touched
    std::vector<unsigned char> written_;
};

}  // namespace emu
