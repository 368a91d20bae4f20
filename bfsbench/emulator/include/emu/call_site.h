#pragma once

namespace emu {

// The source line of a call to a barrier, to a warp function such as __shfl_sync, or to a function of CUDA's
// runtime API. Error messages name this line.
struct CallSite {
    int line;
    const char* file;
};
#define EMU_HERE {__builtin_LINE(), __builtin_FILE()}

}  // namespace emu
