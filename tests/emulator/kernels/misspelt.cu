extern "C" __global__ void misspelt(int *out) {
    __shared__ int words
        [32];
    words[threadIdx.x] = 0;
    out[threadIdx.x] = wrods[threadIdx.x];
}
