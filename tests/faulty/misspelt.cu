extern "C" __global__ void misspelt(int *levels) {
    levels[0] = no_such_name;
}
