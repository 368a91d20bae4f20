"""Generates graphs whose vertices have places: points in a square, and pages on hosts."""

import math

from bfsbench.graphs.generators.declaration import SEED, Generator, Parameter, share, vertices
from bfsbench.graphs.generators.native import chance, draw_edges
from bfsbench.graphs.graph import EdgeList

SIDE = 1 << 30
"""Side length of the square from which points are drawn."""


def geometric(n: int, degree: float, seed: int) -> EdgeList:
    """Draw n points uniformly from a square and join near points, so that the mean degree is about
    ``degree``.

    Vertices are numbered by square cells. Near points therefore have near numbers, as in a mesh.
    """
    radius = min(SIDE, round(SIDE * math.sqrt(degree / (math.pi * n))))
    sources, targets = draw_edges("geometric", n, SIDE, radius, seed=seed, native="generate_places")
    return EdgeList(sources, targets, n, "each_once")


def crawl(n: int, degree: int, host: int, near: float, hubs: float, seed: int) -> EdgeList:
    """Generate n web pages in the order of a crawler, host after host. Repeated links stay.

    A page has ``degree`` links on average, and some pages have many more. A share ``near`` of the links stays
    within the host, mostly between close pages. A share ``hubs`` of the other links goes to first pages of
    hosts, and a few of these pages get very many links. All remaining links go to random pages.
    """
    arguments = (n, degree, min(host, n), chance(near), chance(hubs))
    sources, targets = draw_edges("crawl", *arguments, seed=seed, native="generate_places")
    return EdgeList(sources, targets, n, "directed")


GEOMETRIC = Generator(
    name="geometric",
    kind="geometric",
    description="points in a square, joined where they are near; numbered by cells, like a mesh",
    source="random geometric graphs (Gilbert 1961); rgg_n_2_20_s0 of DIMACS10 has n=1048576, degree=13.1",
    orientation="each_once",
    parameters=(
        vertices(),
        Parameter("degree", float, "mean degree away from the border", default=13.0, minimum=0, maximum=1000),
        SEED,
    ),
    build=geometric,
    size=lambda n, degree, **_: (n, n * degree / 2),
)

CRAWL = Generator(
    name="crawl",
    kind="web",
    description="web crawl: pages link to near pages of their host, to hubs and to anywhere",
    source="this project, after the locality and the hubs of cnr-2000 (Boldi and Vigna 2004)",
    orientation="directed",
    parameters=(
        vertices(),
        Parameter("degree", int, "mean number of links", default=10, minimum=1, maximum=1000),
        Parameter("host", int, "pages per two hosts", default=1000, minimum=1, maximum=2**30),
        share("near", "share of links within a host", 0.75),
        share("hubs", "share of the other links that go to hubs", 0.6),
        SEED,
    ),
    build=crawl,
    size=lambda n, degree, **_: (n, n * degree),
)
