#include "views.h"

#include <algorithm>
#include <utility>

namespace emu {

namespace {

// Number of rounds after which other multiprocessors see a store. In a round, each warp of a block performs
// one memory access.
constexpr uint64_t kDelay = 2;

}  // namespace

void Views::begin_launch(unsigned multiprocessors, size_t cache) {
    put_back();
    auto sets = static_cast<uint32_t>(std::max<size_t>(1, cache / (kSector * kSectors * kWays)));
    if (views_.size() != multiprocessors) views_.resize(multiprocessors);
    sets_ = sets;
    ++launch_;
    for (View& view : views_) {
        view.acquired = view.acquired_then = view.uses = view.logged = 0;
        view.marked = false;
        if (view.sets.size() >= sets) continue;
        view.sets.resize(sets);
        view.sectors.resize(sets * kWays * kSectors);
    }
    if (changes.stores) changes = {};
    history_.clear();
    words_taken_ = 0;
    changes.stores = 0;
}

// Returns the cache line with this number. If the cache does not hold the line, the function replaces the
// least recently used line.
Views::Line& Views::line_of(View& view, uint32_t line) const {
    Set& set = view.sets[line % sets_];
    for (Line& way : set.ways) {
        if (way.is(line, launch_)) return way;
    }
    auto used = [this](const Line& way) { return way.launch == launch_ ? way.used : 0; };
    Line& oldest = *std::min_element(set.ways, set.ways + kWays,
                                     [&](const Line& a, const Line& b) { return used(a) < used(b); });
    oldest = {line, launch_, used(oldest), 0};
    return oldest;
}

// Returns a sector of the cache, or null if the sector is not in the cache.
const Views::Sector* Views::cached(View& view, size_t sector) const {
    auto line = static_cast<uint32_t>(sector / kSectors);
    for (const Line& way : view.sets[line % sets_].ways) {
        if (!way.is(line, launch_)) continue;
        return way.there >> sector % kSectors & 1 ? &sector_of(view, way, sector) : nullptr;
    }
    return nullptr;
}

void Views::load_sector(View& view, uint32_t sector, Sector now) {
    Line& line = line_of(view, sector / kSectors);
    line.used = ++view.uses;
    Sector& found = sector_of(view, line, sector);
    uint32_t bit = 1u << sector % kSectors;
    if (line.there & bit && found.number >= view.acquired_then) return;
    line.there |= bit;
    found = now;
}

void Views::make_room(View& view, unsigned words) {
    if (view.logged) follow_log(view);
    view.log.resize(std::max(kLogged, words));
}

void Views::log_mark(View& view, Mark mark, uint32_t value) {
    constexpr unsigned kWords = 2;
    if (view.logged + kWords > view.log.size()) make_room(view, kWords);
    view.log[view.logged] = mark, view.log[view.logged + 1] = value;
    view.logged += kWords;
}

// Brings the cache up to date: applies all loads and marks in the log to the cache, and empties the log.
void Views::follow_log(View& view) {
    Sector now{};
    const uint32_t* end = view.log.data() + view.logged;
    for (const uint32_t* word = view.log.data(); word < end; ++word) {
        if (*word < kFirstMark) {
            load_sector(view, *word, now);
        } else if (*word == kMoment) {
            now = {word[1], word[2]};
            word += 2;
        } else if (*word == kDrop) {
            line_of(view, *++word).there = 0;
        } else {
            view.acquired_then = *++word;
        }
    }
    view.logged = 0;
    view.marked = false;
}

// Returns the slot of the hash table that describes the stores to a word. The slot is free if this launch has
// not stored to the word.
const Views::Stored& Views::stored_at(const Word* word) const {
    size_t mask = words_.size() - 1;
    for (size_t slot = slot_of(word);; slot = (slot + 1) & mask) {
        const Stored& found = words_[slot];
        if (found.launch != launch_ || found.word == word) return found;
    }
}

Views::Word Views::seen(const View& view, unsigned multiprocessor, uint64_t time, const Word* place) const {
    Word value = *place;
    const Stored& stored = stored_at(place);
    if (stored.launch != launch_) return value;
    uint32_t next = stored.latest;
    for (unsigned i = 0; i < kMostKept && next != kNone; ++i) {
        const Store& store = history_[next];
        bool old = store.number <= view.acquired || store.time + kDelay <= time;
        if (old || store.multiprocessor == multiprocessor) break;
        value = store.before;
        next = store.previous;
    }
    return value;
}

void Views::show(unsigned multiprocessor, uint64_t time, char* address, size_t bytes, size_t place) {
    View& view = views_[multiprocessor];
    // Number of bytes of the first word that lie before the address.
    size_t before = reinterpret_cast<uintptr_t>(address) % sizeof(Word);
    for (size_t at = 0; at < before + bytes; at += sizeof(Word)) {
        auto* word = reinterpret_cast<Word*>(address - before + at);
        const Stored& stored = stored_at(word);
        if (stored.launch != launch_ || history_[stored.latest].multiprocessor == multiprocessor) continue;
        if (view.logged) follow_log(view);
        const Sector* found = cached(view, (place - before + at) / kSector);
        Word value = seen(view, multiprocessor, found && found->number >= view.acquired ? found->time : time, word);
        if (value == *word) continue;
        newer_.push_back({word, *word});
        changes.put_aside = true;
        *word = value;
    }
}

bool Views::stored_since(const char* address, uint64_t number) const {
    auto word = reinterpret_cast<uintptr_t>(address) / sizeof(Word) * sizeof(Word);
    const Stored& stored = stored_at(reinterpret_cast<const Word*>(word));
    return stored.launch == launch_ && history_[stored.latest].number > number;
}

void Views::store(unsigned multiprocessor, uint64_t time, const char* address, size_t bytes) {
    auto first = reinterpret_cast<uintptr_t>(address) / sizeof(Word) * sizeof(Word);
    ++changes.stores;
    for (uintptr_t at = first; at < reinterpret_cast<uintptr_t>(address) + bytes; at += sizeof(Word)) {
        auto* place = reinterpret_cast<const Word*>(at);
        changes.note_store(at / sizeof(Word));
        if (2 * (words_taken_ + 1) > words_.size()) grow();
        auto& stored = const_cast<Stored&>(stored_at(place));
        bool again = stored.launch == launch_;
        uint32_t previous = again ? stored.latest : kNone;
        words_taken_ += !again;
        stored = {place, launch_, static_cast<uint32_t>(history_.size())};
        history_.push_back({static_cast<uint32_t>(time), changes.stores, multiprocessor, *place, previous});
    }
}

void Views::grow() {
    std::vector<Stored> before = std::exchange(words_, std::vector<Stored>(2 * words_.size()));
    for (const Stored& stored : before) {
        if (stored.launch == launch_) const_cast<Stored&>(stored_at(stored.word)) = stored;
    }
}

void Views::drop(unsigned multiprocessor, size_t place) {
    log_mark(views_[multiprocessor], kDrop, static_cast<uint32_t>(place / (kSector * kSectors)));
}

void Views::acquire(unsigned multiprocessor) {
    View& view = views_[multiprocessor];
    if (view.acquired == changes.stores) return;
    view.acquired = changes.stores;
    log_mark(view, kAcquire, changes.stores);
}

void Views::put_back_all() {
    for (const Newer& newer : newer_) *newer.place = newer.value;
    newer_.clear();
    changes.put_aside = false;
}

}  // namespace emu
