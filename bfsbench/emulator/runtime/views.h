// Emulates the first-level caches of multiprocessors. A GPU does not keep these caches up to date, so loads
// may return old values while other multiprocessors store.
//
// A multiprocessor sees its own stores immediately. It sees stores of other multiprocessors only after the emulator
// has run all threads some more times (rounds), and only in sectors that are not in its cache. A cached sector does
// not change. A fence of device scope, an acquire or a barrier of several blocks empties the cache. Atomics, volatile
// loads and loads with a scope bypass the cache. An atomic also removes its line from the cache.
//
// Memory always holds the newest value. When a load must return an older value, show() puts the older value
// into memory. put_back() restores the newest value before the emulator does anything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace.h"

namespace emu {

class Views {
  public:
    // Begins a launch. `cache` is the size in bytes of each multiprocessor's first-level cache.
    void begin_launch(unsigned multiprocessors, size_t cache);

    // Records the sectors that a warp loads. `time` is the number of rounds that the warp's block has
    // completed at the load. list(log) writes the numbers of the sectors to `log`, at most `most` of them,
    // and returns how many it has written.
    template <class List>
    void load(unsigned multiprocessor, uint64_t time, unsigned most, List list) {
        View& view = views_[multiprocessor];
        uint32_t* log = log_at(view, time, most);
        view.logged += list(log);
    }
    // may_be_old() returns whether a load may have to return an older value than memory holds. show() puts
    // the older value into memory before the load.
    bool may_be_old(const char* address, size_t bytes) const { return changes.may_be_old(address, bytes); }
    void show(unsigned multiprocessor, uint64_t time, char* address, size_t bytes, size_t place);
    // stores() returns the number of stores so far in this launch. stored_since() ignores the first `number`
    // of these stores. It returns whether a later store wrote to the word that contains the address.
    uint64_t stores() const { return changes.stores; }
    bool stored_since(const char* address, uint64_t number) const;
    // Records that a thread is about to change memory.
    void store(unsigned multiprocessor, uint64_t time, const char* address, size_t bytes);
    // Prefetches the memory that a thread's next store will access.
    void fetch_store(const char* address) const {
        prefetch(&words_[slot_of(address)]);
        prefetch(address);
    }
    // Removes the line that contains `place` (see Region::place) from the multiprocessor's cache.
    void drop(unsigned multiprocessor, size_t place);
    // Empties the multiprocessor's cache, so that its later loads see all stores made so far.
    void acquire(unsigned multiprocessor);

    // Restores the newest values in memory after a load of old values.
    void put_back() {
        if (changes.put_aside) put_back_all();
    }

    Changes changes;

  private:
    using Word = uint32_t;
    static_assert(sizeof(Word) == Changes::kWord);
    static constexpr size_t kSector = 32, kSectors = 4;  // sectors per cache line
    static constexpr size_t kWays = 4;
    static constexpr unsigned kMostKept = 8;

    // In the structs from Store to View, `time` is a number of rounds of a block, and `number` is a number of
    // stores. Both numbers count from the beginning of the launch.
    struct Store {
        uint32_t time, number;
        uint32_t multiprocessor;
        Word before;
        uint32_t previous;  // index of the previous store to the word, or kNone
    };
    static constexpr uint32_t kNone = ~0u;
    // All stores of this launch to one word of memory.
    struct Stored {
        const Word* word = nullptr;
        uint32_t launch = 0;
        uint32_t latest = 0;  // index in history_ of the latest store to the word
    };
    struct Sector {
        uint32_t time, number;  // time of the sector's load, and number of stores before this load
    };
    struct Line {
        // Number of the line, and of the launch that loaded it. A line of an earlier launch counts as not
        // cached.
        uint32_t line = 0, launch = 0;
        uint32_t used = 0;
        uint32_t there = 0;  // a bit for each sector of the line that is in the cache
        bool is(uint32_t number, uint32_t now) const { return line == number && launch == now; }
    };
    struct alignas(kWays * sizeof(Line)) Set {
        Line ways[kWays];
    };
    // The first-level cache of one multiprocessor. The emulator simulates the cache lazily: it appends the
    // number of each loaded sector to a log, and applies the log to the cache only when a load may have to
    // return an old value. The log also contains marks. A mark records the time of the following loads, the
    // removal of a line by an atomic, or that an acquire has emptied the cache.
    struct View {
        uint32_t acquired = 0;
        std::vector<uint32_t> log;
        uint32_t logged = 0;                  // number of words in the log
        // True if the log contains a kMoment mark. logged_time and logged_number hold the values of the
        // latest such mark.
        bool marked = false;
        uint32_t logged_time, logged_number;

        // The members from here to `sectors` hold the state of the cache before the first entry of the log.
        // `uses` counts uses of lines, to find the least recently used line.
        uint32_t acquired_then = 0, uses = 0;
        std::vector<Set> sets;
        std::vector<Sector> sectors;  // by set, way and number in the line: the cached sectors
    };
    // Marks in the log of a View. kMoment is followed by a time and a number of stores. kDrop is followed by
    // a cache line, and kAcquire by a number of stores.
    enum Mark : uint32_t { kFirstMark = ~2u, kMoment = kFirstMark, kDrop, kAcquire };
    static constexpr uint32_t kLogged = 1 << 15;  // usual size of a log, in words
    struct Newer {
        Word* place;
        Word value;
    };

    Sector& sector_of(View& view, const Line& way, size_t sector) const {
        auto index = static_cast<size_t>(&way - view.sets[0].ways);
        return view.sectors[index * kSectors + sector % kSectors];
    }
    // Makes room in the log for `words` more words. If necessary, first adds a mark which says that the
    // following words belong to `time`. Returns the position of the first word.
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
    // Returns the slot of a word in the hash table. Neighbouring words have neighbouring slots.
    size_t slot_of(const void* place) const {
        constexpr unsigned kNeighbours = 16;
        uintptr_t word = reinterpret_cast<uintptr_t>(place) / sizeof(Word);
        size_t hash = word / kNeighbours * 0x9e3779b97f4a7c15u >> 32;
        return (hash * kNeighbours + word % kNeighbours) & (words_.size() - 1);
    }
    const Stored& stored_at(const Word* word) const;
    void grow();
    void put_back_all();

    uint32_t sets_ = 1;  // number of sets of each cache
    uint32_t launch_ = 0;
    std::vector<View> views_;
    std::vector<Store> history_;
    std::vector<Stored> words_ = std::vector<Stored>(1 << 12);  // a hash table, at most half full
    size_t words_taken_ = 0;
    std::vector<Newer> newer_;
};

}  // namespace emu
