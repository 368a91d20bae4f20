// Work in several streams. The first argument chooses a case. A second argument leaves out what orders the work.
#include <cstdio>
#include <cstdlib>

constexpr int kSize = 64, kBytes = kSize * sizeof(int);

__global__ void produce(int *x) { x[threadIdx.x] = threadIdx.x; }  // produce
__global__ void consume(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x]; }  // consume
__global__ void produce_bytes(char *x) { x[2 * threadIdx.x] = 1; }
__global__ void count(int *x) { atomicAdd(x, 1); }
__global__ void hand_over(int *x, int *flag) {
    x[threadIdx.x] = 1;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *static_cast<volatile int *>(flag) = 1;
}
__global__ void take(int *x, int *flag) {
    if (threadIdx.x == 0) {
        while (!*static_cast<volatile int *>(flag)) {
        }
    }
    __syncthreads();
    __threadfence();
    x[threadIdx.x] = 2;
}
__managed__ int shared_sum;
__global__ void add(const int *x) { atomicAdd(&shared_sum, x[threadIdx.x]); }  // managed
__device__ int variable[kSize];
__global__ void use_variable(int *y) { y[threadIdx.x] = variable[threadIdx.x]; }  // variable

bool ordered;
int *x, *y, *pinned, *managed, sum;
cudaStream_t a, b, beside;
cudaEvent_t done;

void after(cudaStream_t later, cudaStream_t earlier) {
    if (!ordered) return;
    cudaEventRecord(done, earlier);
    cudaStreamWaitEvent(later, done);
}

void between_streams(int wanted) {
    int *own;
    if (wanted == 1) {
        produce<<<1, kSize, 0, a>>>(x);  // launch in a
        after(b, a);
        consume<<<1, kSize, 0, b>>>(x, y);
    }
    if (wanted == 2) {
        cudaMemsetAsync(x, 0, kBytes, a);  // memset in a
        consume<<<1, kSize, 0, a>>>(x, y);
        after(b, a);
        cudaMemsetAsync(x, 1, kBytes / 2, b);  // memset in b
    }
    if (wanted == 3) {  // the event comes too early
        cudaEventRecord(done, a);
        produce<<<1, kSize, 0, a>>>(x);
        if (ordered) cudaEventRecord(done, a);
        cudaStreamWaitEvent(b, done);
        cudaMemcpyAsync(y, x, kBytes, cudaMemcpyDeviceToDevice, b);  // copy in b
    }
    if (wanted == 4) {
        cudaMemset(x, 0, kBytes);  // memset
        consume<<<1, kSize, 0, ordered ? a : beside>>>(x, y);
    }
    if (wanted == 5) {
        produce<<<1, kSize, 0, ordered ? a : beside>>>(x);
        cudaMemcpy(pinned, x, kBytes, cudaMemcpyDeviceToHost);  // copy
    }
    if (wanted == 6) {
        cudaMallocAsync(&own, kBytes, a);  // allocation
        after(b, a);
        produce<<<1, kSize, 0, b>>>(own);
        after(a, b);
        cudaFreeAsync(own, a);  // free in a
    }
    if (wanted == 7) {
        cudaMallocAsync(&own, kBytes, a);
        produce<<<1, kSize, 0, a>>>(own);
        if (ordered) cudaStreamSynchronize(a);
        cudaFree(own);  // free
    }
    if (wanted == 8) {
        cudaMemcpyToSymbolAsync(variable, pinned, kBytes, 0, cudaMemcpyHostToDevice, a);  // symbol
        after(b, a);
        use_variable<<<1, kSize, 0, b>>>(y);
    }
    if (wanted == 9) {
        const size_t width = kBytes / 4;
        cudaMemset2DAsync(x, width, 0, width, 4, a);  // rows in a
        after(b, a);
        cudaPitchedPtr layers = make_cudaPitchedPtr(x, width, width, 2);
        cudaMemset3DAsync(layers, 1, make_cudaExtent(width, 2, 2), b);  // layers in b
    }
}

void with_host(int wanted) {
    int *pageable = static_cast<int *>(malloc(kBytes));
    if (wanted == 21) {
        cudaMemcpyAsync(pinned, x, kBytes, cudaMemcpyDeviceToHost, a);  // copy to pinned memory
        if (ordered) cudaStreamSynchronize(a);
        sum = pinned[5];  // read pinned memory
    }
    if (wanted == 22) {
        cudaMemcpyAsync(pageable, x, kBytes, cudaMemcpyDeviceToHost, a);  // copy to pageable memory
        cudaEventRecord(done, a);
        if (ordered) cudaEventSynchronize(done);
        sum = pageable[5];  // read pageable memory
    }
    if (wanted == 23) {
        for (int i = 0; i < 3; ++i) {
            pinned[5] = i;  // overwrite
            cudaMemcpyAsync(x, pinned, kBytes, cudaMemcpyHostToDevice, a);  // copy from pinned memory
            while (ordered && cudaStreamQuery(a) == cudaErrorNotReady) {
            }
        }
    }
    if (wanted == 24) {
        produce<<<1, kSize>>>(managed);
        if (ordered) cudaDeviceSynchronize();
        sum = managed[5];  // read managed memory
    }
    if (wanted == 25) {
        add<<<1, kSize, 0, a>>>(x);
        if (ordered) cudaStreamSynchronize(0);  // waits for all blocking streams
        sum = shared_sum;  // read a managed variable
    }
    if (wanted == 26) {
        produce<<<1, kSize>>>(managed);
        cudaStreamSynchronize(ordered ? 0 : a);  // stream a is empty
        sum = managed[6];  // read too early
    }
    cudaDeviceSynchronize();
    free(pageable);
}

void set(void *flag) { *static_cast<int *>(flag) = 1; }

// Correct programs that look as if they had races.
void correct() {
    produce<<<1, kSize / 2, 0, a>>>(x);
    produce<<<1, kSize / 2, 0, beside>>>(x + kSize / 2);
    produce_bytes<<<1, kSize, 0, a>>>(reinterpret_cast<char *>(y));
    produce_bytes<<<1, kSize, 0, beside>>>(reinterpret_cast<char *>(y) + 1);
    cudaDeviceSynchronize();
    count<<<1, kSize, 0, a>>>(x);
    count<<<1, kSize, 0, b>>>(x);
    cudaDeviceSynchronize();
    consume<<<1, kSize, 0, a>>>(x, y);
    consume<<<1, kSize, 0, b>>>(x, managed);
    produce<<<1, kSize>>>(x);  // the default stream waits for both
    produce<<<1, kSize, 0, a>>>(x);
    cudaMemcpy(pinned, x, kBytes, cudaMemcpyDeviceToHost);
    sum += pinned[1] + managed[1];

    // the host learns from a callback and from a volatile word what a stream has done
    int called = 0;
    produce<<<1, kSize, 0, beside>>>(managed);
    cudaLaunchHostFunc(beside, set, &called);
    if (called) sum += managed[1];
    volatile int *flag = pinned;
    pinned[0] = 0;
    cudaMemset(y, 0, 4);
    hand_over<<<1, kSize, 0, a>>>(managed, pinned);
    while (!*flag) {
    }
    sum += managed[1];
    hand_over<<<1, kSize, 0, a>>>(x, y);
    take<<<1, kSize, 0, beside>>>(x, y);

    // two buffers in turn, and two streams
    cudaDeviceSynchronize();
    cudaEvent_t copied[2], used[2];
    for (int i = 0; i < 2; ++i) cudaEventCreate(&copied[i]), cudaEventCreate(&used[i]);
    for (int i = 0; i < 6; ++i) {
        int *here = i % 2 ? x : y;
        cudaStreamWaitEvent(a, used[i % 2]);
        cudaEventSynchronize(copied[i % 2]);
        pinned[i % 2 * kSize] = i;
        cudaMemcpyAsync(here, pinned + i % 2 * kSize, kBytes, cudaMemcpyHostToDevice, a);
        cudaEventRecord(copied[i % 2], a);
        cudaStreamWaitEvent(beside, copied[i % 2]);
        consume<<<1, kSize, 0, beside>>>(here, managed);
        cudaEventRecord(used[i % 2], beside);
    }
    cudaEventSynchronize(used[0]);
    cudaEventSynchronize(used[1]);
    sum += managed[1];
    for (int i = 0; i < 3; ++i) {
        cudaStream_t brief;
        cudaStreamCreate(&brief);
        cudaMemcpyAsync(&sum, x, 4, cudaMemcpyDeviceToHost, brief);
        cudaStreamSynchronize(brief);
        cudaStreamDestroy(brief);
        sum += 1;
    }
    int local = 5;
    cudaMemcpyAsync(x, &local, 4, cudaMemcpyHostToDevice, a);  // the driver copies pageable memory at once
    local = 6;
    cudaStreamSynchronize(beside);
    sum += local + managed[1];
    void *taken;
    produce<<<1, kSize, 0, a>>>(y);
    cudaMalloc(&taken, 4);
    produce<<<1, kSize, 0, beside>>>(y);
    cudaFree(taken);
}

int main(int argc, char **argv) {
    int wanted = atoi(argv[1]);
    ordered = argc == 2;
    cudaMalloc(&x, kBytes);
    cudaMalloc(&y, kBytes);
    cudaMallocHost(&pinned, 2 * kBytes);
    cudaMallocManaged(&managed, kBytes);
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking);
    cudaEventCreate(&done);
    cudaMemset(x, 0, kBytes);
    cudaDeviceSynchronize();
    if (wanted == 0) correct();
    between_streams(wanted);
    with_host(wanted);
    cudaFree(x);
    cudaFree(y);
    cudaFree(managed);
    cudaFreeHost(pinned);
    printf("%d\n", sum > 0);
}
