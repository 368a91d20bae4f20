// Generators of graphs whose vertices have positions: points in a square, and pages on web hosts. The
// generators draw only integers, so a seed gives equal graphs on every machine and with any number of
// threads.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "edges.h"
#include "parallel.h"
#include "random.h"

using namespace bfsbench;

namespace {

enum Purpose : uint64_t { kPoints = 21, kHosts = 22, kLinks = 23 };

struct Point {
    int64_t x, y;
};

// Random points in a square of `side` x `side`. The constructor draws the points and sorts them by square
// cells, row by row.
class Cells {
  public:
    Cells(int64_t count, int64_t side, int64_t cell, uint64_t seed) : across_(side / cell), cell_(cell), points_(count) {
        const Stream stream(seed, kPoints);
        std::vector<Point> drawn(count);
        starts_.assign(across_ * across_ + 1, 0);
        for (int64_t i = 0; i < count; ++i) {
            Random random = stream.at(i);
            const int64_t x = random.below(side);
            drawn[i] = {x, random.below(side)};
            ++starts_[cell_of(drawn[i]) + 1];
        }
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
        for (const Point& point : drawn) points_[next[cell_of(point)]++] = point;
    }

    // Calls visit(v) for each point v > u within `radius` of point u. `radius` must not exceed the side of a
    // cell.
    template <class Visit>
    void each_near(int64_t u, int64_t radius, Visit visit) const {
        const Point here = points_[u];
        const int64_t row = std::min(here.y / cell_, across_ - 1), column = std::min(here.x / cell_, across_ - 1);
        for (int64_t r = row; r <= std::min(row + 1, across_ - 1); ++r) {
            const int64_t first = std::max<int64_t>(column - 1, 0), last = std::min(column + 1, across_ - 1);
            const int64_t begin = std::max(starts_[r * across_ + first], u + 1), end = starts_[r * across_ + last + 1];
            for (int64_t v = begin; v < end; ++v) {
                const int64_t dx = points_[v].x - here.x, dy = points_[v].y - here.y;
                if (dx * dx + dy * dy <= radius * radius) visit(v);
            }
        }
    }

  private:
    int64_t cell_of(const Point& point) const {
        return std::min(point.y / cell_, across_ - 1) * across_ + std::min(point.x / cell_, across_ - 1);
    }

    int64_t across_, cell_;
    std::vector<Point> points_;
    std::vector<int64_t> starts_;
};

// The web hosts of a generated crawl. Each range of `span` page ids belongs to two hosts. The second host
// begins at a random id of the range. If this id is the first of the range, the range has only one host.
struct Hosts {
    int64_t vertices, span;
    Stream splits;

    // Returns the ids of the first and the last page on the host of page `v`.
    std::pair<int64_t, int64_t> of(int64_t v) const {
        const int64_t begin = v / span * span, end = std::min(begin + span, vertices);
        const int64_t split = begin + splits.at(v / span).below(span);
        return v < split ? std::pair(begin, std::min(split, end) - 1) : std::pair(std::min(split, v), end - 1);
    }
};

}  // namespace

extern "C" {

// Generates a random geometric graph. It draws points uniformly from a square of `side` x `side` and joins
// points within `radius` of each other. The square is divided into square cells at least `radius` wide, and
// the vertices are numbered cell by cell.
int generate_geometric(int64_t vertices, int64_t side, int64_t radius, uint64_t seed, int threads, Allocate allocate) {
    return guarded([&] {
        int64_t across = 1;  // largest number of cells per row of the square
        while (across * across < vertices) across *= 2;
        const Cells cells(vertices, side, std::max(radius, side / across), seed);
        return emit_rows(vertices, threads, allocate,
                         [&](int64_t u, auto add) { cells.each_near(u, radius, [&](int64_t v) { add(u, v); }); });
    });
}

// Generates the links of a web crawl. The number of links of a page is skewed, with a mean of about `degree`.
// With chance `near`, a link goes to a page of the linking page's host, mostly to a page with a close id.
// Otherwise, with chance `hubs`, the link goes to a hub. Hubs are the first pages of spans of `span`
// consecutive ids, and spans with low ids are chosen most often. All other links go to any page.
int generate_crawl(int64_t vertices, int64_t degree, int64_t span, Chance near, Chance hubs, uint64_t seed, int threads,
                   Allocate allocate) {
    return guarded([&] {
        const Hosts hosts{vertices, span, Stream(seed, kHosts)};
        const Stream stream(seed, kLinks);
        const int64_t num_spans = (vertices + span - 1) / span;
        return emit_rows(vertices, threads, allocate, [&](int64_t v, auto add) {
            Random random = stream.at(v);
            const auto [first, last] = hosts.of(v);
            // The number of links is degree / 4, doubled k times. The chance of k is 2^-(k+1) for k < 6, and 2^-6 for
            // k = 6. So the mean is about degree.
            int doublings = 0;
            while (doublings < 6 && random.next() >> 63) ++doublings;
            const int64_t links = std::max<int64_t>(1, (degree << doublings) / 4);
            for (int64_t i = 0; i < links; ++i) {
                if (random.happens(near)) {
                    const int64_t reach = int64_t{1} << random.below(10), offset = random.below(2 * reach + 1) - reach;
                    add(v, std::clamp(v + offset, first, last));
                } else if (random.happens(hubs)) {
                    add(v, random.below(1 + random.below(1 + random.below(num_spans))) * span);
                } else {
                    add(v, random.below(vertices));
                }
            }
        });
    });
}

}  // extern "C"
