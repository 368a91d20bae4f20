// thrust::cuda::par, with which programs choose thrust's backend for CUDA. In the emulator it stands for thrust's
// sequential backend. Work of streams runs in order of issue, so the stream makes no difference.
#pragma once

namespace thrust {
namespace cuda {

struct DevicePolicy : std::decay_t<decltype(thrust::device)> {
    const DevicePolicy& on(cudaStream_t) const { return *this; }
    template <class Allocator> const DevicePolicy& operator()(Allocator&&) const { return *this; }
};
inline const DevicePolicy par{}, par_nosync{};

}  // namespace cuda
}  // namespace thrust
