#include "views.h"

#include <algorithm>

namespace emu {

namespace {

// Steps after which other multiprocessors can see a store.
constexpr uint64_t kDelay = 2;

}  // namespace

void Views::begin_launch(unsigned multiprocessors, size_t cache) {
    put_back();
    size_t sets = std::max<size_t>(1, cache / (kSector * kSectors * kWays));
    if (views_.size() != multiprocessors || sets != sets_) views_.assign(multiprocessors, {});
    sets_ = sets;
    ++launch_;
    for (View& view : views_) view.acquired = view.uses = 0;
    if (!history_.empty()) std::fill(stored_.begin(), stored_.end(), 0);
    history_.clear();
    stores_ = 0;
}

// In place of the one that has not been used for the longest time, if it is not there.
Views::Line& Views::line_of(View& view, size_t line) const {
    Line* first = &view.lines[static_cast<uint32_t>(line) % static_cast<uint32_t>(sets_) * kWays];
    Line* oldest = first;
    for (Line* way = first; way != first + kWays; ++way) {
        if (way->launch != launch_) way->used = 0;
        if (way->line == line && way->launch == launch_) return *way;
        if (way->used < oldest->used) oldest = way;
    }
    oldest->line = line;
    oldest->launch = launch_;
    oldest->there = 0;
    return *oldest;
}

// Null if it is not in the cache.
const Views::Sector* Views::cached(const View& view, size_t sector) const {
    if (view.lines.empty()) return nullptr;
    size_t line = sector / kSectors;
    const Line* first = &view.lines[static_cast<uint32_t>(line) % static_cast<uint32_t>(sets_) * kWays];
    for (const Line* way = first; way != first + kWays; ++way) {
        if (way->line != line || way->launch != launch_) continue;
        return way->there >> sector % kSectors & 1 ? &way->sectors[sector % kSectors] : nullptr;
    }
    return nullptr;
}

void Views::load(unsigned multiprocessor, uint64_t time, size_t place) {
    View& view = views_[multiprocessor];
    if (view.lines.empty()) view.lines.resize(sets_ * kWays);
    size_t sector = place / kSector;
    Line& line = line_of(view, sector / kSectors);
    line.used = ++view.uses;
    Sector& found = line.sectors[sector % kSectors];
    uint32_t bit = 1u << sector % kSectors;
    if (line.there & bit && found.number >= view.acquired) return;
    line.there |= bit;
    found = {time, stores_};
}

Views::Word Views::seen(const View& view, unsigned multiprocessor, uint64_t time, const Word* place) const {
    Word value = *place;
    auto found = history_.find(place);
    if (found == history_.end()) return value;
    const Stores& stores = found->second;
    for (unsigned i = stores.count; i-- > 0 && i + kMostKept >= stores.count;) {
        const Store& store = stores.latest[i % kMostKept];
        bool old = store.number <= view.acquired || store.time + kDelay <= time;
        if (old || store.multiprocessor == multiprocessor) break;
        value = store.before;
    }
    return value;
}

void Views::show(unsigned multiprocessor, uint64_t time, char* address, size_t bytes, size_t place) {
    const View& view = views_[multiprocessor];
    auto first = reinterpret_cast<uintptr_t>(address) / sizeof(Word) * sizeof(Word);
    for (uintptr_t at = first; at < reinterpret_cast<uintptr_t>(address) + bytes; at += sizeof(Word)) {
        const Sector* found = cached(view, (place + at - first) / kSector);
        auto* word = reinterpret_cast<Word*>(at);
        Word value = seen(view, multiprocessor, found && found->number >= view.acquired ? found->time : time, word);
        if (value == *word) continue;
        newer_.push_back({word, *word});
        *word = value;
    }
}

bool Views::stored_since(const char* address, uint64_t number) const {
    auto word = reinterpret_cast<uintptr_t>(address) / sizeof(Word) * sizeof(Word);
    auto found = history_.find(reinterpret_cast<const Word*>(word));
    if (found == history_.end()) return false;
    const Stores& stores = found->second;
    return stores.latest[(stores.count - 1) % kMostKept].number > number;
}

void Views::store(unsigned multiprocessor, uint64_t time, const char* address, size_t bytes) {
    auto first = reinterpret_cast<uintptr_t>(address) / sizeof(Word) * sizeof(Word);
    ++stores_;
    for (uintptr_t at = first; at < reinterpret_cast<uintptr_t>(address) + bytes; at += sizeof(Word)) {
        auto* place = reinterpret_cast<const Word*>(at);
        uintptr_t word = at / sizeof(Word);
        stored_[word / 64 % kStored] |= uint64_t{1} << word % 64;
        Stores& stores = history_[place];
        stores.latest[stores.count++ % kMostKept] = {time, stores_, multiprocessor, *place};
    }
}

void Views::drop(unsigned multiprocessor, size_t place) {
    View& view = views_[multiprocessor];
    if (!view.lines.empty()) line_of(view, place / (kSector * kSectors)).there = 0;
}

void Views::put_back_all() {
    for (const Newer& newer : newer_) *newer.place = newer.value;
    newer_.clear();
}

}  // namespace emu
