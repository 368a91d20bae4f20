"""Generates graphs. Equal specifications give equal graphs on every machine and with any number of cores.

To add a generator, write a function in the module ``kinds``, and decorate it with ``@partial(Generator,
...)``.
"""

from collections.abc import Mapping

from bfsbench.graphs.generators import kinds
from bfsbench.graphs.generators.declaration import Generator, Parameters, Value, format_spec
from bfsbench.graphs.graph import MAX_VERTICES, EdgeList, Size, require
from bfsbench.support.errors import unknown_name

GENERATORS: Mapping[str, Generator] = {
    declared.name: declared for declared in vars(kinds).values() if isinstance(declared, Generator)
}
"""All generators by name."""


def generate(generator: str, **parameters: Value) -> EdgeList:
    """Draw a graph. Returns its list of edges.

    Raises UsageError for an unknown generator or parameter or an invalid value. Raises NotEnoughMemoryError
    if this machine has too little memory to draw and convert the graph.
    """
    declared = _declared(generator)
    values = declared.complete(parameters)
    vertices, edges = declared.counts(values)
    if vertices <= MAX_VERTICES:  # `build` refuses more vertices, with a better message
        size = Size(vertices, edges, not declared.draws_arcs(values), declared.weighted)
        require(size, format_spec(declared, values))
    return declared.build(**values)


def canonical_spec(generator: str, parameters: Parameters) -> str:
    """Returns the canonical specification for these parameters, which names the graph in results.

    In order of declaration, it lists the seed, the parameters without a default, and the parameters whose
    value differs from the default. The function ``parse_spec`` of the module ``declaration`` reads it back.
    Raises UsageError for an unknown generator or a bad parameter.
    """
    return format_spec(_declared(generator), parameters)


def recommended_source(generator: str, parameters: Parameters) -> int | None:
    """Returns the vertex from which the paper that describes the graph starts its searches, or None if the
    paper names no vertex. Raises UsageError for an unknown generator or a bad parameter."""
    declared = _declared(generator)
    values = declared.complete(parameters)
    return None if declared.start is None else declared.start(**values)


def _declared(name: str) -> Generator:
    if name not in GENERATORS:
        raise unknown_name("generator", name, GENERATORS)
    return GENERATORS[name]
