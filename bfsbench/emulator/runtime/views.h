// The values that plain loads find while other multiprocessors store. They may be old ones, as a first-level cache is
// not kept up to date.
//
// A multiprocessor sees its own stores at once. Those of others it sees when they are some steps old, and only in
// sectors that are not in its cache: there a sector stays as it was. A fence, an acquire or a barrier of several
// blocks empties the cache. Atomics, volatile loads and loads of a scope go past it, and an atomic drops its line.
//
// Memory always holds what was stored last. For a load that is to find an older value, that is put there, and
// the newer one is put back before the machine does anything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace.h"

namespace emu {

class Views {
  public:
    // Each multiprocessor has a cache of this size, in bytes.
    void begin_launch(unsigned multiprocessors, size_t cache);

    // A warp loads sectors of the memory of the GPU; its block has made this number of steps. `list` is called with room
    // for `most` of them, and returns how many it has put there.
    template <class List>
    void load(unsigned multiprocessor, uint64_t time, unsigned most, List list) {
        View& view = views_[multiprocessor];
        uint32_t* log = log_at(view, time, most);
        view.logged += list(log);
    }
    // Whether a value that was stored before the last one may be found here, and a thread is about to load it.
    bool may_be_old(const char* address, size_t bytes) const { return changes.may_be_old(address, bytes); }
    void show(unsigned multiprocessor, uint64_t time, char* address, size_t bytes, size_t place);
    // How many there have been, and whether one of those after the first `number` was to this place.
    uint64_t stores() const { return changes.stores; }
    bool stored_since(const char* address, uint64_t number) const;
    // A thread is about to change memory.
    void store(unsigned multiprocessor, uint64_t time, const char* address, size_t bytes);
    // It soon is.
    void fetch_store(const char* address) const {
        prefetch(&words_[slot_of(address)]);
        prefetch(address);
    }
    void drop(unsigned multiprocessor, size_t place);
    // What others have stored so far is seen from now on.
    void acquire(unsigned multiprocessor);

    // The load has been made.
    void put_back() {
        if (changes.put_aside) put_back_all();
    }

    Changes changes;

  private:
    using Word = uint32_t;
    static_assert(sizeof(Word) == Changes::kWord);
    static constexpr size_t kSector = 32, kSectors = 4;  // of a line
    static constexpr size_t kWays = 4;
    static constexpr unsigned kMostKept = 8;

    // Numbers and times here are of one launch.
    struct Store {
        uint32_t time, number;
        uint32_t multiprocessor;
        Word before;
        uint32_t previous;  // index of the one before to this word, or kNone
    };
    static constexpr uint32_t kNone = ~0u;
    // The stores to one word.
    struct Stored {
        const Word* word = nullptr;
        uint32_t launch = 0;
        uint32_t latest = 0;  // index
    };
    struct Sector {
        uint32_t time, number;  // of its load, and of the stores before
    };
    struct Line {
        uint32_t line = 0, launch = 0;  // what was loaded in earlier ones is not there
        uint32_t used = 0;
        uint32_t there = 0;  // a bit for each sector
        bool is(uint32_t number, uint32_t now) const { return line == number && launch == now; }
    };
    struct alignas(kWays * sizeof(Line)) Set {
        Line ways[kWays];
    };
    // What a cache holds is worked out when a load may find an old value. Until then it is known by the sectors that have
    // been loaded, one after the other, and by marks between them.
    struct View {
        uint32_t acquired = 0;
        std::vector<uint32_t> log;
        uint32_t logged = 0;                  // words of it
        bool marked = false;                  // it has a moment, the last of which is this:
        uint32_t logged_time, logged_number;

        // Of the cache, as it was where the log begins.
        uint32_t acquired_then = 0, uses = 0;
        std::vector<Set> sets;
        std::vector<Sector> sectors;  // by set, way and number in the line
    };
    // Marks in a log: a time and number of stores follow, a line, a number of stores.
    enum Mark : uint32_t { kFirstMark = ~2u, kMoment = kFirstMark, kDrop, kAcquire };
    static constexpr uint32_t kLogged = 1 << 15;  // words
    struct Newer {
        Word* place;
        Word value;
    };

    Sector& sector_of(View& view, const Line& way, size_t sector) const {
        auto index = static_cast<size_t>(&way - view.sets[0].ways);
        return view.sectors[index * kSectors + sector % kSectors];
    }
    // Room for more words that belong to this time.
    uint32_t* log_at(View& view, uint64_t time, unsigned words) {
        constexpr unsigned kOfMark = 3;
        if (view.logged + words + kOfMark > view.log.size()) make_room(view, words + kOfMark);
        uint32_t* log = &view.log[view.logged];
        if (view.marked && view.logged_time == static_cast<uint32_t>(time) && view.logged_number == changes.stores) return log;
        view.logged_time = log[1] = static_cast<uint32_t>(time), view.logged_number = log[2] = changes.stores;
        log[0] = kMoment;
        view.marked = true;
        view.logged += kOfMark;
        return log + kOfMark;
    }
    void make_room(View& view, unsigned words);
    void log_mark(View& view, Mark mark, uint32_t value);
    void follow_log(View& view);
    void load_sector(View& view, uint32_t sector, Sector now);
    Line& line_of(View& view, uint32_t line) const;
    const Sector* cached(View& view, size_t sector) const;
    Word seen(const View& view, unsigned multiprocessor, uint64_t time, const Word* place) const;
    // Neighbours have slots side by side.
    size_t slot_of(const void* place) const {
        constexpr unsigned kNeighbours = 16;
        uintptr_t word = reinterpret_cast<uintptr_t>(place) / sizeof(Word);
        size_t hash = word / kNeighbours * 0x9e3779b97f4a7c15u >> 32;
        return (hash * kNeighbours + word % kNeighbours) & (words_.size() - 1);
    }
    const Stored& stored_at(const Word* word) const;
    void grow();
    void put_back_all();

    uint32_t sets_ = 1;  // of a cache
    uint32_t launch_ = 0;
    std::vector<View> views_;
    std::vector<Store> history_;
    std::vector<Stored> words_ = std::vector<Stored>(1 << 12);  // a hash table, of which at most half is taken
    size_t words_taken_ = 0;
    std::vector<Newer> newer_;
};

}  // namespace emu
