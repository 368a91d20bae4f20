"""Declares a vertex-centric push search whose host loop runs as a CUDA graph."""

from collections.abc import Mapping

from bfsbench.backends.base import Argument
from bfsbench.variants.base import LEVEL_SCAN, Knob, LevelKernelVariant


class PushCudaGraph(LevelKernelVariant):
    """The search ``frontier_numbers``, with a host loop that launches several levels as one CUDA graph.

    The usual loop launches one level, and waits to learn whether the level has found a vertex. This search
    waits only once per CUDA graph, which has LEVELS_PER_LAUNCH levels. In exchange, the last CUDA graph may
    contain levels beyond the last level of the search. With LEVELS_PER_LAUNCH=0, the search uses the usual
    loop, so that the gain of the CUDA graph can be measured. A profiled search also uses the usual loop,
    because each level is timed.
    """

    name = "push_cuda_graph"
    summary = "frontier_numbers with LEVELS_PER_LAUNCH levels in each launch of a CUDA graph"
    origin = ("this project",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2V + E"
    synchronisation = "one launch of a CUDA graph for several levels"
    traffic = LEVEL_SCAN
    knobs = (
        Knob(
            "LEVELS_PER_LAUNCH",
            32,
            "levels in a launch of the CUDA graph; 0 launches one level at a time, without a CUDA graph",
            minimum=0,
            maximum=512,
        ),
    )
    check_knobs = ({"LEVELS_PER_LAUNCH": 0}, {"LEVELS_PER_LAUNCH": 3})

    def arguments(self) -> Mapping[str, Argument]:
        return {**super().arguments(), "first_level": self.first_level}

    def prepare(self) -> None:
        self.first_level = self.device.signal()
        super().prepare()
        self.levels_per_launch = 0 if self.records else int(self.knob["LEVELS_PER_LAUNCH"])
        if not self.levels_per_launch:
            return
        expand, num_blocks, places = self.expand, self.num_blocks, range(self.levels_per_launch)

        def launch_all() -> None:
            for place in places:
                expand(num_blocks, place)

        self.run_levels = self.device.capture(launch_all)

    def reset(self, source: int) -> None:
        super().reset(source)
        self.first_level.fill(0)

    def traverse(self, source: int) -> None:
        if not self.levels_per_launch:
            super().traverse(source)
            return
        level = 0
        while True:
            self.run_levels()
            self.mark(level, self.name)
            level += self.levels_per_launch
            if self.progress.read() != level:
                return
            self.first_level.fill(level)
