// This header is empty, because cuda_on_cpu.h declares cg::inclusive_scan and cg::exclusive_scan.
#pragma once
