"""Tests that a specification gives one graph on every machine, with any number of threads."""

import hashlib

import numpy as np
import pytest

from bfsbench.graphs.generators import GENERATORS, declaration, generate
from bfsbench.graphs.generators.declaration import parse_spec
from bfsbench.graphs.graph import EdgeList

DIGESTS = {
    "kronecker(scale=10,seed=1)": "86af7d8567000d96",
    "kronecker(scale=7,edge_factor=5,a=0.4,b=0.3,shuffle=0,seed=7)": "6d0c82347fbc2816",
    "rmat(n=1024,m=5000,seed=1)": "a8766817129484d1",
    "rmat(n=1000,m=5000,noise=0,directed=1,shuffle=1,seed=2)": "d8b2372cf2589804",
    "uniform(n=1000,m=5000,seed=1)": "15fa649d9a58a642",
    "uniform(n=3,m=50,directed=1,seed=9223372036854775807)": "ef2184d3745c7b85",
    "small_world(n=2000,seed=1)": "428468a728123c25",
    "small_world(n=100,k=40,p=0.9,seed=3)": "1412406ebd511a98",
    "geometric(n=3000,degree=9.0,seed=1)": "68cf498607b72e82",
    "geometric(n=50,degree=0.5,seed=5)": "90fb450bbb154552",
    "crawl(n=3000,seed=1)": "0399faf524c9f356",
    "crawl(n=700,degree=4,host=9,near=0.2,hubs=0.9,seed=2)": "4856e43ebb2eb94e",
    "forest_fire(n=3000,seed=1)": "9699af6f40997dba",
    "forest_fire(n=500,f=0.5,b=0.1,s=10,seed=2)": "6aa1485f47d06afa",
    "lattice(rows=30,columns=40,seed=1)": "e11bca20841a29bd",
    "lattice(rows=7,columns=8,depth=9,keep=0.3,seed=4)": "e2165a2ecd3d95ea",
    "roads(rows=30,columns=40,seed=1)": "bb6fc2e8808faa23",
    "roads(rows=7,columns=8,segments=9,keep=0.3,seed=4)": "ac7d9d1ad3af0569",
    "maze(rows=30,columns=40,seed=1)": "88ab147ec3c8f662",
    "luo_grid(n=5000)": "501899446de32cd4",
    "luo_grid(n=5000,form=triangular2d)": "ac090783fcf84924",
    "luo_scale_free(n=5500,seed=1)": "a6c2b58cf4133f76",
    "dense(nodes=200,seed=1)": "0d5ed3501a84ef8d",
    "dense(nodes=150,density=60,degree=40,seed=2)": "49d7de78912e7bfe",
    "weighted_random(n=200,seed=1)": "1cc5667b1e45ad47",
    "weighted_random(n=100,density=60,max_weight=5,seed=2)": "4766901f551e87bd",
    "star(n=10)": "9fc8a36c361b4355",
    "path(n=10)": "060899f4642be2fc",
    "cycle(n=10)": "232d010efa0809c4",
    "complete(n=10)": "88d2baa12efd9380",
    "binary_tree(n=10)": "373fc80643a71de7",
    "pmpp": "cc645f7096632ea7",
}


def digest(edges: EdgeList) -> str:
    """Returns 16 digits of the SHA-256 of counts, orientation and arrays, which are little-endian int32."""
    hashed = hashlib.sha256(f"{edges.num_vertices} {edges.orientation} {len(edges.sources)}\n".encode())
    for array in (edges.sources, edges.targets, edges.weights):
        if array is not None:
            hashed.update(array.astype("<i4").tobytes())
    return hashed.hexdigest()[:16]


def draw(spec: str) -> EdgeList:
    name, parameters = parse_spec(spec)
    return generate(name, **parameters)


@pytest.mark.parametrize(("spec", "expected"), DIGESTS.items())
def test_graphs_never_change(spec: str, expected: str) -> None:
    assert digest(draw(spec)) == expected


def test_every_generator_is_pinned() -> None:
    assert {parse_spec(spec)[0] for spec in DIGESTS} == set(GENERATORS)


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("spec", [spec for spec in DIGESTS if "seed" in spec])
def test_graphs_do_not_depend_on_the_number_of_threads(
    spec: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "threads", lambda: threads)
    assert digest(draw(spec)) == DIGESTS[spec]


@pytest.mark.parametrize("name", [name for name, g in GENERATORS.items() if "seed" in str(g.parameters)])
def test_another_seed_gives_another_graph(name: str) -> None:
    spec = next(spec for spec in DIGESTS if parse_spec(spec)[0] == name)
    _, parameters = parse_spec(spec)
    assert digest(generate(name, **parameters | {"seed": 987654321})) != DIGESTS[spec]


class SplitMix:
    """Draws the random numbers of random.h with Python's integers."""

    GOLDEN = 0x9E3779B97F4A7C15

    def __init__(self, seed: int, purpose: int, item: int) -> None:
        key = self.mix(self.mix(seed + self.GOLDEN) + purpose)
        self.state = self.mix(key + item * self.GOLDEN)

    @staticmethod
    def mix(z: int) -> int:
        z %= 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def next(self) -> int:
        self.state = (self.state + self.GOLDEN) % 2**64
        return self.mix(self.state)


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_uniform_edges_follow_from_the_published_mixing_function(seed: int) -> None:
    edges = generate("uniform", n=1000, m=200, seed=seed)
    streams = [SplitMix(seed, 1, item) for item in range(200)]
    expected = [[stream.next() * 1000 >> 64, stream.next() * 1000 >> 64] for stream in streams]
    assert np.column_stack((edges.sources, edges.targets)).tolist() == expected


def test_kept_lattice_edges_follow_from_the_published_mixing_function() -> None:
    expected = []
    for cell in range(30):
        stream = SplitMix(5, 1, cell)
        column, row = cell % 6, cell // 6
        for target in ([cell + 1] if column < 5 else []) + ([cell + 6] if row < 4 else []):
            if stream.next() >> 1 < int(0.7 * 2**63):
                expected.append([cell, target])
    edges = generate("lattice", rows=5, columns=6, seed=5)
    assert np.column_stack((edges.sources, edges.targets)).tolist() == expected


def test_splitmix_matches_its_reference_outputs() -> None:
    stream = SplitMix(0, 0, 0)
    stream.state = 1234567
    assert [stream.next() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]
