"""The lab: every kernel fails as handed out, passes when solved, and the commands behave as documented."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from bfsbench.cli.kernels import check_command as check
from bfsbench.cli.lab import lab_command as lab
from bfsbench.emulator import Access
from bfsbench.support.errors import ToolchainError
from bfsbench.tools.lab import HERE, exercises, find, hand_out
from bfsbench.tools.lab.grading import atomics, grade, improvement, longest, reads, sectors
from tests.commands import invoke, refused
from tests.parameters import some

SOLUTIONS = {
    one["name"]: one
    for one in tomllib.loads(Path(__file__).with_name("solutions.toml").read_text())["solution"]
}


def solve(name: str, folder: Path) -> None:
    """Writes the solution into a kernel that was handed out."""
    kernel, solution = folder / f"{name}.cu", SOLUTIONS[name]
    text = kernel.read_text()
    assert text.count(solution["old"]) == 1
    kernel.write_text(text.replace(solution["old"], solution["new"]))


@pytest.mark.parametrize("name", some(exercises(), "needless_reads"))
def test_an_exercise_fails_until_it_is_solved(name: str, tmp_path: Path) -> None:
    exercise = find(name)
    assert grade(exercise, hand_out(exercise, tmp_path / "before")).problems
    solved = hand_out(exercise, tmp_path / "after")
    solve(name, solved.parent)
    assert grade(exercise, solved).problems == ()
    if exercise.cost:
        found = re.fullmatch(r"([0-9,]+) .*, ([0-9,]+) as handed out", improvement(exercise, solved))
        assert found
        after, before = (int(number.replace(",", "")) for number in found.groups())
        assert after <= exercise.most < before


def test_every_exercise_has_a_kernel_and_a_solution() -> None:
    assert len(exercises()) == 12
    assert set(SOLUTIONS) == set(exercises()) == {path.stem for path in (HERE / "kernels").glob("*.cu")}
    for one in exercises().values():
        assert bool(one.cost) == bool(one.most)
        assert one.question.endswith("?") or one.question.endswith(".")


def test_a_student_copies_a_kernel_and_has_it_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    copied = CliRunner().invoke(lab, ["lost_update"])
    assert copied.exit_code == 0
    assert copied.output.startswith(
        "lost_update/lost_update.cu (PMPP ch. 15, Fig. 15.12)\n\nVertices get lost"
    )
    assert "Launches: blocks of 32 threads; blocks of 128 threads, at most 1 block; " in copied.output
    assert copied.output.endswith("bfsbench check lost_update\n")
    failed = CliRunner().invoke(check, ["lost_update"])
    assert failed.exit_code == 1
    assert "lost_update: not yet: race; wrong levels\n" in failed.stdout
    assert failed.stdout.endswith("  To see a hint, add --hint.\n")
    hinted = CliRunner().invoke(check, ["lost_update", "--hint"])
    assert hinted.exit_code == 1
    assert "  Hint: Two threads can read the same size" in hinted.stdout
    assert ".cu:" not in failed.stdout  # the line is for the student to find
    solve("lost_update", Path("lost_update"))
    passed = CliRunner().invoke(check, ["lost_update"])
    assert passed.exit_code == 0
    now = r"lost_update: passed\n  0 of 6 runs have a fault; as handed out: "
    assert re.fullmatch(now + r"race in [1-6], wrong levels in [1-6]\n", passed.stdout)


def test_the_faults_of_the_original_kernel_are_those_of_check(tmp_path: Path) -> None:
    exercise = find("off_by_one")  # a comment in the kernel declares a race benign
    kernel = hand_out(exercise, tmp_path / "off_by_one")
    problems = grade(exercise, kernel).problems
    solve("off_by_one", kernel.parent)
    _, _, faults = improvement(exercise, kernel).partition("as handed out: ")
    assert tuple(re.sub(r" in \d+$", "", fault) for fault in faults.split(", ")) == problems


def test_a_declared_race_does_not_pass_where_none_is_needed(tmp_path: Path) -> None:
    exercise = find("lost_update")
    kernel = hand_out(exercise, tmp_path / "lost_update")
    kernel.write_text(kernel.read_text().replace("place + 1;", "place + 1;  // benign race: no"))
    assert "race" in grade(exercise, kernel).problems


@pytest.mark.exhaustive
def test_a_class_is_a_table(tmp_path: Path) -> None:
    for student, done in (("ada", True), ("bob", False)):
        hand_out(find("lost_update"), tmp_path / student / "lost_update")
        if done:
            solve("lost_update", tmp_path / student / "lost_update")
    (tmp_path / "bob" / "lost_update" / "full_queue.cu").write_text("this does not compile")
    result = CliRunner().invoke(lab, ["--class", str(tmp_path), "--format", "json"])
    ada, bob = json.loads(result.output)["class"]["rows"]
    assert (ada["student"], ada["passed"], ada["lost_update"], ada["full_queue"]) == ("ada", 1, "passed", "")
    assert (bob["passed"], bob["lost_update"], bob["full_queue"]) == (0, "not yet", "no grade")


def test_the_list_grades_the_kernels_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("lost_update", "full_queue"):
        hand_out(find(name), Path(name))
    solve("lost_update", Path("lost_update"))
    rows = json.loads(CliRunner().invoke(lab, ["--format", "json"]).stdout)["lab"]["rows"]
    grades = {row["name"]: row["grade"] for row in rows if row["grade"]}
    assert grades == {"lost_update": "passed", "full_queue": "not yet"}


def test_the_list_and_mistakes(tmp_path: Path) -> None:
    listed = CliRunner().invoke(lab, ["--format", "json"])
    assert [one["name"] for one in json.loads(listed.output)["lab"]["rows"]] == list(exercises())
    for words, says in (
        (["lost_updat"], "unknown exercise 'lost_updat': did you mean lost_update?"),
        (["lost_update", "--to", str(tmp_path)], "exists: choose another folder with --to"),
    ):
        assert says in refused(invoke("lab", *words))
    assert "--hint is for exercises" in refused(invoke("check", "push", "--hint"))


def access(thread: int, index: int, act: str = "read", buffer: int = 1) -> Access:
    return Access(0, "k", 0, thread, act, buffer, index, 0, 0, None)


def test_costs_of_made_up_accesses() -> None:
    side_by_side = [access(lane, lane) for lane in range(32)]
    far_apart = [access(lane, 8 * lane) for lane in range(32)]
    assert (sectors(side_by_side, {1}, 9).total(), sectors(far_apart, {1}, 9).total()) == (4, 32)
    twice = [access(0, 0), access(0, 1)]
    assert sectors(twice, {1}, 9).total() == 2  # two loads, one after the other
    assert longest([*twice, access(1, 0)], {1}, 9).total() == 2
    assert reads([*twice, access(1, 0, buffer=2)], {1}, 9).total() == 2
    updates = [access(0, 0, "update", 5), access(0, 0, "update", 9), access(0, 0, "write", 5)]
    assert atomics(updates, {1}, 9).total() == 1


def with_body(name: str, folder: Path, body: str) -> Path:
    """Hands out the kernel of an exercise and replaces its body. Returns the kernel's file."""
    kernel = hand_out(find(name), folder)
    text = kernel.read_text()
    kernel.write_text("#include <cstdlib>\n" + text[: text.index("{", text.index("__global__"))] + body)
    return kernel


def test_a_kernel_that_ends_the_process_has_not_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with_body("lost_update", tmp_path / "ada" / "lost_update", "{ std::_Exit(0); }\n")
    done = subprocess.run(
        [sys.executable, "-m", "bfsbench", "check", "ada/lost_update"], capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout
    assert "lost_update: not yet: the kernel stops" in done.stdout
    result = CliRunner().invoke(lab, ["--class", str(tmp_path), "--format", "json"])
    (ada,) = json.loads(result.output)["class"]["rows"]
    assert (ada["passed"], ada["lost_update"]) == (0, "not yet")


@pytest.mark.parametrize("name", ["double_claim", "full_queue", "lost_update"])
def test_a_serial_kernel_has_not_passed(name: str, tmp_path: Path) -> None:
    serial = """{
    if (global_thread() != 0) return;
    const int size = sizes[level % 3];
    sizes[(level + 2) % 3] = 0;
    for (int i = 0; i < size; ++i)
        for (offset_t e = row_offsets[queue[i]]; e < row_offsets[queue[i] + 1]; ++e)
            if (levels[column_indices[e]] == UNREACHED) {
                levels[column_indices[e]] = level + 1;
                next_queue[sizes[(level + 1) % 3]++] = column_indices[e];
            }
}
"""
    (problem,) = grade(find(name), with_body(name, tmp_path / name, serial)).problems
    assert "by one thread in a launch" in problem


def test_a_larger_queue_is_no_solution(tmp_path: Path) -> None:
    exercise = find("full_queue")
    kernel = hand_out(exercise, tmp_path / "larger")
    handed_out = kernel.read_text()
    kernel.write_text(handed_out.replace("CAPACITY 32", "CAPACITY 12000"))
    assert "out of bounds" in grade(exercise, kernel).problems
    kernel.write_text(handed_out.replace("CAPACITY 32", "CAPACITY 12289"))
    with pytest.raises(ToolchainError, match="more than 48 KB"):
        grade(exercise, kernel)


def test_dropped_vertices_of_a_large_queue_are_no_solution(tmp_path: Path) -> None:
    kernel = hand_out(find("full_queue"), tmp_path / "larger")
    text = kernel.read_text().replace("CAPACITY 32", "CAPACITY 12286")
    text = text.replace("found[place] =", "if (place < CAPACITY) found[place] =")
    kernel.write_text(text.replace("kept = count", "kept = min(count, CAPACITY)"))
    assert grade(find("full_queue"), kernel).problems == ("wrong levels",)


def test_explain_begins_with_the_graded_cost_of_each_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exercise = find("uncoalesced")
    for folder in ("old", "new"):
        hand_out(exercise, tmp_path / folder)
    solve("uncoalesced", Path("new"))
    alone = invoke("explain", "old")
    begin = r"13,464 sectors of 32 bytes of the graph, limit 9,500; most at line 14 of uncoalesced\.cu\."
    assert re.match(begin, alone.stdout)
    # the listing has the complete signature of the kernel
    assert "6 extern" in alone.stdout and " 5 " not in alone.stdout.partition("uncoalesced.cu\n")[2]
    both = invoke("explain", "old/uncoalesced.cu", "new")
    old, new = both.stdout.splitlines()[:2]
    assert old.startswith("old/uncoalesced.cu: 13,464 sectors")
    assert (match := re.match(r"new/uncoalesced\.cu: ([0-9,]+) sectors", new))
    assert int(match[1].replace(",", "")) <= exercise.most
    on_another = invoke("explain", "old", "--dataset", "star(n=50)")
    assert on_another.exit_code == 0 and "limit" not in on_another.stdout


def test_the_name_of_an_exercise_is_no_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "'bfsbench lab lonely_hub' copies its kernel" in refused(invoke("check", "lonely_hub"))
    monkeypatch.chdir(hand_out(find("lonely_hub"), tmp_path / "lonely_hub").parent)
    for command in ("check", "explain"):
        assert refused(invoke(command, "lonely_hub")).endswith(f"bfsbench {command} lonely_hub.cu")
    assert "this folder has lonely_hub.cu" in refused(invoke("lab", "lonely_hub"))
    assert not Path("lonely_hub").exists()
    hand_out(find("uncoalesced"), tmp_path / "uncoalesced")
    assert "different graphs" in refused(invoke("explain", "lonely_hub.cu", "../uncoalesced"))
    assert "explain it without variants" in refused(invoke("explain", "push", "lonely_hub.cu"))
