"""Test workers that are jobs of a batch system. Scripts replace its commands and start each job at once."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bfsbench.cluster import launch
from bfsbench.cluster.address import QUEUES, Jobs
from bfsbench.cluster.certificates import make
from bfsbench.rows.results import read_rows
from bfsbench.support.errors import InputError, UsageError
from tests.commands import bfsbench

SETTINGS = """
n_workers = 3
queue = "gpu"
walltime = "04:00:00"
cores = 8
memory = "64GB"
job_extra_directives = ["{extra}"]
job_script_prologue = ["module load cuda"]
"""
EXTRA = {"slurm": "--gres=gpu:1", "pbs": "-l ngpus=1", "sge": "-l gpu=1", "lsf": "-gpu num=1"}
DIRECTIVES = {
    "slurm": ("#SBATCH -p gpu", "#SBATCH -t 04:00:00", "#SBATCH --cpus-per-task=8", "#SBATCH --mem=60G"),
    "pbs": ("#PBS -q gpu", "#PBS -l walltime=04:00:00", "#PBS -l select=1:ncpus=8:mem=64GB"),
    "sge": ("#$ -q gpu", "#$ -l h_rt=04:00:00"),
    "lsf": ("#BSUB -q gpu", "#BSUB -W 04:00:00", "#BSUB -n 8", "#BSUB -M 64000"),
}
COMMANDS = {
    "slurm": ("sbatch", "scancel"),
    "pbs": ("qsub", "qdel"),
    "sge": ("qsub", "qdel"),
    "lsf": ("bsub", "bkill"),
}
MARKS = {"slurm": "#SBATCH", "pbs": "#PBS", "sge": "#$", "lsf": "#BSUB"}


def settings(folder: Path, text: str) -> Path:
    """Write a file of settings. Returns its path."""
    file = folder / "cluster.toml"
    file.write_text(text, encoding="latin-1")
    return file


def programs(folder: Path, texts: dict[str, str]) -> Path:
    """Make a folder of programs by their names. Returns its path."""
    (folder / "bin").mkdir()
    for name, text in texts.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    return folder / "bin"


def sweep(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a sweep of a host program by jobs, as settings in ``folder`` say."""
    command = [sys.executable, "-m", "bfsbench", "run", "--dataset", "lattice(rows=9,columns=7)", *words]
    return subprocess.run(
        [*command, "--variant", "cpu_queue", "--repeats", "1", "--out", "r.csv"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=200,
    )


def script_of(queue: str, chosen: dict[str, Any]) -> list[str]:
    """Return the lines of a job's script."""
    import dask_jobqueue

    make = getattr(dask_jobqueue, launch._CLASSES[queue]).job_cls
    given = {key: chosen[key] for key in chosen if key not in ("n_workers", "scheduler_options")}
    units = {"lsf_units": "mb"} if queue == "lsf" else {}
    lines: list[str] = make("tcp://head:8786", name="w", **given, **units).job_script().splitlines()
    return lines


@pytest.mark.parametrize("queue", QUEUES)
def test_a_job_runs_one_worker_of_one_thread(queue: str, tmp_path: Path) -> None:
    launch.require_dask()
    file = settings(tmp_path, SETTINGS.format(extra=EXTRA[queue]))
    chosen = launch.job_options(Jobs(queue, file))
    assert chosen["n_workers"] == 3
    script = script_of(queue, chosen)
    for line in (*DIRECTIVES[queue], f"{MARKS[queue]} {EXTRA[queue]}"):
        assert line in script
    assert script.index("module load cuda") < script.index("export DASK_DISTRIBUTED__WORKER__DAEMON=False")
    words = script[-1].split()
    assert "tcp://head:8786" in words and "--nanny" in words
    for option, value in (
        ("--nthreads", "1"),
        ("--memory-limit", "0"),
        ("--dashboard-address", "127.0.0.1:0"),
    ):
        assert value in [after for word, after in pairwise(words) if word == option]


@pytest.mark.parametrize("queue", QUEUES)
def test_what_nobody_asks_for_is_left_to_the_batch_system(queue: str, tmp_path: Path) -> None:
    launch.require_dask()
    file = settings(tmp_path, f'job_extra_directives = ["{EXTRA[queue]}"]')
    script = script_of(queue, launch.job_options(Jobs(queue, file)))
    asked = [line for line in script if line.startswith(MARKS[queue])]
    assert not any("mem" in line or "-M " in line for line in asked), asked
    assert f"{MARKS[queue]} {EXTRA[queue]}" in asked


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot read"),
        ("queue = ", "cluster.toml: "),
        ("\xff", "cluster.toml: "),
        ("processes = 2", "a job is one worker"),
    ],
)
def test_settings_that_cannot_be_read(tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "none.toml" if text is None else settings(tmp_path, text)
    with pytest.raises(InputError, match=says):
        launch.job_options(Jobs("slurm", file))


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in PATH that has the commands of all batch systems. The commands fail."""
    names = {name for names in COMMANDS.values() for name in names}
    folder = programs(tmp_path, dict.fromkeys(names, "#!/bin/sh\necho 'no such queue: gpus' >&2; exit 1\n"))
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


@pytest.mark.usefixtures("batch")
@pytest.mark.parametrize("queue", QUEUES)
def test_settings_that_nobody_knows(queue: str, tmp_path: Path) -> None:
    launch.require_dask()
    with pytest.raises(UsageError, match="quue"):
        launch.start_jobs(Jobs(queue, settings(tmp_path, 'quue = "gpu"')), None)


SUBMIT = """#!/bin/sh
for script; do :; done
[ $# -gt 0 ] || script=/dev/stdin
cp "$script" "$BATCH/job-$$.sh"
setsid sh "$BATCH/job-$$.sh" > "$BATCH/job-$$.log" 2>&1 < /dev/null &
echo $! > "$BATCH/job-$$.pid"
echo "Submitted batch job $$"
"""
CANCEL = """#!/bin/sh
for job; do kill -- -$(cat "$BATCH/job-$job.pid"); done
"""


@pytest.mark.parametrize(
    ("queue", "tls"),
    [("slurm", True), *(pytest.param(queue, False, marks=pytest.mark.exhaustive) for queue in QUEUES)],
)
@pytest.mark.exhaustive
def test_a_sweep_on_jobs_that_says_nothing_but_how_many_and_on_what(
    queue: str, tls: bool, tmp_path: Path
) -> None:
    commands = programs(tmp_path, dict(zip(COMMANDS[queue], (SUBMIT, CANCEL), strict=True)))
    settings(tmp_path, f'n_workers = 2\njob_extra_directives = ["{EXTRA[queue]}"]\n')
    access = ["--insecure"]
    if tls:
        make(tmp_path / "tls")
        access = ["--tls", "tls"]
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "BATCH": str(tmp_path), "DASK_JOBQUEUE__LSF__LSF_UNITS": "mb"}
    words = ("--cluster", f"{queue}:cluster.toml", "--source", "0,1,2,3,4,5", *access)
    done = sweep(tmp_path, *words, **environment)
    logs = [path.read_text() for path in tmp_path.glob("job-*.log")]
    assert done.returncode == 0, (done.stderr, logs)
    assert ("has no TLS" in done.stderr) != tls
    rows = read_rows(tmp_path / "r.csv")
    assert sorted(int(row["source"]) for row in rows) == list(range(6))
    assert {row["status"] for row in rows} == {"ok"}
    assert len(logs) == 2


def test_a_machine_without_the_batch_system_is_one_line(tmp_path: Path) -> None:
    settings(tmp_path, "n_workers = 1\n")
    done = sweep(tmp_path, "--cluster", "slurm:cluster.toml", "--insecure", PATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "bfsbench: --cluster slurm: there is no command sbatch here"


@pytest.mark.usefixtures("batch")
@pytest.mark.parametrize("queue", ["slurm", "pbs", "sge"])
def test_a_job_that_is_refused_is_one_line(queue: str) -> None:
    launch.require_dask()
    with pytest.raises(UsageError, match=rf"^jobqueue\.{queue}: no such queue: gpus$"):
        launch.start_jobs(Jobs(queue), None)


def replaced(text: str, *changes: tuple[str, str]) -> str:
    """Return the text with each old part replaced by the new part. The text must have the old parts."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_the_job_array_in_the_guide_measures_one_graph_per_task(tmp_path: Path) -> None:
    """No batch system starts the script. Each task is submitted twice, as after an interruption. The test
    measures in the emulator, because it must pass without a GPU."""
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
    script = page.partition("```bash\n")[2].partition("```")[0]
    graphs = "soc-Epinions1 USA-road-d.NY web-NotreDame", "'star(n=5)' 'star(n=9)' 'star(n=7)'"
    script = replaced(script, graphs, ("--variant all", "--variant push"))
    folder = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"SLURM_ARRAY_TASK_ID": "0", "PATH": folder, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 2 and b"no CUDA device can be used" in done.stderr
    assert not [*tmp_path.glob("sweep/*.csv")]
    script = replaced(script, ("--backend cuda", "--backend cpu"))
    for task in (0, 0, 1, 2):
        environment = os.environ | {"SLURM_ARRAY_TASK_ID": str(task), "PATH": folder}
        subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=True)
    assert {len(read_rows(path)) for path in (tmp_path / "sweep").glob("*.csv")} == {4}
    assert "star(n=7" in bfsbench("report", "sweep", cwd=tmp_path).stdout
