// The assert of emu/trap.h, which names the kernel and the thread, stays in force.
#pragma once
