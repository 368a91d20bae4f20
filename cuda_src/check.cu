// check: operations on arrays between timed runs, on the device.
//
// Downloading an answer to compare it on the host takes longer than many searches, so an answer is compared with
// the uploaded reference here, and only how many words differ goes to the host. The arrays of a graph are summed up
// in the same way: a kernel that writes into one changes the sum.
#include "graph.cuh"

// Adds the number of elements in which found differs from expected to *differences.
//
// expected has num_rows rows of width elements; found has its rows at a distance of pitch elements, row i of expected
// being row rows[i] of found, or row i where rows is null.
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

// Adds a hash of each word and its place to *sum, so the order in which threads add does not matter.
extern "C" __global__ void sum_words(const void *__restrict__ array, long long num_words, unsigned long long *sum) {
    const unsigned *words = static_cast<const unsigned *>(array);  // of whatever type its elements are
    unsigned long long mine = 0;
    for (long long i = global_thread(); i < num_words; i += grid_threads()) {
        // benign unwritten: a gap between the parts of an array keeps what it happens to hold
        unsigned long long hash = (words[i] + 1ull) * 0x9e3779b97f4a7c15ull ^ (unsigned long long)i * 0xd1b54a32d192ed03ull;
        hash = (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9ull;
        mine += hash ^ hash >> 29;
    }
    if (mine) atomicAdd(sum, mine);
}
