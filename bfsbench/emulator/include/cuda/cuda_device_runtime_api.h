// This header is empty, because cuda_on_cpu.h declares all of CUDA.
#pragma once
