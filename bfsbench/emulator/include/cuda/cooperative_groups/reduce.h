// This header is empty, because cuda_on_cpu.h declares cg::reduce.
#pragma once
