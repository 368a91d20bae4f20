"""Tests that parameters are checked, and that specifications read back as they were written."""

import re
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.graphs.generators import (
    GENERATORS,
    canonical_spec,
    generate,
    recommended_source as source_of,
)
from bfsbench.graphs.generators.declaration import Value, parse_spec
from bfsbench.graphs.graph import MAX_VERTICES
from bfsbench.support.errors import UsageError

REFUSED = {
    "kronecer(scale=3)": "unknown generator 'kronecer': did you mean kronecker?",
    "kronecker(scal=3)": "unknown parameter 'scal'; it takes scale, edge_factor, a, b, c, shuffle, seed",
    "pmpp(n=3)": "pmpp: unknown parameter 'n'; it takes none",
    "kronecker": "kronecker: scale is missing: 2**scale vertices",
    "kronecker(scale=31)": "kronecker: scale must be an integer from 0 to 30, not 31",
    "kronecker(scale=2.5)": "kronecker: scale must be an integer from 0 to 30, not 2.5",
    "kronecker(scale=ten)": "kronecker: scale must be an integer from 0 to 30, not 'ten'",
    "kronecker(scale=3,a=0.8)": "kronecker: a + b + c must not exceed 1, but 0.8 + 0.19 + 0.19 does",
    "kronecker(scale=3,seed=-1)": "seed must be an integer from 0 to 9,223,372,036,854,775,807",
    "rmat(n=0,m=1)": "rmat: n must be an integer from 1 to 2,147,483,647, not 0",
    "lattice(rows=100000,columns=100000)": "10,000,000,000 cells are more than the 2,147,483,647",
    "maze(rows=100000,columns=100000)": "maze: 10,000,000,000 cells are more than the 2,147,483,647",
    "luo_grid(n=10,form=hex)": "luo_grid: form must be grid3d or triangular2d, not 'hex'",
    "small_world(n=20,k=10)": "small_world: n must be more than twice k, not 20 with k=10",
    "forest_fire(n=3,s=4)": "forest_fire: s must not exceed n, not 4 with n=3",
    "dense(nodes=100,degree=1)": "degree=1 % of 100 nodes leaves no room for the connecting arcs",
}


def assert_refused(message: str, name: str, parameters: dict[str, Value]) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as error:
        generate(name, **parameters)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("spec", "message"), REFUSED.items())
def test_what_does_not_fit_is_refused_in_one_line(spec: str, message: str) -> None:
    assert_refused(message, *parse_spec(spec))


def test_values_that_only_python_has_are_refused() -> None:
    assert_refused("scale must be an integer from 0 to 30, not True", "kronecker", {"scale": True})
    assert_refused("uniform: n must be an integer from 1 to 2,147,483,647", "uniform", {"n": 10**400, "m": 1})
    for value in (float("nan"), float("inf")):
        lattice = {"rows": 3, "columns": 3, "keep": value}
        assert_refused(f"lattice: keep must be a number from 0 to 1, not {value}", "lattice", lattice)


@pytest.mark.parametrize("call", [canonical_spec, source_of])
def test_everything_that_takes_parameters_checks_them(call: object) -> None:
    assert callable(call)
    with pytest.raises(UsageError, match="scale must be an integer"):
        call("kronecker", {"scale": -1})
    with pytest.raises(UsageError, match="unknown generator"):
        call("nothing_like_it", {})


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr(np, "empty", refuse)
    with pytest.raises(UsageError, match="not enough memory for 70,000 edges: ask for a smaller graph"):
        generate("uniform", n=10, m=70_000)


def test_declarations_describe_themselves() -> None:
    for name, generator in GENERATORS.items():
        assert generator.name == name
        assert generator.description
        assert generator.source
        for parameter in generator.parameters:
            assert parameter.meaning
            if parameter.default is not None:
                assert parameter.check(name, parameter.default) == parameter.default


def test_orientations_are_as_declared() -> None:
    for spec in (
        *("kronecker(scale=4)", "uniform(n=4,m=4,directed=1)", "rmat(n=4,m=4)", "star(n=4,arcs=in)"),
        *("path(n=4,directed=1)", "cycle(n=4)", "forest_fire(n=4)", "dense(nodes=4)"),
    ):
        name, parameters = parse_spec(spec)
        drawn = generate(name, **parameters).orientation
        assert drawn == ("directed" if GENERATORS[name].draws_arcs(parameters) else "each_once")


def test_specifications_are_read() -> None:
    values = {"scale": 12, "edge_factor": 16, "seed": 1}
    assert parse_spec("kronecker(scale=12,edge_factor=16,seed=1)") == ("kronecker", values)
    spaced = " lattice ( rows = 3 , columns=4,keep=.5 ) "
    assert parse_spec(spaced) == ("lattice", {"rows": 3, "columns": 4, "keep": 0.5})
    assert parse_spec("pmpp") == parse_spec("pmpp()") == ("pmpp", {})
    assert parse_spec(f"path(n={'9' * 5000})") == ("path", {"n": float("inf")})
    assert parse_spec("uniform(n=1e6,m=2)") == ("uniform", {"n": 1e6, "m": 2})


MALFORMED = (
    *("", "kronecker(", "kronecker)", "kronecker(scale)", "kronecker(scale=)", "kronecker(scale=1,)"),
    *("kronecker(scale=1)2", "kronecker(scale=1,scale=2)", "kronecker(scale=1;seed=2)"),
    *("kronecker(scale=(1))", "graphs/web.mtx", "3d(n=1)"),
)


@pytest.mark.parametrize("text", MALFORMED)
def test_syntax_errors_name_the_text(text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"'{text}'")):
        parse_spec(text)


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("kronecker(scale=12)", "kronecker(scale=12,seed=1)"),
        ("kronecker(seed=1,edge_factor=16,scale=12.0)", "kronecker(scale=12,seed=1)"),
        ("kronecker(edge_factor=8,scale=12)", "kronecker(scale=12,edge_factor=8,seed=1)"),
        ("lattice(rows=2,columns=3,keep=1)", "lattice(rows=2,columns=3,keep=1,seed=1)"),
        ("maze(rows=2,columns=3,blocked=-0.0)", "maze(rows=2,columns=3,blocked=0,seed=1)"),
        ("luo_grid(form=triangular2d,n=8)", "luo_grid(n=8,form=triangular2d)"),
        ("pmpp()", "pmpp"),
    ],
)
def test_canonical_specifications(given: str, canonical: str) -> None:
    assert canonical_spec(*parse_spec(given)) == canonical


@st.composite
def parameters(draw: st.DrawFn) -> tuple[str, dict[str, Value]]:
    """Draw a generator, with values for its required parameters and for some optional parameters."""
    generator = draw(st.sampled_from(sorted(GENERATORS.values(), key=lambda g: g.name)))
    values: dict[str, Value] = {}
    for parameter in generator.parameters:
        if parameter.default is not None and draw(st.booleans()):
            continue
        if parameter.type is str:
            values[parameter.name] = draw(st.sampled_from(parameter.choices))
        elif parameter.type is int:
            values[parameter.name] = draw(st.integers(int(parameter.minimum), int(parameter.maximum)))
        else:
            values[parameter.name] = draw(st.floats(parameter.minimum, parameter.maximum))
    return generator.name, values


@given(parameters())
def test_canonical_specifications_read_back(drawn: tuple[str, dict[str, Value]]) -> None:
    name, values = drawn
    text = canonical_spec(name, values)
    read_name, read = parse_spec(text)
    assert read_name == name
    assert GENERATORS[name].complete(read) == GENERATORS[name].complete(values)
    assert canonical_spec(name, read) == text


@given(parameters(), parameters())
def test_equal_specifications_mean_equal_parameters(
    one: tuple[str, dict[str, Value]], other: tuple[str, dict[str, Value]]
) -> None:
    completed = [(name, GENERATORS[name].complete(values)) for name, values in (one, other)]
    assert (canonical_spec(*one) == canonical_spec(*other)) == (completed[0] == completed[1])


def test_vertices_fit_their_ids() -> None:
    for generator in GENERATORS.values():
        for parameter in generator.parameters:
            if parameter.meaning == "number of vertices":
                assert parameter.maximum <= MAX_VERTICES
