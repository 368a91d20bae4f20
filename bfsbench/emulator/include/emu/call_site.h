#pragma once

namespace emu {

// The source line that calls a barrier, a function of a warp, or the runtime API.
struct CallSite {
    int line;
    const char* file;
};
#define EMU_HERE {__builtin_LINE(), __builtin_FILE()}

}  // namespace emu
