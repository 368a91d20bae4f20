// Replaces CUDA's own cooperative_groups/reduce.h. The file declares nothing, because cuda_on_cpu.h declares cg::reduce.
#pragma once
