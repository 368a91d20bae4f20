"""``bfsbench probe`` and the files it writes."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.rows import columns
from bfsbench.rows.ceilings import COLUMNS, Ceilings, read_ceilings
from bfsbench.rows.provenance import commit
from bfsbench.rows.results import left_out, result_files
from bfsbench.support.errors import InputError
from bfsbench.tools.probe import PROBES, Probe, ProbeError, run_probe
from tests.commands import invoke, refused
from tests.parameters import some


def probe(*arguments: object) -> Result:
    return invoke("probe", "--backend", "cpu", *arguments)


def write(path: Path, *rows: dict[str, object]) -> Path:
    """Writes a file of ceilings of a GPU. Returns its path."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        given = {"unit": "G/s", "backend": "cuda", "gpu": "NVIDIA H200"}
        writer.writerows({**dict.fromkeys(COLUMNS, ""), **given, **row} for row in rows)
    return path


def test_every_probe_becomes_rows_with_their_origin(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ceilings.csv"
    result = probe("--out", path)
    assert result.exit_code == 0
    assert result.stdout.startswith("Emulated: shows that the probes work; only host_reads are ceilings\n")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert {row["probe"] for row in rows} == set(PROBES)
    for row in rows:
        assert row["backend"] == "cpu"
        assert row["gpu"].startswith("emulated on")
        assert row["taken_at"] and row["host_cpu"]
        assert row["commit"] == commit()  # none without git's history
        assert len(row["samples"].split(";")) == 7


def test_figures_of_the_emulator_are_no_ceilings(tmp_path: Path) -> None:
    path = tmp_path / "ceilings.csv"
    assert probe("--out", path).exit_code == 0
    with pytest.raises(InputError, match="emulated kernels, which are not ceilings"):
        read_ceilings(path)


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "ceilings.csv"
    path.write_text("precious")
    assert refused(probe("--out", path)) == f"{path} exists: choose another --out, or remove it"
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["mine.csv", "ceilings.txt"])
def test_a_name_that_reports_would_take_for_results(tmp_path: Path, name: str) -> None:
    assert "needs a name that ends in 'ceilings.csv'" in refused(probe("--out", tmp_path / name))
    assert not list(tmp_path.iterdir())


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused(probe("--out", tmp_path / "file" / "ceilings.csv")).startswith("cannot write ")


def test_ceilings_are_not_taken_for_results(tmp_path: Path) -> None:
    for name in ("ceilings.csv", "h200-ceilings.csv"):
        (tmp_path / name).touch()
    (tmp_path / "goals.csv").write_text("graph,goal_ms\n")
    (tmp_path / "rows.csv").write_text(",".join(columns.COLUMNS) + "\n")
    assert [path.name for path in result_files(tmp_path)] == ["rows.csv"]
    assert [path.name for path in left_out(tmp_path)] == ["goals.csv"]


def test_between_two_sizes_the_logarithm_decides(tmp_path: Path) -> None:
    sizes = {2**20: 150, 2**24: 70, 2**30: 40}
    rows = [{"probe": "random_reads", "working_set": size, "value": v} for size, v in sizes.items()]
    found = read_ceilings(write(tmp_path / "ceilings.csv", *rows))
    assert found.gpu == "NVIDIA H200"
    assert [found.at("random_reads", size) for size in sizes] == [150, 70, 40]
    assert found.at("random_reads", 2**22) == pytest.approx(110)
    assert found.at("random_reads", 1) == 150
    assert found.at("random_reads", 2**40) == 40


def test_of_repeated_figures_the_best_counts(tmp_path: Path) -> None:
    rows = [{"probe": "copy", "value": v} for v in (3, 5, 4)]
    times = [{"probe": "barrier", "value": v, "unit": "us"} for v in (3, 1.8, 4)]
    found = read_ceilings(write(tmp_path / "ceilings.csv", *rows, *times))
    assert (found.at("copy"), found.at("barrier")) == (5, 1.8)


def test_a_ceiling_that_was_not_measured() -> None:
    with pytest.raises(InputError, match="lack the probe 'launch': measure them again"):
        Ceilings("gpu", {}).at("launch")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"value": "fast"}, "ceilings.csv:3: value or working_set of copy is not a number"),
        ({"value": "nan"}, "ceilings.csv:3: copy has the value nan"),
        ({"value": "-1"}, "ceilings.csv:3: copy has the value -1"),
        ({"value": "1", "working_set": "some"}, "ceilings.csv:3: value or working_set"),
        ({"value": "1", "gpu": "NVIDIA A100"}, "different devices: NVIDIA A100, NVIDIA H200"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, row: dict[str, object], complaint: str) -> None:
    path = write(tmp_path / "ceilings.csv", {"probe": "copy", "value": 1}, {"probe": "copy", **row})
    with pytest.raises(InputError, match=complaint):
        read_ceilings(path)


def test_files_that_are_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no ceilings"):
        read_ceilings(write(tmp_path / "ceilings.csv"))
    (tmp_path / "ceilings.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="is not a file of ceilings"):
        read_ceilings(tmp_path / "ceilings.csv")


@pytest.fixture(params=some([0, 1], 0), ids=lambda seed: f"seed{seed}")
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    opened = open_device("cpu", request.param)
    yield opened
    opened.close()


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_every_run_is_verified(probe: Probe, device: Device) -> None:
    figures = list(run_probe(probe, device))
    assert len(figures) == len(probe.small)
    for figure in figures:
        assert figure.value == (max if probe.is_rate else min)(figure.samples)
        assert min(figure.samples) > 0


@pytest.mark.parametrize(
    "name", ["copy", "random_reads", "random_bit_tests", "dependent_loads", "add_min", "add_min_intrinsic"]
)
def test_work_that_was_not_done_is_noticed(name: str, device: Device) -> None:
    trial = PROBES[name].trial(device, PROBES[name].small[0])
    with pytest.raises(ProbeError, match="cannot be trusted"):
        trial.verify()


@pytest.mark.parametrize("bits", [5, 8, 11])
def test_sizes_of_even_and_odd_exponents(bits: int, device: Device) -> None:
    for name in ("random_reads", "random_bit_tests", "random_atomics", "dependent_loads"):
        trial = PROBES[name].trial(device, bits + 5 if name == "random_bit_tests" else bits)
        for _ in range(3):
            trial.run()
            trial.verify()


def test_figures_are_work_over_time_or_time_over_work() -> None:
    assert PROBES["copy"].in_unit(work=4.25e9, milliseconds=1.0) == pytest.approx(4250)
    assert PROBES["random_reads"].in_unit(work=3e8, milliseconds=2.0) == pytest.approx(150)
    assert PROBES["dependent_loads"].in_unit(work=1000, milliseconds=0.033) == pytest.approx(33)
    assert PROBES["barrier"].in_unit(work=1000, milliseconds=1.8) == pytest.approx(1.8)
