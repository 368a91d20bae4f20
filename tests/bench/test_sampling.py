"""Test how many samples are taken, and the warnings about them, with artificial clocks and devices."""

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from bfsbench.bench.measure import (
    REST_S,
    RETAKEN,
    Energy,
    Sample,
    Samples,
    State,
    advise,
    enough,
    measure_energy,
    noise,
)
from bfsbench.bench.options import LONGEST_TIMEOUT_S, Method
from bfsbench.support.errors import UsageError

COOL = State(1980)
HOT = State(1980, "software thermal; power cap")


@dataclass
class Made:
    """A machine with a sequence of states. It stays in its last state."""

    states: list[State] = field(default_factory=lambda: [COOL])
    others: int = 0
    cpu: str = "performance"
    energy: Callable[[], float | None] = lambda: None

    def state(self) -> State:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def energy_joules(self) -> float | None:
        return self.energy()

    def other_processes(self) -> int:
        return self.others

    def governor(self) -> str:
        return self.cpu

    def flush(self) -> None:
        raise AssertionError("cold caches were not requested")


def taken(times: Iterable[float], method: Method, machine: Made | None = None) -> Samples:
    """Take samples of these times, in ms, until they are enough. Returns the samples."""
    source, device, samples = iter(times), machine or Made(), Samples()
    while not enough(method, samples.search_ms):
        milliseconds = next(source)
        samples.add(Sample(milliseconds, milliseconds), device.state(), method)
    return samples


def test_five_samples_are_usual() -> None:
    assert taken(itertools.count(1), Method()).search_ms == [1, 2, 3, 4, 5]
    assert taken(itertools.count(1), Method(2)).search_ms == [1, 2]


def test_quiet_samples_are_few_and_noisy_ones_many() -> None:
    method = Method(max_noise=1)
    assert len(taken(itertools.repeat(2.0), method).kept) == 6, "fewer have no interval"
    noisy = random.Random(1)
    many = taken(iter(lambda: noisy.gauss(100, 10), None), method)
    assert 6 < len(many.kept) < method.most
    assert noise(many.search_ms) <= 0.01 < noise(many.search_ms[:-1])
    endless = taken(itertools.cycle([1.0, 9.0]), Method(max_noise=1, max_samples=40))
    assert len(endless.kept) == 40


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    drawn = random.Random(7)
    held = 0
    for _ in range(2000):
        samples = [drawn.expovariate(1) + 1 for _ in range(25)]
        reach = noise(samples) * statistics.median(samples)
        held += abs(statistics.median(samples) - (1 + math.log(2))) <= reach
    assert held / 2000 > 0.95


@pytest.mark.parametrize(("count", "reach"), [(5, math.inf), (6, 2.5 / 3.5), (9, 3 / 5), (16, 4.5 / 8.5)])
def test_the_interval_is_between_sorted_samples(count: int, reach: float) -> None:
    assert noise(range(count, 0, -1)) == pytest.approx(reach)


def test_samples_go_on_for_some_time() -> None:
    assert len(taken(itertools.repeat(100.0), Method(min_time=1.25)).kept) == 13
    assert len(taken(itertools.repeat(1e4), Method(3, min_time=1.25)).kept) == 3


def test_samples_of_a_throttled_device_are_taken_again() -> None:
    machine = Made([COOL, HOT, HOT, COOL])
    samples = taken(itertools.count(1), Method(3), machine)
    assert samples.search_ms == [1, 4, 5] and samples.discarded == 2
    assert "throttled: 2 samples were taken again" in advise(samples, Made())


def test_a_device_that_only_throttles_is_given_up_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rested: list[float] = []
    monkeypatch.setattr(time, "sleep", rested.append)
    samples = Samples()
    while not enough(Method(3), samples.search_ms):
        samples.add(Sample(1, 1), HOT, Method(3))
    assert samples.discarded == len(rested) == 3 * RETAKEN and set(rested) == {REST_S}
    (warning,) = advise(samples, Made())
    assert warning.startswith("throttled: 3 samples are of a slowed GPU (software thermal, power cap)")


@pytest.mark.parametrize(
    ("times", "machine", "says"),
    [
        ([1.0] * 5, Made(), ""),
        ([1.0, 1.02, 1.05, 1.0, 1.04], Made(), ""),
        ([3.0, 1.0, 1.1, 1.0, 1.0], Made(), "slow start: the first sample took 3.0 times as long"),
        ([1.0, 1.3, 1.2, 1.3, 1.2], Made(), "noisy: the median is 20 % above the minimum"),
        ([1.0] * 5, Made([State(1980), State(1200)]), "clocks: the GPU clock moved from 1200 to 1980 MHz"),
        ([1.0] * 5, Made(others=1), "shared: another process computes on the GPU"),
        ([1.0] * 5, Made(others=3), "shared: 3 other processes compute on the GPU"),
        ([1.0] * 5, Made(cpu="powersave"), "powersave: this is the CPU's governor"),
    ],
)
def test_what_is_said_about_samples(times: Sequence[float], machine: Made, says: str) -> None:
    warnings = advise(taken(times, Method(), machine), machine)
    assert len(warnings) == bool(says)
    assert says in "".join(warnings)


class Solved:
    """A run of 4 ms on an artificial clock."""

    def __init__(self) -> None:
        self.ms, self.runs, self.checks = 0.0, 0, 0

    def poison(self) -> None: ...

    def reset(self) -> None: ...

    def solve(self) -> None:
        self.ms += 4
        self.runs += 1

    def check(self) -> None:
        self.checks += 1

    def wait(self) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> float:
        return 0.0


def test_energy_is_that_of_runs_between_moves_of_the_counter() -> None:
    run = Solved()

    def counter() -> float:
        """500 W, counted every 100 ms."""
        return 500 * (run.ms // 100) / 10

    found = measure_energy(run, run, Made(energy=counter), 4.0, now=lambda: run.ms / 1e3)
    assert isinstance(found, Energy) and run.checks == 1
    assert found.watts == pytest.approx(500, rel=0.02)
    assert found.joules == pytest.approx(500 * 4e-3, rel=0.02)
    assert 1000 <= run.ms < 1400


@pytest.mark.parametrize("energy", [None, 17.0])
def test_energy_that_nothing_counts_is_not_told(energy: float | None) -> None:
    run = Solved()
    machine = Made(energy=lambda: energy)
    assert measure_energy(run, run, machine, 4.0, now=lambda: run.ms / 1e3) is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"warmup": 0}, "warmup must be at least 1"),
        ({"repeats": 1.5}, "repeats must be a whole number, not 1.5"),
        ({"warmup": 1.5}, "warmup must be a whole number, not 1.5"),
        ({"min_samples": 1.5, "min_time": 1.0}, "min_samples must be a whole number, not 1.5"),
        ({"min_samples": 3}, "go with max_noise, min_time or until_decided"),
        ({"max_samples": 3}, "go with max_noise, min_time or until_decided"),
        ({"min_time": 1.0, "min_samples": 9, "max_samples": 3}, "max_samples 3 is less than min_samples 9"),
        ({"max_noise": 1.0, "max_samples": 5}, "max_noise needs 6 samples, more than max_samples 5"),
        ({"until_decided": True, "max_samples": 5}, "until_decided needs 6 samples, more than max_samples 5"),
        ({"max_noise": 0.0}, "max_noise must be a positive number, not 0.0"),
        *(({name: math.nan}, r"must be a .*number.*, not nan") for name in ("min_time", "max_noise")),
        *(
            ({"timeout": limit}, "timeout must be a positive number, not ")
            for limit in (0, -1, math.nan, math.inf, "60", None)
        ),
        ({"min_time": 60}, "min_time 60: samples for so many seconds do not fit into timeout 60"),
    ],
)
def test_numbers_that_are_wrong_or_contradict_each_other(words: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Method(**words)


def test_times_beyond_what_clocks_count_are_cut() -> None:
    assert Method(timeout=1e300).limit_s == LONGEST_TIMEOUT_S


@pytest.mark.parametrize(
    ("text", "words", "seed"),
    [
        ("sequential", "", None),
        ("interleaved", "interleaved", None),
        ("shuffled", "shuffled:0", 0),
        ("shuffled:07", "shuffled:7", 7),
    ],
)
def test_orders_by_their_words(text: str, words: str, seed: int | None) -> None:
    method = Method(order=text)
    assert (method.words, method.takes_turns, method.shuffle_seed) == (words, bool(words), seed)


@pytest.mark.parametrize("text", ["", "random", "shuffled:", "shuffled:x", "interleaved:3"])
def test_other_orders_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="none of sequential, interleaved and shuffled"):
        Method(order=text)
