// Replaces CUDA's own cuda_device_runtime_api.h. The file declares nothing, because cuda_on_cpu.h declares all of CUDA.
#pragma once
