// Replaces CUDA's own cuda.h. In .cpp files that the emulator compiles, it also declares the runtime API.
#pragma once
#include "emu/host.h"
#include "emu/driver_api.h"
