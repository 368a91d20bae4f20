// Writes findings and counts as text. Each line is a row of fields, separated by tabs. watch.py reads the
// rows.
#pragma once

#include <cstdint>
#include <cstdio>

#include "machine.h"

namespace emu {

// A function that returns a number for an instruction. From this number, bfsbench's Python code finds the
// source line in the debug information. The function returns 0 for a null pointer.
using Place = uint64_t (*)(const void* site);

// write_findings() writes the findings of a machine that checks memory accesses. write_counts() writes the
// counts of a machine that counts memory accesses. For any other machine, the functions write nothing.
// write_stream_races() writes the races between streams of a program with host code.
void write_stream_races(FILE* file, const Streams& streams, Place place);
void write_findings(FILE* file, const Machine& machine, Place place);
void write_counts(FILE* file, const Machine& machine, Place place);

}  // namespace emu
