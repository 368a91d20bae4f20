// Graph generators. Each exported function generates one family of graphs, except generate_weights and
// generate_cells. bfsbench/graphs/generators declares and checks the parameters, and names the paper or program
// that defines the family.
//
// If edges are independent, edge number i depends only on i, the seed and the parameters. emit_rows generates the
// edges of a row (a vertex or a row of a matrix) twice: once to count them and once to store them. The last
// parameters of a generator of graphs are the seed, the number of threads, and the function that provides the
// arrays. A generator that uses one thread leaves the number of threads unnamed. Each generator of graphs returns a
// Status.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "edges.h"
#include "parallel.h"
#include "random.h"

using namespace bfsbench;

namespace {

// The purpose of a random number. Numbers for different purposes come from different streams.
enum Purpose : uint64_t { kEdges = 1, kLabels = 2, kDegrees = 3, kPairing = 4, kRepair = 5, kCells = 6, kWeights = 7 };

// Returns a uniformly random permutation of 0 .. size - 1 (Fisher and Yates).
std::vector<int32_t> permutation(int64_t size, Stream stream) {
    std::vector<int32_t> labels(size);
    for (int64_t i = 0; i < size; ++i) {
        const int64_t j = stream.at(i).below(i + 1);
        labels[i] = labels[j];
        labels[j] = static_cast<int32_t>(i);
    }
    return labels;
}

// Generates a graph by the forest fire model. Vertices arrive one by one. The first `isolated` vertices get no arcs
// when they arrive. Each later vertex starts a fire at a random earlier vertex. The fire spreads along arcs in both
// directions, and the new vertex gets an arc to every vertex that the fire burns.
class Forest {
  public:
    Forest(int64_t vertices, int64_t isolated, Chance forward, Chance backward)
        : isolated_(isolated),
          forward_(forward),
          backward_(backward),
          starts_(vertices + 1, 0),
          in_(vertices),
          burned_by_(vertices, -1) {}

    void arrive(int32_t vertex, Random random) {
        if (vertex >= isolated_) {
            burn(static_cast<int32_t>(random.below(vertex)), vertex);
            // Burned vertices are appended to the new vertex's row in out_. The loop uses this row
            // as a queue: the fire spreads from each burned vertex in turn.
            for (size_t next = starts_[vertex]; next < out_.size(); ++next) {
                const int32_t burning = out_[next];
                spread(out_.data() + starts_[burning], starts_[burning + 1] - starts_[burning], forward_, vertex,
                       random);
                spread(in_[burning].data(), in_[burning].size(), backward_, vertex, random);
            }
            for (size_t arc = starts_[vertex]; arc < out_.size(); ++arc) in_[out_[arc]].push_back(vertex);
        }
        starts_[vertex + 1] = out_.size();
    }

    const std::vector<int32_t>& targets() const { return out_; }
    size_t row_end(int32_t vertex) const { return starts_[vertex + 1]; }

  private:
    // Burns some of a vertex's unburned neighbours, chosen uniformly. The number of burned neighbours is
    // geometrically distributed, but at most the number of unburned neighbours. `neighbours` may point into
    // out_, which grows during burning, so the neighbours are copied first.
    void spread(const int32_t* neighbours, size_t count, Chance chance, int32_t fire, Random& random) {
        size_t wanted = 0;
        while (wanted < count && random.happens(chance)) ++wanted;
        if (wanted == 0) return;
        unburned_.clear();
        std::copy_if(neighbours, neighbours + count, std::back_inserter(unburned_),
                     [&](int32_t v) { return burned_by_[v] != fire; });
        wanted = std::min(wanted, unburned_.size());
        for (size_t i = 0; i < wanted; ++i) {
            std::swap(unburned_[i], unburned_[i + random.below(unburned_.size() - i)]);
            burn(unburned_[i], fire);
        }
    }

    void burn(int32_t vertex, int32_t fire) {
        burned_by_[vertex] = fire;
        out_.push_back(vertex);
    }

    int64_t isolated_;
    Chance forward_, backward_;
    std::vector<size_t> starts_;
    std::vector<int32_t> out_;
    std::vector<std::vector<int32_t>> in_;
    std::vector<int32_t> burned_by_;
    std::vector<int32_t> unburned_;
};

// Weights of the four quadrants of a recursive matrix, in units of 2^-40. vary() multiplies each weight
// by a factor. Only the ratios of the weights matter.
struct Quadrants {
    int64_t upper_left, upper_right, lower_left, lower_right;

    // Multiplies the weight of each quadrant by a factor between 1 - noise / 2 and 1 + noise / 2. The unit of
    // `noise` is 2^-16. `draw` has 16 random bits for each factor.
    void vary(int64_t noise, uint64_t draw) {
        for (int64_t* weight : {&upper_left, &upper_right, &lower_left, &lower_right}) {
            const int64_t factor = (1 << 16) - noise / 2 + ((static_cast<int64_t>(draw & 0xFFFF) * noise) >> 16);
            *weight = (*weight * factor) >> 16;
            draw >>= 16;
        }
    }
};

// Draws the targets of the vertex `source`, and stores them in `row`. The targets are the next `degree`
// vertices on a ring. With chance `rewire`, a target is replaced by a random vertex that is neither `source`
// nor an earlier target. If a vertex of the ring is already a target, -1 is stored instead.
void small_world_row(int64_t source, int64_t vertices, int64_t degree, Chance rewire, Random random, int32_t* row) {
    for (int64_t slot = 0; slot < degree; ++slot) {
        const auto drawn = [&](int64_t v) { return std::find(row, row + slot, v) != row + slot; };
        int64_t target = (source + slot + 1) % vertices;
        if (random.happens(rewire)) {
            do target = random.below(vertices);
            while (target == source || drawn(target));
        }
        row[slot] = drawn(target) ? -1 : static_cast<int32_t>(target);
    }
}

// The degrees of a scale-free graph's vertices. In each whole group of `spacing` consecutive vertices, one vertex
// at a random place has `hub_degree`. All other vertices have degree 5, 6 or 7.
class DegreesWithHubs {
  public:
    DegreesWithHubs(int64_t vertices, int64_t spacing, int64_t hub_degree, uint64_t seed)
        : groups_(vertices / spacing),
          spacing_(spacing),
          hub_degree_(hub_degree),
          places_(seed, kLabels),
          degrees_(seed, kDegrees) {}

    int64_t of(int64_t vertex) const {
        const int64_t group = vertex / spacing_;
        const bool hub = group < groups_ && places_.at(group).below(spacing_) == vertex % spacing_;
        return hub ? hub_degree_ : 5 + degrees_.at(vertex).below(3);
    }

  private:
    int64_t groups_, spacing_, hub_degree_;
    Stream places_, degrees_;
};

// Assigns vertices to the 2 * `count` ends of the `count` edges, in random order (Fisher and Yates). The
// degree of a vertex is the number of its ends. If the degrees have an odd sum, the last end is left out.
void match_ends(const DegreesWithHubs& degrees, int64_t vertices, int64_t count, Stream stream, Edges edges) {
    const auto end = [&](int64_t i) -> int32_t& { return i < count ? edges.sources[i] : edges.targets[i - count]; };
    int64_t dealt = 0;
    for (int64_t v = 0; v < vertices; ++v)
        for (int64_t left = degrees.of(v); left > 0 && dealt < 2 * count; --left, ++dealt) {
            const int64_t place = stream.at(dealt).below(dealt + 1);
            end(dealt) = end(place);
            end(place) = static_cast<int32_t>(v);
        }
}

// Removes self loops. The target of a self loop is swapped with the target of a random edge that does not
// touch the vertex. Such an edge exists, because a hub has at most 1000 of at least 13,000 edge ends.
void part_self_loops(int64_t count, Stream stream, Edges edges) {
    for (int64_t i = 0; i < count; ++i) {
        Random random = stream.at(i);
        const int32_t vertex = edges.sources[i];
        while (edges.targets[i] == vertex) {
            const int64_t other = random.below(count);
            if (edges.sources[other] != vertex && edges.targets[other] != vertex)
                std::swap(edges.targets[i], edges.targets[other]);
        }
    }
}

}  // namespace

extern "C" {

// Generates `count` edges of a recursive matrix (R-MAT) with `vertices` rows and columns. The place of each
// edge is found by choosing quadrants repeatedly. Each choice halves the numbers of rows and columns, rounded
// down. `weights` contains the weights of the quadrants. If `noise` is not 0, the weights vary after each
// choice. If `shuffle` is not 0, the vertices get random ids.
int generate_rmat(int64_t vertices, int64_t count, const Quadrants* weights, int64_t noise, int64_t shuffle,
                  uint64_t seed, int threads, Allocate allocate) {
    return guarded([&] {
        const Stream stream(seed, kEdges);
        std::vector<int32_t> labels;
        if (shuffle) labels = permutation(vertices, Stream(seed, kLabels));
        return emit_edges(count, threads, allocate, [&](int64_t i) {
            Random random = stream.at(i);
            Quadrants now = *weights;
            int64_t source = 0, target = 0;
            for (int64_t step = vertices / 2; step > 0; step /= 2) {
                // Bitwise operators and multiplications replace branches that the processor could not
                // predict.
                const int64_t upper = now.upper_left + now.upper_right, first_three = upper + now.lower_left;
                const int64_t draw = random.below(first_three + now.lower_right);
                const int64_t lower = draw >= upper;
                const int64_t right = (draw >= first_three) | ((draw >= now.upper_left) & (draw < upper));
                source += lower * step;
                target += right * step;
                if (noise) now.vary(noise, random.next());
            }
            if (shuffle) return std::pair(labels[source], labels[target]);
            return std::pair(static_cast<int32_t>(source), static_cast<int32_t>(target));
        });
    });
}

int generate_uniform(int64_t vertices, int64_t count, uint64_t seed, int threads, Allocate allocate) {
    return guarded([&] {
        const Stream stream(seed, kEdges);
        return emit_edges(count, threads, allocate, [&](int64_t i) {
            Random random = stream.at(i);
            const auto source = static_cast<int32_t>(random.below(vertices));
            return std::pair(source, static_cast<int32_t>(random.below(vertices)));
        });
    });
}

int generate_small_world(int64_t vertices, int64_t degree, Chance rewire, uint64_t seed, int threads,
                         Allocate allocate) {
    return guarded([&] {
        const Stream stream(seed, kEdges);
        std::vector<int32_t> rows(vertices * degree);
        parallel_blocks(vertices, grain_of(vertices), threads, [&](int64_t first, int64_t last) {
            for (int64_t v = first; v < last; ++v)
                small_world_row(v, vertices, degree, rewire, stream.at(v), &rows[v * degree]);
        });
        const auto holds = [&](int64_t v, int64_t target) {
            const int32_t* row = &rows[v * degree];
            return std::find(row, row + degree, target) != row + degree;
        };
        return emit_rows(vertices, threads, allocate, [&](int64_t v, auto add) {
            for (int64_t slot = 0; slot < degree; ++slot) {
                const int32_t target = rows[v * degree + slot];
                const bool again = target >= 0 && target < v && holds(target, v);
                if (target >= 0 && !again) add(v, target);
            }
        });
    });
}

int generate_forest_fire(int64_t vertices, int64_t isolated, Chance forward, Chance backward, uint64_t seed, int,
                         Allocate allocate) {
    return guarded([&] {
        const Stream stream(seed, kEdges);
        Forest forest(vertices, isolated, forward, backward);
        for (int32_t v = 0; v < vertices; ++v) forest.arrive(v, stream.at(v));
        Edges edges;
        if (allocate(static_cast<int64_t>(forest.targets().size()), &edges)) return kOutOfMemory;
        std::copy(forest.targets().begin(), forest.targets().end(), edges.targets);
        size_t arc = 0;
        for (int32_t v = 0; v < vertices; ++v)
            for (; arc < forest.row_end(v); ++arc) edges.sources[arc] = v;
        return kDone;
    });
}

// Generates a grid from the first `vertices` cells of a box, in reading order. The box has `columns`
// columns, `rows` rows and as many layers as necessary. Edges lead to the next cell along each axis. If
// `diagonal` is not 0, edges also lead to the cell in the next column and the next row. Each edge is kept
// with chance `keep`.
int generate_box(int64_t columns, int64_t rows, int64_t vertices, int64_t diagonal, Chance keep, uint64_t seed,
                 int threads, Allocate allocate) {
    return guarded([&] {
        const Stream stream(seed, kEdges);
        return emit_rows(vertices, threads, allocate, [&](int64_t v, auto add) {
            const bool right = v % columns + 1 < columns;
            const bool down = v / columns % rows + 1 < rows;
            Random random = stream.at(v);
            const auto offer = [&](bool inside, int64_t target) {
                if (inside && target < vertices && random.happens(keep)) add(v, target);
            };
            offer(right, v + 1);
            offer(down, v + columns);
            offer(diagonal && right && down, v + columns + 1);
            offer(true, v + columns * rows);
        });
    });
}

// Generates a scale-free graph. DegreesWithHubs gives each vertex a number of edge ends. All ends are
// shuffled as one list. The two halves of the list are the arrays of sources and targets. Finally, each self
// loop swaps its target with another edge.
int generate_scale_free(int64_t vertices, int64_t spacing, int64_t hub_degree, uint64_t seed, int,
                        Allocate allocate) {
    return guarded([&] {
        const DegreesWithHubs degrees(vertices, spacing, hub_degree, seed);
        int64_t ends = 0;
        for (int64_t v = 0; v < vertices; ++v) ends += degrees.of(v);
        Edges edges;
        if (allocate(ends / 2, &edges)) return kOutOfMemory;
        match_ends(degrees, vertices, ends / 2, Stream(seed, kPairing), edges);
        part_self_loops(ends / 2, Stream(seed, kRepair), edges);
        return kDone;
    });
}

// Generates a dense graph. Row v of its matrix always has the entries v and v + 1 (modulo
// `vertices`). All other entries of the row exist with chance `density`. If a row would get more
// than `most` entries, the function drops random entries other than v and v + 1, until `most`
// entries are left.
int generate_dense(int64_t vertices, Chance density, int64_t most, uint64_t seed, int threads, Allocate allocate) {
    return guarded([&] {
        const Stream entries(seed, kEdges), culling(seed, kRepair);
        return emit_rows(vertices, threads, allocate, [&](int64_t v, auto add) {
            const int64_t next = (v + 1) % vertices;
            const auto certain = [&](int64_t column) { return column == v || column == next; };
            const bool cull = most < vertices;
            int64_t coming = 0;
            if (cull) {
                Random counting = entries.at(v);
                for (int64_t column = 0; column < vertices; ++column)
                    coming += counting.happens(density) && !certain(column);
            }
            // Selection sampling: `coming` random entries of the row are still to come, and the loop keeps
            // `wanted` of them.
            int64_t wanted = std::min(coming, most - (next == v ? 1 : 2));
            Random writing = entries.at(v), choice = culling.at(v);
            for (int64_t column = 0; column < vertices; ++column) {
                bool stays = writing.happens(density);
                if (stays && cull && !certain(column)) {
                    stays = choice.below(coming--) < wanted;
                    wanted -= stays;
                }
                if (stays || certain(column)) add(v, column);
            }
        });
    });
}

// Generates a directed graph that has each arc between two different vertices with chance `density`.
int generate_digraph(int64_t vertices, Chance density, uint64_t seed, int threads, Allocate allocate) {
    return guarded([&] {
        const Stream entries(seed, kEdges);
        return emit_rows(vertices, threads, allocate, [&](int64_t v, auto add) {
            Random random = entries.at(v);
            for (int64_t column = 0; column < vertices; ++column)
                if (random.happens(density) && column != v) add(v, column);
        });
    });
}

// Draws the weight of each edge, uniformly from 1 .. largest.
void generate_weights(int64_t edges, int64_t largest, uint64_t seed, int threads, int32_t* weights) {
    const Stream stream(seed, kWeights);
    parallel_blocks(edges, grain_of(edges), threads, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) weights[i] = 1 + static_cast<int32_t>(stream.at(i).below(largest));
    });
}

// Stores one byte for each cell of a map. With chance `blocked`, a cell is blocked and the byte is 0.
// Otherwise the byte is 1.
void generate_cells(int64_t cells, Chance blocked, uint64_t seed, uint8_t* open) {
    const Stream stream(seed, kCells);
    for (int64_t cell = 0; cell < cells; ++cell) open[cell] = !stream.at(cell).happens(blocked);
}

}  // extern "C"
