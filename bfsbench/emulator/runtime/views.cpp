#include "views.h"

#include <algorithm>

namespace emu {

namespace {

// Steps after which other multiprocessors can see a store.
constexpr uint64_t kDelay = 2;

}  // namespace

void Views::begin_launch(unsigned multiprocessors, size_t cache) {
    put_back();
    sets_ = std::max<size_t>(1, cache / (kSector * kSectors * kWays));
    views_.assign(multiprocessors, {});
    if (!history_.empty()) std::fill(stored_.begin(), stored_.end(), false);
    history_.clear();
    stores_ = 0;
}

// In place of the one that has not been used for the longest time, if it is not there.
Views::Line& Views::line_of(View& view, uintptr_t line) {
    Line* first = &view.lines[line % (view.lines.size() / kWays) * kWays];
    Line* oldest = first;
    for (Line* way = first; way != first + kWays; ++way) {
        if (way->line == line) return *way;
        if (way->used < oldest->used) oldest = way;
    }
    *oldest = {};
    oldest->line = line;
    return *oldest;
}

bool Views::load(unsigned multiprocessor, uint64_t time, const char* address) {
    View& view = views_[multiprocessor];
    if (view.lines.empty()) view.lines.resize(sets_ * kWays);
    uintptr_t sector = reinterpret_cast<uintptr_t>(address) / kSector;
    Line& line = line_of(view, sector / kSectors);
    line.used = ++view.uses;
    Sector& found = line.sectors[sector % kSectors];
    if (!found.there || found.number < view.acquired) found = {time, stores_, true};
    return stored_[sector % kStored];
}

Views::Word Views::seen(const View& view, unsigned multiprocessor, uint64_t time, const Word* place) const {
    Word value = *place;
    auto found = history_.find(place);
    if (found == history_.end()) return value;
    for (auto store = found->second.rbegin(); store != found->second.rend(); ++store) {
        bool old = store->number <= view.acquired || store->time + kDelay <= time;
        if (old || store->multiprocessor == multiprocessor) break;
        value = store->before;
    }
    return value;
}

void Views::show(unsigned multiprocessor, uint64_t time, char* address, size_t bytes) {
    View& view = views_[multiprocessor];
    auto first = reinterpret_cast<uintptr_t>(address) / sizeof(Word) * sizeof(Word);
    for (uintptr_t at = first; at < reinterpret_cast<uintptr_t>(address) + bytes; at += sizeof(Word)) {
        uintptr_t sector = at / kSector;
        const Sector& found = line_of(view, sector / kSectors).sectors[sector % kSectors];
        auto* place = reinterpret_cast<Word*>(at);
        Word value = seen(view, multiprocessor, found.there ? found.time : time, place);
        if (value == *place) continue;
        newer_.push_back({place, *place});
        *place = value;
    }
}

void Views::store(unsigned multiprocessor, uint64_t time, const char* address, size_t bytes) {
    auto first = reinterpret_cast<uintptr_t>(address) / sizeof(Word) * sizeof(Word);
    ++stores_;
    for (uintptr_t at = first; at < reinterpret_cast<uintptr_t>(address) + bytes; at += sizeof(Word)) {
        auto* place = reinterpret_cast<const Word*>(at);
        stored_[at / kSector % kStored] = true;
        auto& stores = history_[place];
        if (stores.size() == kMostKept) stores.erase(stores.begin());
        stores.push_back({time, stores_, multiprocessor, *place});
    }
}

void Views::drop(unsigned multiprocessor, const char* address) {
    View& view = views_[multiprocessor];
    if (!view.lines.empty()) line_of(view, reinterpret_cast<uintptr_t>(address) / (kSector * kSectors)) = {};
}

void Views::put_back_all() {
    for (const Newer& newer : newer_) *newer.place = newer.value;
    newer_.clear();
}

}  // namespace emu
