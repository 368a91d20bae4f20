// Replaces CUDA's own device_launch_parameters.h. The file declares nothing, because cuda_on_cpu.h declares all of CUDA.
#pragma once
