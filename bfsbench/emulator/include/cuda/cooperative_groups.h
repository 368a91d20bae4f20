// Replaces CUDA's own cooperative_groups.h. The file declares nothing, because
// cuda_on_cpu.h declares CUDA's cooperative groups.
#pragma once
