// Replaces the header of thrust for its CUDA backend, which the emulator does not use.
#pragma once
#include <thrust/execution_policy.h>
