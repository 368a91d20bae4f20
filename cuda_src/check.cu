// check: compares and sums arrays on the device, between timed runs.
//
// Downloading an answer takes longer than many searches. So these kernels compare an answer with the
// reference, which the host has uploaded. The host reads only the number of words that differ. The kernels
// also compute a checksum of the graph's arrays. The checksum changes when a search writes into one of these
// arrays.
#include "graph.cuh"

// Counts the elements of `found` that differ from `expected`, and adds their number to *differences.
//
// `expected` has num_rows rows of `width` elements. The rows of `found` are `pitch` elements apart. Row i of
// `expected` belongs to row rows[i] of `found`, or to row i if `rows` is null.
extern "C" __global__ void count_differences(const int *__restrict__ found, const int *__restrict__ expected,
                                             const int *__restrict__ rows, int num_rows, int width, int pitch,
                                             int *differences) {
    const long long items = (long long)num_rows * width;
    int different = 0;
    for (long long i = global_thread(); i < items; i += grid_threads()) {
        const long long row = i / width;
        const long long place = (rows ? rows[row] : row) * (long long)pitch + i % width;
        different += found[place] != expected[i];
    }
    if (different) atomicAdd(differences, different);
}

// Adds a hash of each word and its index to *sum. The order of the additions does not matter.
extern "C" __global__ void sum_words(const void *__restrict__ array, long long num_words, unsigned long long *sum) {
    // An array of any type is summed as 32-bit words.
    const unsigned *words = static_cast<const unsigned *>(array);
    unsigned long long mine = 0;
    for (long long i = global_thread(); i < num_words; i += grid_threads()) {
        // benign unwritten read: an array may have alignment gaps, which no kernel writes
        unsigned long long hash = (words[i] + 1ull) * 0x9e3779b97f4a7c15ull ^ (unsigned long long)i * 0xd1b54a32d192ed03ull;
        hash = (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9ull;
        mine += hash ^ hash >> 29;
    }
    if (mine) atomicAdd(sum, mine);
}
