#include "report.h"

#include <cinttypes>

namespace emu {

namespace {

void write_actor(FILE* file, const Actor& actor, Place place) {
    const ThreadPlace& at = actor.at;
    fprintf(file, "\t%" PRIu64 "\t%d\t%d\t%u\t%u\t%s\t%s\t%s\t%d", place(actor.site), actor.act, actor.scope, at.block, at.thread,
            number_or_coordinates(at.block, at.blocks).c_str(), number_or_coordinates(at.thread, at.threads).c_str(),
            actor.from.file ? actor.from.file : "", actor.from.line);
}

}  // namespace

void write_findings(FILE* file, const Machine& machine, Place place) {
    if (!machine.watch) return;
    fprintf(file, "ended\t%" PRIu64 "\n", machine.watch->ended_threads);
    for (const Finding& found : machine.watch->findings()) {
        fprintf(file, "finding\t%d\t%d", found.fault, found.space);
        write_actor(file, found.actor, place);
        write_actor(file, found.other, place);
        const char* what = found.space == static_cast<int>(Space::array) ? found.begin : found.waits.c_str();
        fprintf(file, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\t%" PRIu64 "\t%s\t%s\t%s\t%u\t%s\t%d\t%" PRIu64 "\n", found.bytes, found.element, found.offset,
                found.count, found.kernel, what, found.name ? found.name : "", found.width,
                found.origin.from.file ? found.origin.from.file : "", found.origin.from.line, place(found.origin.site));
    }
}

void write_stream_races(FILE* file, const Streams& streams, Place place) {
    for (const StreamRace& race : streams.races()) {
        fprintf(file, "streams\t%" PRIu64 "\t%s\t%s\t%d\t%" PRIu64, race.count, race.where.c_str(), race.origin.from.file ? race.origin.from.file : "",
                race.origin.from.line, place(race.origin.site));
        for (const auto& [of, act, instruction] : race.sides) {
            fprintf(file, "\t%s\t%d\t%d\t%s\t%d\t%" PRIu64 "\t%" PRIu64, of.name, static_cast<int>(of.stream), static_cast<int>(act),
                    of.from.file ? of.from.file : "", of.from.line, place(of.site), place(instruction));
        }
        fputc('\n', file);
    }
}

void write_counts(FILE* file, const Machine& machine, Place place) {
    if (!machine.counting) return;
    for (const PhaseCount& l : machine.counting->phases()) {
        fprintf(file, "launch\t%s\t%u\t%d\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
                l.kernel, l.launch, l.phase, l.blocks, l.threads, l.shared, l.longest.all, l.longest.far, l.longest.near, l.longest.shared, l.longest.atomics, l.longest.barriers);
    }
    for (const Count& c : machine.counting->counts()) {
        fprintf(file, "count\t%" PRIu64 "\t%u\t%d\t%d\t%d", place(c.site), c.launch, c.phase, static_cast<int>(c.kind), static_cast<int>(c.memory));
        for (uint64_t number : {c.executions, c.lanes, c.bytes, c.polls, c.sectors, c.distinct_sectors, c.far_sectors, c.streamed_sectors, c.passes,
                                c.conflicts, c.collisions, c.most_collisions, c.hottest}) {
            fprintf(file, "\t%" PRIu64, number);
        }
        fputc('\n', file);
    }
}

}  // namespace emu
