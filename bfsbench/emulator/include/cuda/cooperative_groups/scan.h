// Replaces CUDA's own cooperative_groups/scan.h. The file declares nothing, because
// cuda_on_cpu.h declares cg::inclusive_scan and cg::exclusive_scan.
#pragma once
