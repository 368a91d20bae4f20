"""Declares the variant that finds all-pairs shortest paths by Floyd and Warshall's algorithm in tiles."""

from collections.abc import Mapping

from bfsbench.support.errors import LaunchError
from bfsbench.variants.base import KernelAllPairs, Knob, KnobValue


class ApspFwBlocked(KernelAllPairs):
    """The blocked Floyd-Warshall algorithm of a paper for the course CSE 6230.

    The course paper follows two earlier papers: by Venkataraman, Sahni and Mukhopadhyaya, and by Katz and
    Kider. Its best results were measured with 4 x 2 elements per thread on a Tesla M2090. It does not give
    the size of its tiles.

    This version differs from the course paper in two ways. First, the pivot tile is already complete in the
    second phase, so the kernel multiplies each tile by the pivot tile instead of doing one step for each k.
    Second, the matrix is padded to whole tiles.
    """

    name = "apsp_fw_blocked"
    aliases = ("blocked_floyd_warshall",)
    summary = "Floyd-Warshall by tiles, in three phases for each tile on the diagonal"
    origin = ("CSE 6230, Blocked Floyd Warshall Algorithm",)
    parallel_unit = "a block per tile, a thread per ELEMENTS_X x ELEMENTS_Y pairs"
    work = "O(V^3)"
    knobs = (
        Knob("TILE_SIZE", 64, "rows and columns of a tile", choices=(32, 64, 128), compile_time=True),
        Knob("ELEMENTS_X", 4, "columns of a tile a thread takes", choices=(1, 2, 4, 8), compile_time=True),
        Knob("ELEMENTS_Y", 2, "rows of a tile a thread takes", choices=(1, 2, 4, 8), compile_time=True),
    )
    check_knobs = ({"TILE_SIZE": 32},)

    @classmethod
    def own_block(cls, knobs: Mapping[str, KnobValue]) -> int:
        tile, x, y = (int(knobs[knob.name]) for knob in cls.knobs)
        return tile * tile // (x * y)

    def tile(self) -> int:
        return int(self.knob["TILE_SIZE"])

    def prepare(self) -> None:
        most = self.device.limits.max_threads_per_block
        if self.block > most:
            raise LaunchError(
                f"a tile of {self.tile()} x {self.tile()} with so few elements per thread takes "
                f"{self.block:,} threads a block, but the device has {most:,}"
            )
        super().prepare()
        self.num_tiles = self.pitch // self.tile()
        self.pivot, self.cross, self.rest = (
            self.kernel(f"{self.name.removesuffix('_blocked')}_{phase}").bind(
                **self.padded(), block=self.block, scalars=1
            )
            for phase in ("pivot", "cross", "rest")
        )

    def solve(self) -> None:
        others = self.num_tiles - 1
        for pivot in range(self.num_tiles):
            self.pivot(1, pivot)
            if others:
                self.cross(2 * others, pivot)
                self.rest(others * others, pivot)
