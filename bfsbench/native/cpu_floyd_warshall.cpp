// cpu_floyd_warshall: Floyd and Warshall's algorithm on one core (CSE 6230).
//
// Rows whose vertex does not reach k are passed over: with INFINITY in them no path gets shorter.
#include <algorithm>
#include <cstdint>

namespace {

constexpr int32_t kInfinity = 0x3FFFFFFF;

}  // namespace

extern "C" {

// distances: int32[n][n], the weights on entry.
void floyd_warshall(int64_t n, int32_t *distances) {
    for (int64_t k = 0; k < n; ++k) {
        const int32_t *from_k = distances + k * n;
        for (int64_t i = 0; i < n; ++i) {
            int32_t *row = distances + i * n;
            const int32_t to_k = row[k];
            if (to_k >= kInfinity || i == k) continue;
            for (int64_t j = 0; j < n; ++j) row[j] = std::min(row[j], to_k + from_k[j]);
        }
    }
}

// The same, with next_hops: int32[n][n], on entry the column where there is an arc, the row's own vertex on the
// diagonal, else -1.
void floyd_warshall_paths(int64_t n, int32_t *distances, int32_t *next_hops) {
    for (int64_t k = 0; k < n; ++k) {
        for (int64_t i = 0; i < n; ++i) {
            int32_t *row = distances + i * n, *hops = next_hops + i * n;
            const int32_t to_k = row[k];
            if (to_k >= kInfinity) continue;
            for (int64_t j = 0; j < n; ++j) {
                const int32_t length = to_k + distances[k * n + j];
                if (length < row[j]) {
                    row[j] = length;
                    hops[j] = hops[k];
                }
            }
        }
    }
}
}
