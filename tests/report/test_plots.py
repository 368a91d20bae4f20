"""Pictures show the values of the rows."""

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from level_rows import level, profiled
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from result_rows import emulated_row, failed_row, frame, host_row, row, write

from bfsbench.reports.levels import read_levels
from bfsbench.reports.plots import PLOTS, NothingToDrawError, draw, save, saved
from bfsbench.reports.plots.picture import number, wrapped
from bfsbench.reports.rows import SPEED_UP, STATISTIC, TYPICAL
from bfsbench.rows.results import read_results
from bfsbench.support.errors import UsageError
from tests.commands import bfsbench, invoke, refused


def read_profiled(folder: Path, rows: list[dict[str, Any]], levels: list[Mapping[str, Any]]) -> pd.DataFrame:
    """Level profiles as a report gets them."""
    return read_levels([profiled(folder, rows, levels)])


def panel(*drawing: Any, **options: Any) -> Axes:
    """The one panel of the one picture that is drawn."""
    (picture,) = draw(*drawing, **options)
    (axes,) = picture.figure.axes
    return axes


def words_below(axes: Axes) -> str:
    """The words below a panel and below all panels of its picture, without their line breaks."""
    meanings = (axes.figure.get_supxlabel(), *(one.get_title().get_text() for one in axes.figure.legends))
    return " ".join(" ".join((axes.get_xlabel(), *meanings)).split())


def widths(axes: Axes) -> dict[str, float]:
    """Ends of horizontal bars by the names beside them, or beside the first panel."""
    assert axes.figure is not None
    names = [text.get_text() for text in axes.figure.axes[0].get_yticklabels()]
    return {
        names[round(bar.get_y() + bar.get_height() / 2)]: bar.get_x() + bar.get_width()
        for bar in axes.patches
    }


def test_bars_are_as_long_as_the_best_times_over_that_of_the_graph(tmp_path: Path) -> None:
    rows = [row(3.0, block=64), row(2.0), row(5.0, variant="push"), host_row(9.0), row(1.0, graph="other")]
    (picture,) = draw("bars", frame(tmp_path, rows))
    first, second = picture.figure.axes
    assert widths(first) == {"pull": 1.0, "push": 2.5, "cpu_queue": 4.5}
    assert {bar.get_x() for bar in first.patches} == {0} and first.get_xlim()[0] == 0
    assert widths(second) == {"pull": 1.0}
    assert f"bar: {STATISTIC}; line: {TYPICAL}" in words_below(first)
    assert {"2.00 ms", "5.00 ms", "9.00 ms"} == {text.get_text() for text in first.texts}
    assert [bar.get_width() for bar in first.patches if not bar.get_fill()] == [1]
    assert "best of the graph" in [text.get_text() for text in picture.figure.legends[0].get_texts()]
    assert first.get_xlim() == second.get_xlim()
    assert "grid:directed" in first.get_title()
    assert [text.get_text() for text in second.texts].count("not run") == 2


def test_a_search_has_one_colour_in_all_pictures(tmp_path: Path) -> None:
    names = [f"variant{number}" for number in range(10)]
    sizes = {"kronecker(scale=4)": 16, "kronecker(scale=5)": 32, "kronecker(scale=6)": 64}
    rows = [
        row(1.0 + size, graph=graph, graph_checksum=graph, num_vertices=size, variant=name)
        for graph, size in sizes.items()
        for name in names
    ]
    pictures = draw("curve", frame(tmp_path, rows), x="num_vertices")
    lines = [line for picture in pictures for line in picture.figure.axes[0].lines]
    assert len({str(line.get_label()) for line in lines}) == len({line.get_color() for line in lines}) == 10


def test_every_picture_names_the_device(tmp_path: Path) -> None:
    rows = [row(2.0, knobs="K=1"), row(1.0, knobs="K=2"), host_row(9.0)]
    for kind in ("bars", "spread", "knobs", "speedup"):
        for picture in draw(kind, frame(tmp_path, rows)):
            assert "NVIDIA H200, Xeon" in picture.figure.get_suptitle()


def test_pictures_for_a_paper_have_its_width_and_embed_fonts(tmp_path: Path) -> None:
    rows = frame(tmp_path, [row(2.0, graph=name) for name in "abc"])
    (picture,) = draw("bars", rows, width=3.3)
    assert picture.figure.get_figwidth() == 3.3
    (path,) = save([picture], tmp_path, "pdf")
    data = path.read_bytes()
    assert data.startswith(b"%PDF") and b"/FontFile2" in data and b"/Type3" not in data
    assert b"/MediaBox [ 0 0 237.6 " in data
    (again,) = draw("bars", rows, width=3.3)
    assert data == again.encoded("pdf")


def test_bars_have_a_line_for_what_failed(tmp_path: Path) -> None:
    axes = panel("bars", frame(tmp_path, [row(2.0), failed_row(variant="merrill")]))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["pull", "merrill"]
    assert [text.get_text() for text in axes.texts] == ["2.00 ms", "cannot launch"]


def test_a_search_from_other_sources_has_no_bar_and_has_not_failed(tmp_path: Path) -> None:
    both = [row(2.0, source=source, variant=name) for source in (0, 1) for name in ("pull", "push")]
    axes = panel("bars", frame(tmp_path, [*both, row(9.0, source=5, variant="merrill")]))
    texts = dict(zip((label.get_text() for label in axes.get_yticklabels()), axes.texts, strict=True))
    assert texts["merrill"].get_text() == "from other sources"


def test_an_overview_marks_each_search_on_each_graph(tmp_path: Path) -> None:
    road = {"graph": "USA-road-d.NY:symmetrised", "graph_checksum": "r"}
    lone = {"graph": "alone:symmetrised", "graph_checksum": "a"}
    rows = [
        row(2.0),
        row(4.0, variant="push"),
        row(9.0, **road),
        row(3.0, variant="push", **road),
        row(1.0, **lone),
    ]
    axes = panel("overview", frame(tmp_path, rows))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["other: grid", "road: USA-road-d.NY"]
    marks = {str(one.get_label()): sorted(one.get_offsets().tolist()) for one in axes.collections}
    assert marks == {"push": [[1, 1], [2, 0]], "pull": [[1, 0], [3, 1]]}
    assert len({tuple(one.get_facecolor()[0]) for one in axes.collections}) == 2
    many = [row(float(time), variant=name) for time, name in enumerate("abcdefghijk", 1)]
    axes = panel("overview", frame(tmp_path, many))
    assert len(axes.collections) == 8 and "Left out: 3 slower searches." in words_below(axes)


@pytest.mark.parametrize(("longest", "scale"), [(18.0, "linear"), (21.0, "log")])
def test_bars_begin_at_the_axis_and_end_within_it(longest: float, scale: str, tmp_path: Path) -> None:
    axes = panel("bars", frame(tmp_path, [row(1.0), row(2.0, variant="push"), host_row(longest)]))
    assert axes.get_xscale() == scale
    starts = {bar.get_x() for bar in axes.patches}
    assert starts == {axes.get_xlim()[0]} and (starts == {0}) == (scale == "linear")
    assert axes.get_xlabel().endswith("(logarithmic axis)") == (scale == "log")
    ends = axes.transAxes.inverted().transform(axes.transData.transform([(1, 0), (longest, 0)]))[:, 0]
    assert 0.03 < ends[0] < ends[1] and 0.7 < ends[1] < 0.9


def spreads(folder: Path, shares: Mapping[str, float]) -> Axes:
    """The panel of searches whose slowest samples are these shares above the fastest."""
    rows = [row(1.0, variant=name, search_ms_max=1 + share) for name, share in shares.items()]
    (picture,) = draw("spread", frame(folder, rows))
    return picture.figure.axes[0]


def test_a_line_far_longer_than_the_rest_is_cut_off_and_says_so(tmp_path: Path) -> None:
    axes = spreads(tmp_path, {"pull": 0.01, "push": 0.02, "edge_simple": 0.03, "luo": 7.0})
    assert axes.get_xlim()[1] < 4
    assert [text.get_text() for text in axes.texts] == ["700 (cut off) \N{RIGHTWARDS ARROW}"]


def test_fewer_than_half_of_the_lines_are_cut_off(tmp_path: Path) -> None:
    axes = spreads(tmp_path, {"pull": 0.01, "push": 0.02, "edge_simple": 0.2, "luo": 2.0})
    assert 20 < axes.get_xlim()[1] < 30


def test_many_graphs_of_few_searches_share_a_picture(tmp_path: Path) -> None:
    rows = [row(1.0, graph=f"g{number}:directed", variant=name) for number in range(7) for name in ("a", "b")]
    (picture,) = draw("bars", frame(tmp_path, rows))
    assert len(picture.figure.axes) == 7


def test_a_remark_stays_in_one_line_of_a_title() -> None:
    lines = wrapped("California Roads (stand-in USA-road-d.FLA)").splitlines()
    assert lines == ["California Roads", "(stand-in USA-road-d.FLA)"]


@pytest.mark.parametrize(("value", "text"), [(9.996, "10.0"), (0.09996, "0.100"), (99.97, "100"), (0.0, "0")])
def test_numbers_have_three_digits_after_rounding_as_well(value: float, text: str) -> None:
    assert number(value) == text


def test_knobs_that_no_graph_was_searched_with_two_values_of_have_no_panel(tmp_path: Path) -> None:
    rows = [row(graph="a:directed", knobs="K1=1 K2=5"), row(graph="a:directed", knobs="K1=2 K2=5")]
    rows += [row(graph="b:directed", knobs="K1=1 K2=9")]
    axes = panel("knobs", frame(tmp_path, rows))
    assert axes.get_xlabel() == "K1"
    assert [line.get_label() for line in axes.lines] == ["a"]


def test_emulated_times_never_share_a_picture_with_measured_ones(tmp_path: Path) -> None:
    measured, emulated = draw("bars", frame(tmp_path, [row(), host_row(), emulated_row(100.0)]))
    assert "emulated" in emulated.title and "emulated" not in measured.title
    assert widths(emulated.figure.axes[0]) == {"pull": 1.0}
    texts = [[text.get_text() for text in picture.figure.texts] for picture in (measured, emulated)]
    assert ["emulated: no measurement" in words for words in texts] == [False, True]
    kernels = [picture.figure.legends[0].get_texts()[0].get_text() for picture in (measured, emulated)]
    assert kernels == ["GPU kernel", "emulated kernel"]


@pytest.mark.parametrize("kind", ["bars", "heatmap", "knobs", "profile", "spread"])
def test_every_picture_of_emulated_times_says_so_under_its_title(tmp_path: Path, kind: str) -> None:
    launches = [*itertools.product(("8", "64"), (32, 128), ("K=1", "K=2"))]
    settings = [{"grid": grid, "block": block, "knobs": knobs} for grid, block, knobs in launches]
    for made, marked in ((row, False), (emulated_row, True)):
        folder = tmp_path / made.__name__
        folder.mkdir()
        rows = [made(2.0, **setting) for setting in settings]
        kept = {name: rows[0][name] for name in ("backend", "gpu", *settings[0])}
        levels = read_profiled(folder, rows, [level(number, **kept) for number in range(3)])
        for picture in draw(kind, frame(folder, rows), levels):
            title = " ".join(picture.figure.get_suptitle().split())
            assert ("(emulated)" in title and "time in the emulator, not of a GPU" in title) == marked


def test_series_of_several_devices_are_told_apart(tmp_path: Path) -> None:
    rows = [row(2.0), row(3.0, gpu="NVIDIA A100"), host_row(9.0), host_row(8.0, host="node2")]
    (picture,) = draw("bars", frame(tmp_path, rows))
    found = widths(picture.figure.axes[0])
    assert found == {"pull [NVIDIA H200]": 1.0, "pull [NVIDIA A100]": 1.5, "cpu_queue": 4.0}


def test_graphs_of_one_name_are_told_apart_by_their_checksums(tmp_path: Path) -> None:
    (picture,) = draw("bars", frame(tmp_path, [row(2.0), row(3.0, graph_checksum="d" * 64)]))
    titles = [axes.get_title() for axes in picture.figure.axes]
    assert "#cccccccc" in titles[0] and "#dddddddd" in titles[1]


def test_a_series_of_the_rows_names_the_bars(tmp_path: Path) -> None:
    rows = frame(tmp_path, [row(2.0), row(3.0, block=64)])
    (picture,) = draw("bars", rows.assign(series=["wide", "narrow"]), title="Blocks")
    assert widths(picture.figure.axes[0]) == {"wide": 1.0, "narrow": 1.5}
    assert picture.title == "Blocks"


def test_the_colours_of_a_heat_map_end_at_its_worst_cell(tmp_path: Path) -> None:
    for worst, end in ((1.1, 1.25), (3.0, 3.0), (40.0, 10.0)):
        places = [(worst, 8, 64), (1.0, 8, 128), (1.0, 16, 64), (1.05, 16, 128)]
        rows = [row(ms, grid=grid, block=block) for ms, grid, block in places]
        (picture,) = draw("heatmap", frame(tmp_path, rows))
        assert picture.figure.axes[0].images[0].get_clim() == (1.0, end)


def test_heat_maps_name_the_devices_of_kernels_alone(tmp_path: Path) -> None:
    kernels = [row(1.0, grid=grid, block=block) for grid in (8, 16) for block in (64, 128)]
    (picture,) = draw("heatmap", frame(tmp_path, [*kernels, host_row(host_cpu="Slow CPU")]))
    assert "H200" in picture.caption and "Slow CPU" not in picture.caption


def test_cells_of_heat_maps_hold_the_times(tmp_path: Path) -> None:
    rows = [row(3.0, block=64), row(2.0), row(8.0, grid=16), failed_row(grid=16, block=64)]
    (picture,) = draw("heatmap", frame(tmp_path, rows))
    axes = picture.figure.axes[0]
    ratios = np.asarray(axes.images[0].get_array())
    assert np.allclose(ratios, [[1.5, 1.0], [np.nan, 4.0]], equal_nan=True)
    assert {"3.00", "2.00", "8.00", "failed"} == {text.get_text() for text in axes.texts}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("block (threads)", "grid (blocks)")
    assert [text.get_text() for text in axes.get_yticklabels()] == ["auto", "16"]


def test_profiles_show_frontier_and_time_by_kernel(tmp_path: Path) -> None:
    kernels = ["pull", "push", "push"]
    levels = read_profiled(tmp_path, [row()], [level(i, kernel=name) for i, name in enumerate(kernels)])
    (picture,) = draw("profile", frame(tmp_path, [row()]), levels)
    frontier, arcs, time = picture.figure.axes
    labels = ["frontier (vertices)", "inspected (arcs)", "time (µs)"]
    assert [axes.get_ylabel() for axes in (frontier, arcs, time)] == labels
    drawn = [np.asarray(part.get_offsets()).tolist() for part in time.collections]
    assert drawn == [[[0, 10]], [[1, 11], [2, 12]]]
    assert frontier.lines[0].get_ydata().tolist() == [1, 2, 4]
    assert arcs.lines[0].get_ydata().tolist() == [7, 7, 7]
    legend = [text.get_text() for text in picture.figure.legends[0].get_texts()]
    assert legend == ["pull", "level by pull", "level by push"]


def test_searches_share_a_profile_each_at_its_fastest_launch(tmp_path: Path) -> None:
    rows = [row(block=64), row(), row(variant="push")]
    levels = [level(0, block=64, time_us=5), level(0), level(0, variant="push", edges_inspected=3)]
    (picture,) = draw("profile", frame(tmp_path, rows), read_profiled(tmp_path, rows, levels))
    _, arcs, time = picture.figure.axes
    assert {line.get_label(): line.get_ydata().tolist() for line in time.lines} == {"pull": [5], "push": [10]}
    assert [line.get_ydata().tolist() for line in arcs.lines] == [[7], [3]]


def test_speed_ups_are_over_both_cpu_programs(tmp_path: Path) -> None:
    rows = [row(2.0), host_row(8.0), host_row(4.0, variant="cpu_parallel")]
    axes = panel("speedup", frame(tmp_path, rows))
    names = [text.get_text() for text in axes.get_yticklabels()]
    found = {
        (names[round(y)], part.get_label()): x
        for part in axes.collections
        for x, y in np.asarray(part.get_offsets())
    }
    assert found == {
        ("pull", "over cpu_queue"): 4.0,
        ("cpu_parallel", "over cpu_queue"): 2.0,
        ("pull", "over cpu_parallel"): 2.0,
        ("cpu_queue", "over cpu_parallel"): 0.5,
    }
    assert words_below(axes) == f"speed-up (times as fast) (logarithmic axis) {SPEED_UP}"


def test_times_of_zero_have_no_spread(tmp_path: Path) -> None:
    zero = row(0.0, variant="luo") | {"search_ms_samples": "0;0"}
    (picture,) = draw("spread", frame(tmp_path, [row(2.0), zero]))
    assert [text.get_text() for text in picture.figure.axes[0].get_yticklabels()] == ["pull"]


def test_the_spread_runs_from_the_fastest_to_the_slowest_sample(tmp_path: Path) -> None:
    axes = panel("spread", frame(tmp_path, [row(2.0)]))
    lines, dots = axes.collections
    assert np.allclose(lines.get_segments()[0], [[0, 0], [50, 0]])
    assert np.allclose(dots.get_offsets(), [[10, 0]])
    assert words_below(axes) == "above the fastest sample (%) the median over sources"


def test_settings_of_knobs_are_the_bars_of_an_ablation(tmp_path: Path) -> None:
    rows = [row(4.0, knobs="A=0 B=1"), row(2.0, knobs="A=1 B=1"), row(5.0, variant="push"), host_row(8.0)]
    axes = panel("ablation", frame(tmp_path, rows), references=["push"])
    assert widths(axes) == {"A=0": 2.0, "A=1": 4.0}
    assert words_below(axes) == f"times as fast as cpu_queue {SPEED_UP}"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["push (1.60)"]


def test_knob_sweeps_show_the_best_time_of_each_value(tmp_path: Path) -> None:
    """Other settings of a point must be equal, so A=4 B=y shows nothing."""
    settings = {"A=2 B=1": 4.0, "A=16 B=1": 2.0, "A=2 B=x": 3.0, "A=4 B=y": 1.0, "A=16 B=x": 5.0}
    (picture,) = draw("knobs", frame(tmp_path, [row(time, knobs=knobs) for knobs, time in settings.items()]))
    first, second = picture.figure.axes
    assert first.get_xlabel() == "A" and second.get_xlabel() == "B"
    assert " ".join(first.get_ylabel().split()).startswith(f"time of a search (ms): {STATISTIC},")
    assert [text.get_text() for text in first.get_xticklabels()] == ["2", "16"]
    assert first.lines[0].get_ydata().tolist() == [3.0, 2.0]
    assert second.lines[0].get_ydata().tolist() == [2.0, 3.0]
    with pytest.raises(NothingToDrawError, match="several values of a knob"):
        draw("knobs", frame(tmp_path, [row(4.0, knobs="A=2 B=1"), row(2.0, knobs="A=16 B=x")]))


def test_blocks_alone_are_a_knob_and_no_map(tmp_path: Path) -> None:
    rows = frame(tmp_path, [row(3.0, block=64), row(2.0), failed_row(grid=16)])
    with pytest.raises(NothingToDrawError, match="several grids and several blocks"):
        draw("heatmap", rows)
    axes = panel("knobs", rows)
    assert axes.get_xlabel() == "block (threads)"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["64", "256"]
    assert axes.lines[0].get_ydata().tolist() == [3.0, 2.0]


def test_panels_that_are_compared_have_one_axis(tmp_path: Path) -> None:
    times = {"near": (1.0, 1.5), "far": (1.0, 900.0)}
    rows = [row(both[k], graph=graph, knobs=f"K={k}") for graph, both in times.items() for k in (0, 1)]
    hosts = [host_row(50.0, graph=graph) for graph in times]
    read = frame(tmp_path, [*rows, *hosts])
    for kind in ("bars", "speedup", "ablation", "spread"):
        (picture,) = draw(kind, read)
        first, second = picture.figure.axes
        assert first.get_xlim() == second.get_xlim(), kind


def test_curves_join_graphs_whose_names_differ_in_numbers(tmp_path: Path) -> None:
    sizes = {"random(n=64)": 64, "random(n=128)": 128, "random(n=256)": 256, "other": 500}
    rows = [row(n / 10, graph=graph, num_vertices=n, num_edges=4 * n) for graph, n in sizes.items()]
    pictures = {picture.name: picture for picture in draw("curve", frame(tmp_path, rows))}
    assert set(pictures) == {"curve-num_vertices", "curve-num_edges", "curve-density"}
    (axes,) = pictures["curve-num_vertices"].figure.axes
    (joined,) = (line.get_xydata().tolist() for line in axes.lines)
    assert joined == [[64, 6.4], [128, 12.8], [256, 25.6]]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("vertices", f"time of a search (ms):\n{STATISTIC}")


def test_duplicates_are_those_that_were_counted(tmp_path: Path) -> None:
    counts = ["entries=5 missed=2 detected=1", "entries=7"]
    levels = read_profiled(tmp_path, [row()], [level(i, counts=text) for i, text in enumerate(counts)])
    (picture,) = draw("duplicates", frame(tmp_path, [row()]), levels)
    sizes, extra = ([line.get_xydata().tolist() for line in axes.lines] for axes in picture.figure.axes)
    entries, distinct = [[1, 5], [2, 7]], [[1, 3], [2, 7]]
    kept, dropped = [[1, 2], [2, 0]], [[1, 1], [2, 0]]
    assert (sizes, extra) == ([entries, distinct], [kept, dropped])
    assert [line.get_linestyle() for line in picture.figure.axes[1].lines] == ["-", "--"]
    legend = [text.get_text() for text in picture.figure.legends[0].get_texts()]
    assert legend == ["pull", "distinct vertices"]


def test_a_search_that_drops_no_duplicates_has_no_line_for_them(tmp_path: Path) -> None:
    levels = read_profiled(tmp_path, [row()], [level(0, counts="entries=5 missed=2")])
    (picture,) = draw("duplicates", frame(tmp_path, [row()]), levels)
    assert [len(axes.lines) for axes in picture.figure.axes] == [2, 1]


def test_one_row_is_enough_for_bars_and_too_little_for_maps_and_sweeps(tmp_path: Path) -> None:
    rows = frame(tmp_path, [row()])
    assert len(draw("bars", rows)) == 1
    for kind, words in {"heatmap": "several grids", "knobs": "several values", "curve": "differ"}.items():
        with pytest.raises(NothingToDrawError, match=words):
            draw(kind, rows)


@pytest.mark.filterwarnings("error:constrained_layout")
@pytest.mark.parametrize("kind", ["bars", "spread"])
@pytest.mark.parametrize("made", [row, emulated_row])
def test_a_picture_of_one_bar_has_room_for_its_words(kind: str, made: Any, tmp_path: Path) -> None:
    (picture,) = draw(kind, frame(tmp_path, [made(1.0)]))
    picture.figure.draw_without_rendering()


@pytest.mark.filterwarnings("error:constrained_layout")
@pytest.mark.parametrize("width", [None, 3.3])
def test_words_of_narrow_pictures_are_not_clipped(tmp_path: Path, width: float | None) -> None:
    name = "random(n=1024,m=" + "9" * 60 + ")"
    rows = [emulated_row(2.0, graph=name, knobs=f"K={k}") for k in range(2)]
    read = frame(tmp_path, rows)
    for kind in ("bars", "knobs", "spread"):
        (picture,) = draw(kind, read, width=width)
        picture.figure.draw_without_rendering()
        titles = [*picture.figure.texts, *(axes.title for axes in picture.figure.axes)]
        titles += [axes.xaxis.label for axes in picture.figure.axes]
        for part in (*titles, *picture.figure.legends):
            box = part.get_window_extent()
            assert box.x0 >= 0 and box.x1 <= picture.figure.bbox.width, kind


@pytest.mark.parametrize("kind", ["bars", "speedup", "spread", "heatmap"])
def test_pictures_for_a_column_of_a_paper_fit_its_page(tmp_path: Path, kind: str) -> None:
    graphs = [f"graph{number}:self_loops=drop:directed" for number in range(12)]
    rows = [host_row(9.0, graph=graph) for graph in graphs]
    for place, graph in enumerate(graphs):
        settings = itertools.product(("pull", "push", "luo", "merrill"), (8, 64, 512), (32, 128, 1024))
        rows += [
            row(1.0 + place, graph=graph, variant=variant, grid=str(grid), block=block)
            for variant, grid, block in settings
        ]
    pictures = draw(kind, frame(tmp_path, rows), width=3.3)
    for picture in pictures:
        assert picture.figure.get_figwidth() == 3.3 and picture.figure.get_figheight() < 10
        picture.figure.draw_without_rendering()
        for axes in picture.figure.axes:
            boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
            boxes = [box for box in boxes if axes.bbox.x0 <= (box.x0 + box.x1) / 2 <= axes.bbox.x1]
            assert all(left.x1 <= right.x0 for left, right in itertools.pairwise(boxes))


def test_many_pictures_are_the_same_from_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bfsbench.reports.plots.picture._ALONE", 1)
    rows = frame(tmp_path, [row()])
    several = [replace(draw("bars", rows)[0], name=f"bars-{number}") for number in range(4)]
    alone = save(several[:1], tmp_path, "png")[0].read_bytes()
    del several[0]
    paths = list(saved(several, tmp_path / "many", "png", processes=2))
    assert [path.name for path in paths] == [f"{picture.name}.png" for picture in several]
    assert {path.read_bytes() for path in paths} == {alone}


@pytest.mark.parametrize("kind", PLOTS)
def test_failures_alone_draw_nothing(kind: str, tmp_path: Path) -> None:
    with pytest.raises(NothingToDrawError):
        draw(kind, frame(tmp_path, [failed_row(), failed_row(block=64)]))


def test_rows_without_a_profile_say_how_to_take_one(tmp_path: Path) -> None:
    with pytest.raises(NothingToDrawError, match="--profile"):
        draw("profile", frame(tmp_path, [row()]), read_levels([tmp_path / "rows.csv"]))


def test_profiles_of_other_rows_are_left_out(tmp_path: Path) -> None:
    levels = read_profiled(tmp_path, [row()], [level(0)])
    with pytest.raises(NothingToDrawError):
        draw("profile", frame(tmp_path, [row(variant="push")]), levels)


def test_an_unknown_kind_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bars, overview"):
        draw("pie", frame(tmp_path, [row()]))


@pytest.mark.parametrize("style", ["png", "svg"])
def test_the_same_rows_give_the_same_file(style: str, tmp_path: Path) -> None:
    path = write(tmp_path / "same.csv", [row(2.0), row(3.0, block=64)])
    first, second = (draw("bars", read_results([path]))[0].encoded(style) for _ in range(2))
    assert first == second


def test_a_legend_of_long_names_is_no_wider_than_its_picture(tmp_path: Path) -> None:
    graphs = [f"weighted_random(n={64 << number},density=1,seed=1):directed" for number in range(6)]
    rows = [
        row(graph=graph, knobs=f"A={a} B={b} C=1") for graph in graphs for a, b in [(1, 1), (1, 2), (2, 1)]
    ]
    (picture,) = draw("knobs", frame(tmp_path, rows))
    picture.figure.draw_without_rendering()
    (legend,) = picture.figure.legends
    assert [f"{text.get_text()}:directed" for text in legend.get_texts()] == graphs
    assert "graphs: directed" in picture.figure.get_suptitle()
    assert legend.get_window_extent().width <= picture.figure.bbox.width


def test_speed_ups_have_no_number_of_a_search_that_lacks_a_source(tmp_path: Path) -> None:
    rows = [made(4.0, source=source) for source in range(3) for made in (row, host_row)]
    rows += [row(1.0, variant="luo"), failed_row(variant="luo", source=2)]
    axes = panel("speedup", frame(tmp_path, rows))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["pull"]


def test_a_title_counts_the_sources_whose_times_are_drawn(tmp_path: Path) -> None:
    rows = [row(float(1 + source), source=source) for source in range(8)]
    rows += [row(10.0, variant="luo", source=source) for source in range(6)]
    axes = panel("bars", frame(tmp_path, rows))
    assert axes.get_title().endswith("6 sources") and widths(axes)["luo"] == pytest.approx(10 / 3.5)


def test_bars_have_no_number_of_a_search_that_lacks_a_source(tmp_path: Path) -> None:
    rows = [row(2.0, source=source) for source in range(3)]
    rows += [row(1.0, variant="luo", source=source) for source in range(2)]
    rows += [failed_row(variant="luo", source=2)]
    axes = panel("bars", frame(tmp_path, rows))
    assert widths(axes) == {"pull": 1.0}
    assert "median over sources of the fastest repeat" in words_below(axes)


def test_a_picture_without_a_title_keeps_it_as_a_caption(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.csv", [row(1.0, variant="pull"), row(2.5, variant="push")])
    sizes, captions = [], []
    for option in ("--no-title", "--format=svg"):
        bfsbench("report", "--plot", "bars", "--width", "3.3in", option, "--out", "x.svg", file, cwd=tmp_path)
        text = (tmp_path / "x.svg").read_text()
        captions.append(re.findall("<dc:title>(.*)</dc:title>", text)[0])
        sizes.append(float(re.findall('viewBox="0 0 [0-9.]+ ([0-9.]+)"', text)[0]))
    caption = "Best time of each search; NVIDIA H200; graphs: directed; shown: grid"
    assert captions[0] == captions[1] == caption
    assert sizes[0] < sizes[1]
    said = refused(invoke("report", "--no-title", file))
    assert said == "--no-title goes with --format png or svg or pdf, not text"


@pytest.mark.parametrize(("width", "searches"), [(3.3, 23), (7.0, 16)])
def test_pictures_of_many_searches_fit_a_page(width: float, searches: int, tmp_path: Path) -> None:
    rows = [
        row(1.0 + place, graph=f"g{graph}", graph_checksum=f"g{graph}", variant=f"search_{place}")
        for graph in range(4)
        for place in range(searches)
    ]
    pictures = draw("bars", frame(tmp_path, rows), width=width)
    assert len(pictures) > 1 and sum(len(picture.figure.axes) for picture in pictures) == 4
    assert max(picture.figure.get_figheight() for picture in pictures) <= 8.5


def test_knobs_of_many_graphs_fit_a_page(tmp_path: Path) -> None:
    settings = [f"A={a} B={b} C={c} D={d} E={e}" for a, b, c, d, e in itertools.product((1, 2), repeat=5)]
    rows = [
        row(
            1.0 + place,
            graph=f"a_rather_long_name(of=a,graph={graph})",
            graph_checksum=str(graph),
            knobs=text,
        )
        for graph in range(12)
        for place, text in enumerate(settings)
    ]
    pictures = draw("knobs", frame(tmp_path, rows), width=7.0)
    assert sum(len(picture.figure.axes) for picture in pictures) == 5
    assert max(picture.figure.get_figheight() for picture in pictures) <= 8.5


@pytest.mark.parametrize("width", [3.3, 7.0, None])
@pytest.mark.parametrize("titled", [True, False])
def test_the_vertical_label_of_knobs_is_not_cut_off(
    width: float | None, titled: bool, tmp_path: Path
) -> None:
    rows = [row(float(value), knobs=f"W_SZ={value}", variant="virtual_warp") for value in (2, 4, 8)]
    axes = panel("knobs", frame(tmp_path, rows), width=width, titled=titled)
    assert isinstance(axes.figure, Figure)
    FigureCanvasAgg(axes.figure).draw()
    label = axes.yaxis.label.get_window_extent()
    assert label.y0 >= 0 and label.y1 <= axes.figure.bbox.height
    words = axes.get_ylabel().split()
    assert " ".join(words).endswith(f"{STATISTIC}, all other settings equal")


def test_long_names_of_settings_leave_room_in_a_narrow_picture(tmp_path: Path) -> None:
    settings = itertools.product(("hybrid", "contract-expand"), (0, 1), (0, 1024), (-1, 1048576))
    names = ("ORGANISATION", "BITMAP", "HISTORY_SIZE", "RESIDENT_LIMIT")
    knobs = [" ".join(map("{}={}".format, names, values)) for values in settings]
    rows = [row(2.0, variant="merrill", knobs=text) for text in knobs]
    assert draw("ablation", frame(tmp_path, [*rows, host_row(9.0)]), width=3.3)
