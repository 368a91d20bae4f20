// Texture references, which programs for CUDA 11 and older use in place of texture objects.
#include <vector>

#include "expect.h"

texture<float, 1, cudaReadModeElementType> line;
texture<uchar4, cudaTextureType2D, cudaReadModeNormalizedFloat> pixels;
texture<float, 2> plane(false, cudaFilterModeLinear, cudaAddressModeClamp);
static texture<int2, 1> pairs;

__global__ void read(float *out) {
    out[0] = tex1Dfetch(line, 3);
    out[1] = tex2D(pixels, 1.5f, 0.5f).z;
    out[2] = tex2D(plane, 1.0f, 0.5f);
    out[3] = float(tex1Dfetch(pairs, 2).y);
}

// Names that are not CUDA's are free for programs.
struct Material {
    int texture;
};

int main() {
    std::vector<float> values = {0, 10, 20, 30, 40, 50, 60, 70};
    std::vector<uchar4> colours(4, uchar4{0, 0, 255, 0});
    std::vector<int2> numbers = {{0, 1}, {2, 3}, {4, 5}};
    float *device, *out;
    uchar4 *rows;
    int2 *more;
    DO(cudaMalloc(&device, 8 * sizeof(float)));
    DO(cudaMalloc(&out, 4 * sizeof(float)));
    size_t pitch, offset = 1;
    DO(cudaMallocPitch(&rows, &pitch, 2 * sizeof(uchar4), 2));
    DO(cudaMalloc(&more, 3 * sizeof(int2)));
    DO(cudaMemcpy(device, values.data(), 8 * sizeof(float), cudaMemcpyHostToDevice));
    DO(cudaMemcpy2D(rows, pitch, colours.data(), 8, 8, 2, cudaMemcpyHostToDevice));
    DO(cudaMemcpy(more, numbers.data(), 3 * sizeof(int2), cudaMemcpyHostToDevice));
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    DO(cudaMallocArray(&array, &format, 4, 2));
    DO(cudaMemcpyToArray(array, 0, 0, values.data(), 8 * sizeof(float), cudaMemcpyHostToDevice));

    DO(cudaBindTexture(nullptr, line, device, 8 * sizeof(float)));
    DO(cudaBindTexture2D(&offset, pixels, rows, 2, 2, pitch));
    TRUE(offset == 0);
    DO(cudaBindTextureToArray(plane, array, format));
    cudaChannelFormatDesc pair = cudaCreateChannelDesc<int2>();
    DO(cudaBindTexture(0, &pairs, more, &pair, 3 * sizeof(int2)));
    float found[4];
    auto run = [&] {
        read<<<1, 1>>>(out);
        DO(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
    };
    run();
    TRUE(found[0] == 30 && found[1] == 1 && found[2] == 5 && found[3] == 5);

    // A reference may be bound anew, and its settings count from then on.
    plane.addressMode[0] = cudaAddressModeClamp;
    plane.filterMode = cudaFilterModePoint;
    DO(cudaBindTextureToArray(plane, array));
    // Without an offset, memory must begin where textures may begin.
    IS(cudaErrorInvalidValue, cudaBindTexture(nullptr, line, device + 1));
    DO(cudaBindTexture(&offset, line, device + 1));
    TRUE(offset == sizeof(float));
    run();
    TRUE(found[0] == 30 && found[2] == 10);
    DO(cudaUnbindTexture(line));
    DO(cudaUnbindTexture(&pixels));
    DO(cudaUnbindTexture(plane));
    DO(cudaFreeArray(array));
    for (void *memory : {(void *)device, (void *)out, (void *)rows, (void *)more}) DO(cudaFree(memory));
    Material material = {failures};
    printf("%d failures\n", material.texture);
    return 0;
}
