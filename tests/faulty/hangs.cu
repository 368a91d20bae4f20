// Waits for a store that never comes.
extern "C" __global__ void hangs(int *levels, int *progress, int level) {
    while (atomicAdd(&levels[0], 0) != -2) {
    }
}
