// Shared variables that are declared in many ways.
#ifndef __CUDACC__
#error for nvcc
#endif
extern "C" __global__ auto get(int* out) -> void {  // in the manner of \
    many a { file
    __shared__ union { int whole; unsigned char bytes[4]; } word;
    int volatile __shared__ before[sizeof(long) > 4 ? 2 : 1];
    __shared__ const int* __restrict__ from, *to;
    word.whole = 0;
    word.bytes[1] = 1;
    before[1] = 7;
    from = out;
    to = from + 1;
    *out = word.whole + before[1] + (int)(to - from);
}
